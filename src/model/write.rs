//! Writes sections into a file.

use alloc::vec;
use alloc::vec::Vec;

use super::ModelBuf;
use super::header::{
    CHECKSUM_AT, ENTRY_LEN, FORMAT_VERSION, HEADER_LEN, Header, MAGIC, MAX_SECTIONS, REQUIRED, SECTION_ALIGN, Section,
};
use crate::Error;
use crate::kernels;
use crate::rows::{Bits, RowFormat};

/// The numbers in the header of a model file.
///
/// ```
/// use zhat::Log2;
/// use zhat::model::{Bits, FileWriter, Section, Sizes};
///
/// // Two classes in one dimension, with the weights 100 and −100 in units of 2^−7.
/// let sizes = Sizes { classes: 2, dim: 1, scale_exponent: -7, bias_shift: 7, max_norm: 0.8, largest_row: 10_000, bits: Bits::Eight };
/// let mut file = FileWriter::new(sizes);
/// file.required(Section::Rows, &[100_i16, 0, -100, 0]);
/// file.required(Section::RowScales, &[1_u16, 1]);
/// file.required(Section::Biases, &[(Log2::of(1).to_bits() >> 7) as i16; 2]);
/// assert_eq!(file.into_model()?.model().classes(), 2);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// N, the number of classes.
    pub classes: usize,
    /// d, the dimension.
    pub dim: usize,
    /// The power of two that is the unit of the rows' scales.
    pub scale_exponent: i32,
    /// The number of low bits of a [`Log2`](crate::Log2) that the rows' stored biases omit; at most
    /// [`RowTable::MAX_BIAS_SHIFT`](crate::RowTable::MAX_BIAS_SHIFT).
    pub bias_shift: u32,
    /// The largest norm of a row or node.
    pub max_norm: f32,
    /// The largest sum of the squares of a row's or node's whole weights; for 4-bit rows not below 2^14 for each column,
    /// up to 16 of them.
    pub largest_row: u32,
    /// The width of the weights.
    pub bits: Bits,
}

/// Collects the sections of a model file.
///
/// ```
/// use zhat::model::{FileWriter, Names, Section};
///
/// let mut file = FileWriter::reopen(&zhat::doc_example())?;
/// file.optional(Section::Names, &Names::encode(&["red", "green", "blue", "grey"]));
/// let bytes: Vec<u8> = file.finish()?;
/// # assert!(bytes.len() > zhat::doc_example().len());
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileWriter {
    sizes: Sizes,
    sections: Vec<(u16, bool, Vec<u8>)>,
}

impl FileWriter {
    /// Starts a file.
    ///
    /// ```
    /// # use zhat::model::{Bits, Sizes};
    /// # let sizes = Sizes { classes: 2, dim: 1, scale_exponent: -7, bias_shift: 7, max_norm: 0.8, largest_row: 10_000, bits: Bits::Eight };
    ///
    /// use zhat::{Error, model::FileWriter};
    ///
    /// // Without its sections it is no model.
    /// assert_eq!(FileWriter::new(sizes).into_model().unwrap_err(), Error::MissingSection(1));
    /// ```
    pub fn new(sizes: Sizes) -> Self {
        Self { sizes, sections: Vec::new() }
    }

    /// Reopens a finished file, to add a section or to replace one.
    ///
    /// ```
    /// let file = zhat::doc_example();
    /// let again = zhat::model::FileWriter::reopen(&file)?.finish()?;
    /// assert_eq!(*again, *file);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::from_bytes`](super::Model::from_bytes) for the header and the section table.
    pub fn reopen(file: &[u8]) -> Result<Self, Error> {
        let header = Header::parse(file)?;
        let Header { classes, bias_shift, rows, .. } = header;
        let RowFormat { dim, scale_exponent, max_norm, largest_row, bits, .. } = rows;
        let sections = header.contents().map(|(kind, required, content)| (kind, required, content.to_vec()));
        let sizes = Sizes { classes, dim, scale_exponent, bias_shift, max_norm, largest_row, bits };
        Ok(Self { sizes, sections: sections.collect() })
    }

    /// Adds a section that a reader has to know. Replaces one of the same kind.
    ///
    /// ```
    /// # use zhat::model::{Bits, Sizes};
    /// # let sizes = Sizes { classes: 2, dim: 1, scale_exponent: -7, bias_shift: 7, max_norm: 0.8, largest_row: 10_000, bits: Bits::Eight };
    ///
    /// use zhat::model::{FileWriter, Section};
    ///
    /// let mut file = FileWriter::new(sizes);
    /// file.required(Section::Rows, &[100_i16, 0, -100, 0]);
    /// ```
    pub fn required<T: bytemuck::NoUninit>(&mut self, section: Section, content: &[T]) {
        self.put(section, true, bytemuck::cast_slice(content));
    }

    /// Adds a section that a reader may skip. Replaces one of the same kind.
    pub fn optional<T: bytemuck::NoUninit>(&mut self, section: Section, content: &[T]) {
        self.put(section, false, bytemuck::cast_slice(content));
    }

    /// Removes an optional section.
    pub fn leave_out(&mut self, section: Section) {
        self.sections.retain(|&(kind, _, _)| kind != section.kind());
    }

    fn put(&mut self, section: Section, required: bool, content: &[u8]) {
        self.leave_out(section);
        self.sections.push((section.kind(), required, content.to_vec()));
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// [`Error::Header`] if a size is out of the format's range, [`Error::SectionTable`] if there are too many sections.
    pub fn finish(&self) -> Result<Vec<u8>, Error> {
        let mut file = vec![0; self.len()];
        self.write(&mut file)?;
        Ok(file)
    }

    /// Writes the file and opens it as a model, without another copy.
    ///
    /// # Errors
    /// As [`FileWriter::finish`] and [`Model::from_bytes`](super::Model::from_bytes).
    pub fn into_model(self) -> Result<ModelBuf, Error> {
        ModelBuf::new(self.len(), |file| self.write(file))
    }

    /// Returns the offset of the first section.
    fn start(&self) -> usize {
        (HEADER_LEN + self.sections.len() * ENTRY_LEN).next_multiple_of(SECTION_ALIGN)
    }

    /// Iterates over the sections with their offsets.
    fn placed(&self) -> impl Iterator<Item = (usize, &(u16, bool, Vec<u8>))> {
        let mut next = self.start();
        self.sections.iter().map(move |section| {
            let offset = next;
            next = (offset + section.2.len()).next_multiple_of(SECTION_ALIGN);
            (offset, section)
        })
    }

    fn len(&self) -> usize {
        self.placed().last().map_or(self.start(), |(offset, (_, _, content))| offset + content.len())
    }

    /// Writes the file into zeroed bytes of the length [`FileWriter::len`].
    fn write(&self, file: &mut [u8]) -> Result<(), Error> {
        if self.sections.len() > MAX_SECTIONS {
            return Err(Error::SectionTable);
        }
        let narrow = |size: usize| u32::try_from(size).map_err(|_| Error::Header);
        let Sizes { classes, dim, scale_exponent, bias_shift, max_norm, largest_row, bits } = self.sizes;
        let stride = dim.next_multiple_of(kernels::ROW_ALIGN);
        let mut header = Vec::new();
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        header.extend_from_slice(&(self.sections.len() as u16).to_le_bytes());
        // The length, and a zero for the checksum, which is not known yet.
        for number in [narrow(file.len())?, 0, narrow(classes)?, narrow(dim)?, narrow(stride)?] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(&i16::try_from(scale_exponent).map_err(|_| Error::Header)?.to_le_bytes());
        header.extend_from_slice(&u16::try_from(bias_shift).map_err(|_| Error::Header)?.to_le_bytes());
        header.extend_from_slice(&max_norm.to_bits().to_le_bytes());
        header.extend_from_slice(&largest_row.to_le_bytes());
        header.extend_from_slice(&bits.code().to_le_bytes());
        for (offset, (kind, required, content)) in self.placed() {
            header.extend_from_slice(&kind.to_le_bytes());
            header.extend_from_slice(&(if *required { REQUIRED } else { 0 }).to_le_bytes());
            header.extend_from_slice(&narrow(offset)?.to_le_bytes());
            header.extend_from_slice(&narrow(content.len())?.to_le_bytes());
            header.extend_from_slice(&[0; 4]);
            file[offset..][..content.len()].copy_from_slice(content);
        }
        file[..header.len()].copy_from_slice(&header);
        let checksum = super::checksum(file);
        file[CHECKSUM_AT..][..4].copy_from_slice(&checksum.to_le_bytes());
        Ok(())
    }
}
