//! A model in memory: typed views into the bytes of the file, nothing copied.

use super::header::{Header, Section};
use super::{Indices, check};
use crate::Error;
use crate::rows::RowTable;

/// A model file, checked. After [`Model::from_bytes`] no access can fail.
///
/// It is a handful of slices into the file's bytes: cheap to copy, nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    header: Header<'a>,
    rows: RowTable<'a>,
    order: Option<Order<'a>>,
}

/// The order of the rows, where it is not that of the classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub class_of_row: Indices<'a>,
    pub row_of_class: Indices<'a>,
}

impl<'a> Model<'a> {
    /// Opens a model file and checks all of it once: sizes, ranges, the permutation, the checksum.
    ///
    /// The bytes must be word-aligned; see [`include_model!`](crate::include_model).
    ///
    /// # Errors
    /// Whatever is wrong with the file, as an [`Error`].
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        if super::checksum(bytes) != header.checksum {
            return Err(Error::Checksum);
        }
        let model = Self::from_header(header)?;
        check::content(&model)?;
        Ok(model)
    }

    /// Opens a model file without reading all of its content: for a boot that has no time for the checksum, on a
    /// file that [`Model::from_bytes`] accepted before.
    ///
    /// The header and the lengths of all sections are still checked, and every access stays inside them: a damaged
    /// file gives wrong answers, nothing worse.
    ///
    /// # Errors
    /// As [`Model::from_bytes`], less the checksum and the content of the sections.
    pub fn from_bytes_trusted(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_header(Header::parse(bytes)?)
    }

    fn from_header(header: Header<'a>) -> Result<Self, Error> {
        let values = numbers(
            &header,
            Section::Rows,
            header.classes.checked_mul(header.stride),
        )?;
        let scales = numbers(&header, Section::RowScales, Some(header.classes))?;
        let biases = numbers(&header, Section::Biases, Some(header.classes))?;
        let rows = RowTable::new(values, scales, biases, header.stride).ok_or(Error::Header)?;
        let class_of_row = indices(&header, Section::ClassOfRow)?;
        let row_of_class = indices(&header, Section::RowOfClass)?;
        let order = match (class_of_row, row_of_class) {
            (Some(class_of_row), Some(row_of_class)) => Some(Order {
                class_of_row,
                row_of_class,
            }),
            (None, None) => None,
            (Some(_), None) => return Err(Error::MissingSection(Section::RowOfClass.kind())),
            (None, Some(_)) => return Err(Error::MissingSection(Section::ClassOfRow.kind())),
        };
        Ok(Self {
            header,
            rows,
            order,
        })
    }

    /// N, the number of classes.
    pub fn classes(&self) -> usize {
        self.header.classes
    }

    /// d, the dimension of a query.
    pub fn dim(&self) -> usize {
        self.header.dim
    }

    /// The rows, in the order of the file.
    #[inline]
    pub fn rows(&self) -> &RowTable<'a> {
        &self.rows
    }

    /// The power of two in which the rows' scales are counted.
    pub fn scale_exponent(&self) -> i32 {
        self.header.scale_exponent
    }

    /// No row's norm is above this.
    pub fn max_norm(&self) -> f32 {
        self.header.max_norm
    }

    /// The class that a row stands for.
    #[inline]
    pub fn class_of_row(&self, row: usize) -> usize {
        self.order
            .map_or(row, |order| order.class_of_row.get(row).unwrap_or(0))
    }

    /// The row of a class; `None` if there is no such class.
    pub fn row_of_class(&self, class: usize) -> Option<usize> {
        match self.order {
            Some(order) => order.row_of_class.get(class),
            None => (class < self.classes()).then_some(class),
        }
    }

    /// Kind and length of every section in the file.
    pub fn sections(&self) -> impl Iterator<Item = (u16, usize)> + 'a {
        self.header.sections()
    }

    pub(super) fn order(&self) -> Option<Order<'a>> {
        self.order
    }
}

/// A required section as `len` numbers.
fn numbers<'a, T: bytemuck::AnyBitPattern>(
    header: &Header<'a>,
    section: Section,
    len: Option<usize>,
) -> Result<&'a [T], Error> {
    let bytes = header
        .section(section)
        .ok_or(Error::MissingSection(section.kind()))?;
    let numbers: &[T] =
        bytemuck::try_cast_slice(bytes).map_err(|_| Error::SectionLength(section.kind()))?;
    if Some(numbers.len()) == len {
        Ok(numbers)
    } else {
        Err(Error::SectionLength(section.kind()))
    }
}

/// An optional section with an index for each class.
fn indices<'a>(header: &Header<'a>, section: Section) -> Result<Option<Indices<'a>>, Error> {
    let Some(bytes) = header.section(section) else {
        return Ok(None);
    };
    match Indices::parse(bytes, header.classes) {
        Some(list) if list.len() == header.classes => Ok(Some(list)),
        _ => Err(Error::SectionLength(section.kind())),
    }
}
