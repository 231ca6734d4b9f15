//! A model in memory: typed views into the bytes of the file, without copies.

#[cfg(feature = "alloc")]
use super::header::Known;
use super::header::{FileHeader, Header, Section};
use super::{Calibration, Fmbe, InputScale, Links, Measured, Names, Recognition, Sets, Settings, Trust, check};
use crate::Error;
use crate::log::{error, info};
use crate::rows::{Bits, Indices, Query, RowFormat, RowTable};
use crate::tree::{self, Tree};

/// A checked model file. After [`Model::from_bytes`] no access can fail.
///
/// Holds only slices into the file's bytes: it is cheap to copy, and nothing is allocated.
///
/// ```standalone_crate
/// use zhat::{Model, include_model};
///
/// static FILE: &[u8] = include_model!("../../tests/data/indexed.zhat");
///
/// let model = Model::from_bytes(FILE)?;
/// assert_eq!((model.classes(), model.dim()), (500, 16));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    header: Header<'a>,
    rows: RowTable<'a>,
    order: Option<Order<'a>>,
    tree: Option<Tree<'a>>,
    links: Option<Links<'a>>,
    settings: Option<Settings>,
    fmbe: Option<Fmbe<'a>>,
    names: Option<Names<'a>>,
    measured: Option<&'a [u32; Measured::WORDS]>,
    trust: Option<&'a [f32; Trust::WORDS]>,
    /// The row of the linear function that tells familiar queries from others. Empty without `trust`.
    likeness: &'a [i16],
}

/// The order of the rows, if it is not that of the classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub class_of_row: Indices<'a>,
    /// The inverse, if the file has it.
    pub row_of_class: Option<Indices<'a>>,
}

impl<'a> Model<'a> {
    /// Opens a model file and checks all of it once: sizes, ranges, the permutation, the checksum.
    ///
    /// The bytes must be word-aligned; see [`include_model!`](crate::include_model).
    ///
    /// ```
    /// use zhat::{Error, Model};
    ///
    /// let mut file = zhat::doc_example();
    /// assert!(Model::from_bytes(&file).is_ok());
    /// assert_eq!(Model::from_bytes(&file[..60]).unwrap_err(), Error::Truncated);
    /// ```
    ///
    /// # Errors
    /// Any [`Error`] that describes a model file: misaligned, truncated, damaged, of another version, or invalid.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        let opened = Self::open(bytes);
        match &opened {
            Ok(model) => info!("a model of {} classes, {} dimensions", model.classes(), model.dim()),
            Err(error) => error!("the model is refused: {}", error),
        }
        opened
    }

    fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        if super::checksum(bytes) != header.checksum {
            return Err(Error::Checksum);
        }
        let model = Self::from_header(header)?;
        check::content(&model)?;
        Ok(model)
    }

    /// Opens a model file without the checks that read all of its content. For a boot that has no time for the
    /// checksum, and only for a file that [`Model::from_bytes`] accepted before.
    ///
    /// The header and the lengths of all sections are still checked, and every access stays inside them: a damaged file
    /// gives wrong answers, but no panic and no access outside.
    ///
    /// ```
    /// use zhat::Model;
    ///
    /// let file = zhat::doc_example();
    /// Model::from_bytes(&file)?; // when the flash was written
    /// let model = Model::from_bytes_trusted(&file)?; // at every start after that
    /// assert_eq!(model.classes(), 4);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::from_bytes`], less the checksum and the content of the sections.
    pub fn from_bytes_trusted(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_header(Header::parse(bytes)?)
    }

    /// Returns the length of the model file at the start of these bytes. The first [`FileHeader::LEN`] bytes are
    /// enough, aligned or not.
    ///
    /// The length is read from the file and not checked: in a damaged file it may exceed the memory.
    /// [`Model::from_prefix`] opens a file that lies at the start of a flash partition.
    ///
    /// ```
    /// use zhat::{Error, Model};
    ///
    /// let file = zhat::doc_example();
    /// assert_eq!(Model::file_len(&file[..20])?, file.len());
    /// assert_eq!(Model::file_len(&[0xff; 256]), Err(Error::NotAModel)); // erased flash
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FileHeader::read`], and [`Error::Version`] for a file that this library cannot read.
    pub fn file_len(prefix: &[u8]) -> Result<usize, Error> {
        FileHeader::read(prefix)?.readable_len()
    }

    /// Opens the model file at the start of a longer slice, such as a flash partition, and checks all of it as
    /// [`Model::from_bytes`] does. Bytes after the file are not read.
    ///
    /// ```
    /// # use zhat::model::Aligned;
    /// use zhat::{Error, Model};
    ///
    /// // 4 KiB of flash, erased, with a model at the start.
    /// let mut partition = Aligned([0xff_u8; 4096]);
    /// assert_eq!(Model::from_prefix(&partition.0).unwrap_err(), Error::NotAModel);
    /// let file = zhat::doc_example();
    /// partition.0[..file.len()].copy_from_slice(&file);
    /// assert_eq!(Model::from_prefix(&partition.0)?.classes(), 4);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::from_bytes`]; [`Error::Truncated`] if the slice ends before the file does.
    pub fn from_prefix(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_bytes(Self::file_in(bytes)?)
    }

    /// Opens the model file at the start of a longer slice without reading all of its content, as
    /// [`Model::from_bytes_trusted`] does.
    ///
    /// ```
    /// # use zhat::model::Aligned;
    /// # let mut partition = Aligned([0xff_u8; 4096]);
    /// # let file = zhat::doc_example();
    /// # partition.0[..file.len()].copy_from_slice(&file);
    /// use zhat::Model;
    ///
    /// Model::from_prefix(&partition.0)?; // when the partition was written
    /// let model = Model::from_prefix_trusted(&partition.0)?; // at every start after that
    /// assert_eq!(model.len(), file.len());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::from_bytes_trusted`]; [`Error::Truncated`] if the slice ends before the file does.
    pub fn from_prefix_trusted(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_bytes_trusted(Self::file_in(bytes)?)
    }

    /// Returns the bytes of the file at the start of these bytes.
    fn file_in(bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        bytes.get(..Self::file_len(bytes)?).ok_or(Error::Truncated)
    }

    /// Returns the number that tells this build of the model from any other: the checksum of its file, as in [`FileHeader`].
    pub fn build_id(&self) -> u32 {
        self.header.checksum
    }

    #[cold]
    fn from_header(header: Header<'a>) -> Result<Self, Error> {
        let sections = [Section::Rows, Section::RowScales, Section::Biases];
        let rows = table(&header, header.classes, sections, header.bias_shift)?;
        let class_of_row = indices(&header, Section::ClassOfRow, header.classes)?;
        let row_of_class = indices(&header, Section::RowOfClass, header.classes)?;
        for (section, list) in [(Section::ClassOfRow, &class_of_row), (Section::RowOfClass, &row_of_class)] {
            if list.is_some_and(|list| list.len() != header.classes) {
                return Err(Error::SectionLength(section.kind()));
            }
        }
        let order = match (class_of_row, row_of_class) {
            (Some(class_of_row), row_of_class) => Some(Order { class_of_row, row_of_class }),
            (None, None) => None,
            (None, Some(_)) => return Err(Error::MissingSection(Section::ClassOfRow.kind())),
        };
        let links = match indices(&header, Section::Links, header.classes)? {
            Some(list) => {
                let blocks = match header.section(Section::LinkedRows) {
                    Some(_) => Some(numbers(&header, Section::LinkedRows, Some(Links::blocks(header.classes)))?),
                    None => None,
                };
                Some(Links::new(list, header.classes, blocks).ok_or(Error::SectionLength(Section::Links.kind()))?)
            }
            None if header.section(Section::LinkedRows).is_some() => {
                return Err(Error::MissingSection(Section::Links.kind()));
            }
            None => None,
        };
        let settings = match optional_words(&header, Section::Settings)? {
            Some(words) => Some(Settings::from_words(words).ok_or(Error::SectionContent(Section::Settings.kind()))?),
            None => None,
        };
        let names = match header.section(Section::Names) {
            Some(bytes) => {
                Some(Names::parse(bytes, header.classes).ok_or(Error::SectionLength(Section::Names.kind()))?)
            }
            None => None,
        };
        let measured = optional_words(&header, Section::Measured)?;
        let trust = optional_words(&header, Section::Trust)?;
        let likeness = match trust {
            Some(_) => numbers(&header, Section::Likeness, Some(header.rows.bits.row_len(header.rows.stride)))?,
            None => &[],
        };
        let (tree, fmbe) = (tree(&header)?, fmbe(&header)?);
        Ok(Self { header, rows, order, tree, links, settings, fmbe, names, measured, trust, likeness })
    }

    /// Records the results of opening, for other views of the same bytes.
    #[cfg(feature = "alloc")]
    pub(super) fn known(&self) -> Known {
        Known::new(&self.header, self.tree.map(|tree| tree.descent()).unwrap_or_default())
    }

    /// Makes a view of the bytes of a known file, without searching them.
    #[cfg(feature = "alloc")]
    pub(super) fn of_known(known: &'a Known, bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_header(known.header(bytes))
    }

    /// Returns N, the number of classes.
    pub fn classes(&self) -> usize {
        self.header.classes
    }

    /// Returns d, the dimension of a query.
    pub fn dim(&self) -> usize {
        self.header.rows.dim
    }

    /// Returns true if the model is of a network's layer alone, with the operators behind it left out. Then p is a
    /// softmax of the layer's scores, and not the network's output.
    pub fn is_partial(&self) -> bool {
        self.header.section(Section::LeftOut).is_some()
    }

    /// Returns the names of the operators that a partial model leaves out.
    #[cfg(feature = "std")]
    pub fn left_out(&self) -> Option<&'a str> {
        self.header.section(Section::LeftOut).map(|text| str::from_utf8(text).unwrap_or("unknown operators"))
    }

    /// Returns the rows, in the order of the file.
    #[inline]
    pub fn rows(&self) -> &RowTable<'a> {
        &self.rows
    }

    /// Returns the power of two that is the unit of the rows' scales.
    pub fn scale_exponent(&self) -> i32 {
        self.header.rows.scale_exponent
    }

    /// Returns the width of the weights of rows and nodes in the file.
    pub fn bits(&self) -> Bits {
        self.header.rows.bits
    }

    /// Returns the value of one unit of a row's weights.
    pub fn row_scale(&self, row: usize) -> f32 {
        libm::ldexpf(f32::from(self.rows.scale(row)), self.header.rows.scale_exponent)
    }

    /// Returns an upper limit of the norm of every row and node.
    pub fn max_norm(&self) -> f32 {
        self.header.rows.max_norm
    }

    /// Returns an upper limit of the sum of squares of the whole weights of every row and node.
    pub fn largest_row(&self) -> u32 {
        self.header.rows.largest_row
    }

    /// Returns the class of a row. It is always below [`Model::classes`], even in a damaged file that was opened
    /// without its checks.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// let class = model.class_of_row(7);
    /// assert_eq!(model.row_of_class(class), Some(7));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn class_of_row(&self, row: usize) -> usize {
        let class = self.order.map_or(row, |order| order.class_of_row.get(row).unwrap_or(0));
        class.min(self.header.classes - 1)
    }

    /// Returns the row of a class; `None` if there is no such class.
    ///
    /// A file built with `--lookup` has a list of them, two bytes for each class (four if there are more than 65 536).
    /// In other files this searches all rows, which takes four instructions for each.
    pub fn row_of_class(&self, class: usize) -> Option<usize> {
        match self.order {
            Some(order) => match order.row_of_class {
                Some(rows) => rows.get(class),
                None => order.class_of_row.position(class),
            },
            None => (class < self.classes()).then_some(class),
        }
    }

    /// Returns the tree over the rows, if the file has one.
    #[doc(hidden)]
    pub fn tree(&self) -> Option<&Tree<'a>> {
        self.tree.as_ref()
    }

    /// Returns the links of the rows, if the file has them.
    #[inline]
    pub(crate) fn links(&self) -> Option<&Links<'a>> {
        self.links.as_ref()
    }

    /// Returns the settings that the builder chose, if the file has them.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// Returns the tree and the settings, if the file has both: a search needs both.
    #[inline]
    pub(crate) fn index(&self) -> Option<(&Tree<'a>, &Settings)> {
        self.tree.as_ref().zip(self.settings.as_ref())
    }

    /// Returns the smallest cap of a [`Budget`](crate::Budget) that is enough to score a class, whatever the query: the
    /// top of the tree and the path down to a leaf, or all rows if there is no index.
    pub fn least_cap(&self) -> usize {
        self.index().map_or(self.classes(), |(tree, _)| tree.least_cap())
    }

    /// Returns the table of random features, if the file has one. `zhat::host::with_fmbe` adds one.
    pub fn fmbe(&self) -> Option<&Fmbe<'a>> {
        self.fmbe.as_ref()
    }

    /// Returns the names of the classes, if the file has them. `zhat build --names` adds them.
    pub fn names(&self) -> Option<&Names<'a>> {
        self.names.as_ref()
    }

    /// Returns the figures that were measured when the file was built, if it has them.
    pub fn measured(&self) -> Option<Measured> {
        self.measured.map(Measured::from_words)
    }

    /// Returns the figures behind the intervals, if the file was built with enough queries to compute them.
    pub fn trust(&self) -> Option<Trust> {
        self.trust.map(Trust::from_words)
    }

    /// Returns the calibration of exact or of estimated answers, and w·q of [`Trust`].
    #[inline]
    pub(crate) fn calibration(&self, query: &Query, of_exact: bool) -> Option<(Calibration<'a>, f32)> {
        let words = self.trust?;
        let likeness = query.times_row(self.likeness, self.bits()) * Trust::likeness_scale(words);
        Some((Calibration::new(words, of_exact)?, likeness))
    }

    /// Returns true if the numbers behind intervals are valid or absent.
    pub(super) fn has_sound_trust(&self) -> bool {
        self.trust.is_none_or(Trust::is_sound)
    }

    /// Returns the scale of the int8 activations in front of the layer, if the layer is from a quantised network.
    pub fn input_scale(&self) -> Option<InputScale> {
        InputScale::from_words(words(&self.header, Section::InputScale).ok()?)
    }

    /// Returns what makes sets of classes that hold the true one, if the file was built with labels for it.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.sets().is_none()); // `zhat build --sets` adds them
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn sets(&self) -> Option<Sets<'a>> {
        Sets::parse(self.header.section(Section::Sets)?)
    }

    /// What tells inputs that are none of the classes, if the file was built with examples of them.
    pub(crate) fn recognition(&self) -> Option<Recognition<'a>> {
        let RowFormat { stride, bits, .. } = self.header.rows;
        Recognition::parse(self.header.section(Section::Known)?, bits.row_len(stride))
    }

    pub(crate) fn has(&self, section: Section) -> bool {
        self.header.section(section).is_some()
    }

    /// Returns the length of the file in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a model has at least a header")]
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// Iterates over the sections of the file: kind and length.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// for (kind, length) in model.sections() {
    ///     println!("section {kind}: {length} bytes");
    /// }
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn sections(&self) -> impl Iterator<Item = (u16, usize)> + 'a {
        self.header.sections()
    }

    /// Returns the format of the rows, which quantising a query needs.
    pub(crate) fn row_format(&self) -> &RowFormat {
        &self.header.rows
    }

    pub(super) fn order(&self) -> Option<Order<'a>> {
        self.order
    }
}

// Typed views of sections. Their lengths are checked here, their contents are not.

/// Returns a required section as `len` numbers.
fn numbers<'a, T: bytemuck::AnyBitPattern>(
    header: &Header<'a>,
    section: Section,
    len: Option<usize>,
) -> Result<&'a [T], Error> {
    let bytes = header.section(section).ok_or(Error::MissingSection(section.kind()))?;
    let numbers: &[T] = bytemuck::try_cast_slice(bytes).map_err(|_| Error::SectionLength(section.kind()))?;
    if Some(numbers.len()) == len { Ok(numbers) } else { Err(Error::SectionLength(section.kind())) }
}

/// Joins rows, scales and biases to one table of `len` rows. 4-bit rows hold their scales themselves.
#[inline(never)]
fn table<'a>(header: &Header<'a>, len: usize, sections: [Section; 3], bias_shift: u32) -> Result<RowTable<'a>, Error> {
    let RowFormat { stride, bits, .. } = header.rows;
    let stored = numbers(header, sections[0], len.checked_mul(bits.row_len(stride)))?;
    let scales = if bits.has_own_scales() { &[] } else { numbers(header, sections[1], Some(len))? };
    let biases = numbers(header, sections[2], Some(len))?;
    RowTable::new(stored, scales, biases, bias_shift, stride, bits).ok_or(Error::SectionContent(sections[2].kind()))
}

/// Returns a required section of a fixed number of words.
#[inline]
fn words<'a, T: bytemuck::AnyBitPattern, const W: usize>(
    header: &Header<'a>,
    section: Section,
) -> Result<&'a [T; W], Error> {
    numbers(header, section, Some(W))?.try_into().map_err(|_| Error::SectionLength(section.kind()))
}

/// Returns an optional section of a fixed number of words.
#[inline]
fn optional_words<'a, T: bytemuck::AnyBitPattern, const W: usize>(
    header: &Header<'a>,
    section: Section,
) -> Result<Option<&'a [T; W]>, Error> {
    header.section(section).map(|_| words(header, section)).transpose()
}

/// Returns an optional section of indices below `limit`.
#[cold]
fn indices<'a>(header: &Header<'a>, section: Section, limit: usize) -> Result<Option<Indices<'a>>, Error> {
    let parse = |bytes| Indices::parse(bytes, limit).ok_or(Error::SectionLength(section.kind()));
    header.section(section).map(parse).transpose()
}

/// Returns the tree: all of its sections must be there, or none.
#[cold]
fn tree<'a>(header: &Header<'a>) -> Result<Option<Tree<'a>>, Error> {
    if header.section(Section::TreeInfo).is_none() {
        return Ok(None);
    }
    let info: &[u32; tree::INFO_WORDS] = words(header, Section::TreeInfo)?;
    if info[tree::INFO_USED..] != [0; tree::INFO_WORDS - tree::INFO_USED] {
        return Err(Error::SectionContent(Section::TreeInfo.kind()));
    }
    let len = header.section(Section::NodeGains).map_or(0, <[u8]>::len) / size_of::<i16>();
    let sections = [Section::NodeRows, Section::NodeScales, Section::NodeBiases];
    let nodes = table(header, len, sections, info[tree::INFO_BIAS_SHIFT])?;
    let spans = indices(header, Section::NodeSpans, header.classes.max(len))?;
    let spans = spans.ok_or(Error::MissingSection(Section::NodeSpans.kind()))?;
    let spreads = numbers(header, Section::NodeSpreads, Some(len))?;
    let gains = numbers(header, Section::NodeGains, Some(len))?;
    let bounds = match header.section(Section::NodeBounds) {
        Some(_) => Some(numbers(header, Section::NodeBounds, Some(len))?),
        None => None,
    };
    let tree = Tree::new(nodes, spans, spreads, gains, bounds, info, header.known_descent());
    tree.map(Some).ok_or(Error::SectionLength(Section::NodeSpans.kind()))
}

/// Returns the table of random features, if there is one.
#[cold]
fn fmbe<'a>(header: &Header<'a>) -> Result<Option<Fmbe<'a>>, Error> {
    let parse = |bytes| bytemuck::try_cast_slice(bytes).ok().and_then(|words| Fmbe::parse(words, header.rows.dim));
    let wrong = Error::SectionLength(Section::Fmbe.kind());
    header.section(Section::Fmbe).map(|bytes| parse(bytes).ok_or(wrong)).transpose()
}

// Model files in flash.

/// Bytes on a 16-byte boundary, made by [`include_model!`](crate::include_model).
///
/// ```
/// use zhat::model::Aligned;
///
/// static BYTES: Aligned<[u8; 4]> = Aligned([1, 2, 3, 4]);
/// assert!(BYTES.0.as_ptr().addr().is_multiple_of(16));
/// ```
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Aligned<B: ?Sized>(pub B);

/// Includes a model file in the binary as a `&'static [u8]` that is aligned for [`Model::from_bytes`].
///
/// The path is relative to the source file, as for `include_bytes!`.
///
/// ```standalone_crate
/// static MODEL: &[u8] = zhat::include_model!("../../models/next_word.zhat");
///
/// assert!(zhat::Model::from_bytes(MODEL).is_ok());
/// ```
///
/// [`Model::from_bytes`]: crate::Model::from_bytes
#[macro_export]
macro_rules! include_model {
    ($path:expr) => {{
        static BYTES: &$crate::model::Aligned<[u8]> = &$crate::model::Aligned(*include_bytes!($path));
        &BYTES.0
    }};
}
