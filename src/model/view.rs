//! A model in memory: typed views into the bytes of the file, nothing copied.

#[cfg(feature = "alloc")]
use super::header::Known;
use super::header::{FileHeader, Header, Section};
use super::sections::{fmbe, indices, numbers, optional_words, table, tree, words};
use super::{Fmbe, InputScale, Judge, Links, Measured, Names, Recognition, Sets, Settings, Trust, check};
use crate::Error;
use crate::log::{error, info};
use crate::rows::{Bits, Indices, Query, RowFormat, RowTable};
use crate::tree::Tree;

/// A model file, checked. After [`Model::from_bytes`] no access can fail.
///
/// It is a handful of slices into the file's bytes: cheap to copy, nothing is allocated.
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
    /// The row of the linear function that tells whether a query is familiar: with `trust` only.
    likeness: &'a [i16],
}

/// The order of the rows, where it is not that of the classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub class_of_row: Indices<'a>,
    /// Its inverse, where the file has it.
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
    /// Whatever is wrong with the file, as an [`Error`].
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

    /// Opens a model file without reading all of its content: for a boot that has no time for the checksum, on a
    /// file that [`Model::from_bytes`] accepted before.
    ///
    /// The header and the lengths of all sections are still checked, and every access stays inside them: a damaged
    /// file gives wrong answers, nothing worse.
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

    /// Returns the length of the model file that these bytes start with. The first [`FileHeader::LEN`] bytes are enough, aligned or
    /// not.
    ///
    /// The length is what the file says: nothing else of it was checked, and it may be larger than the memory is.
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
    /// [`Model::from_bytes`] does. What follows the file is not read.
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

    /// Returns the bytes of the file that these start with.
    fn file_in(bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        bytes.get(..Self::file_len(bytes)?).ok_or(Error::Truncated)
    }

    /// Returns the number that tells this build of the model from any other: the checksum of its file, as in [`FileHeader`].
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// println!("model {:08x}", model.build_id());
    /// # assert_ne!(model.build_id(), zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?.build_id());
    /// # Ok::<(), zhat::Error>(())
    /// ```
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

    /// Keeps what opening found, for other views of the same bytes.
    #[cfg(feature = "alloc")]
    pub(super) fn known(&self) -> Known {
        Known::new(&self.header, self.tree.map(|tree| tree.descent()).unwrap_or_default())
    }

    /// Views the bytes of the file that this is known of, without looking for anything in them.
    #[cfg(feature = "alloc")]
    pub(super) fn of_known(known: &'a Known, bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_header(known.header(bytes))
    }

    /// N, the number of classes.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.classes(), 4);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn classes(&self) -> usize {
        self.header.classes
    }

    /// d, the dimension of a query.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.dim(), 3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn dim(&self) -> usize {
        self.header.rows.dim
    }

    /// Returns whether the model is of a network's layer alone, with operators behind it left out: then p is a softmax of
    /// the layer's scores, and not what the network answers.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(!model.is_partial());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_partial(&self) -> bool {
        self.header.section(Section::LeftOut).is_some()
    }

    /// Returns the names of the operators that a partial model leaves out.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.left_out(), None);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn left_out(&self) -> Option<&'a str> {
        self.header.section(Section::LeftOut).map(|text| str::from_utf8(text).unwrap_or("unknown operators"))
    }

    /// The rows, in the order of the file.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.rows().len(), 4);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn rows(&self) -> &RowTable<'a> {
        &self.rows
    }

    /// The power of two in which the rows' scales are counted.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let unit = (model.scale_exponent() as f32).exp2();
    /// assert_eq!(model.row_scale(0), f32::from(model.rows().scale(0)) * unit);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn scale_exponent(&self) -> i32 {
        self.header.rows.scale_exponent
    }

    /// How wide the weights of rows and nodes are in the file.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.bits(), zhat::model::Bits::Eight);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn bits(&self) -> Bits {
        self.header.rows.bits
    }

    /// What one unit of a row's weights is worth.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// // Row 0 is (1, 0, 0): its largest weight is 127 steps.
    /// assert!((127.0 * model.row_scale(0) - 1.0).abs() < 1e-3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn row_scale(&self, row: usize) -> f32 {
        libm::ldexpf(f32::from(self.rows.scale(row)), self.header.rows.scale_exponent)
    }

    /// No row's norm is above this.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!((model.max_norm() - 1.0).abs() < 1e-2);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn max_norm(&self) -> f32 {
        self.header.rows.max_norm
    }

    /// No row's or node's whole weights have squares that add up to more than this.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(model.largest_row() >= 127 * 127);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn largest_row(&self) -> u32 {
        self.header.rows.largest_row
    }

    /// Returns the class that a row stands for: always below [`Model::classes`], even where a damaged file that was trusted
    /// says otherwise.
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

    /// The row of a class; `None` if there is no such class.
    ///
    /// Files that are built with `--lookup` have a list of them, two bytes for each class. In others all rows are looked
    /// through, which takes four instructions for each.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.row_of_class(0).is_some());
    /// assert_eq!(model.row_of_class(500), None);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn row_of_class(&self, class: usize) -> Option<usize> {
        match self.order {
            Some(order) => match order.row_of_class {
                Some(rows) => rows.get(class),
                None => order.class_of_row.position(class),
            },
            None => (class < self.classes()).then_some(class),
        }
    }

    /// The tree over the rows, if the file has one.
    #[doc(hidden)]
    pub fn tree(&self) -> Option<&Tree<'a>> {
        self.tree.as_ref()
    }

    /// The rows that each row leads to, if the file has them.
    #[inline]
    pub(crate) fn links(&self) -> Option<&Links<'a>> {
        self.links.as_ref()
    }

    /// What the builder chose and measured, if the file has it.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.settings().is_some_and(|settings| settings.budget.cap == 50));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// The tree and the settings that it was measured with, if the file has both: what a search needs.
    #[inline]
    pub(crate) fn index(&self) -> Option<(&Tree<'a>, &Settings)> {
        self.tree.as_ref().zip(self.settings.as_ref())
    }

    /// The least cap of a [`Budget`](crate::Budget) that is enough for a class, whatever the query: the top of the tree and
    /// the way down to a leaf, or all rows where there is no index.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.least_cap() <= 50);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn least_cap(&self) -> usize {
        self.index().map_or(self.classes(), |(tree, _)| tree.least_cap())
    }

    /// The table of random features, if the file has one.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(model.fmbe().is_none()); // `zhat::host::with_fmbe` adds one
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn fmbe(&self) -> Option<&Fmbe<'a>> {
        self.fmbe.as_ref()
    }

    /// The names of the classes, if the file has them.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(model.names().is_none()); // `zhat build --names` adds them
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn names(&self) -> Option<&Names<'a>> {
        self.names.as_ref()
    }

    /// What was measured when the file was built, if it says so.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// assert!(model.measured().is_some_and(|measured| measured.queries == 2000));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn measured(&self) -> Option<Measured> {
        self.measured.map(Measured::from_words)
    }

    /// What can be said about its answers, if the file was built with enough queries to tell.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.trust().is_some());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn trust(&self) -> Option<Trust> {
        self.trust.map(Trust::from_words)
    }

    /// What the file says about answers, and w·q of [`Trust`].
    #[inline]
    pub(crate) fn judge(&self, query: &Query, of_exact: bool) -> Option<(Judge<'a>, f32)> {
        let words = self.trust?;
        Some((Judge::new(words, of_exact), query.times_row(self.likeness, self.bits()) * words[6]))
    }

    /// Whether what the file says about its answers is sound.
    pub(super) fn has_sound_trust(&self) -> bool {
        self.trust.is_none_or(Trust::is_sound)
    }

    /// For a layer of a quantised network: how to read its int8 activations.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// assert!(model.input_scale().is_none()); // not the layer of an int8 network
    /// # Ok::<(), zhat::Error>(())
    /// ```
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

    /// The length of the file in bytes.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let file = &bytes;
    /// assert_eq!(model.len(), file.len());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "a model has at least a header")]
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// Kind and length of every section in the file.
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

    /// What a query has to know of the rows.
    pub(crate) fn row_format(&self) -> &RowFormat {
        &self.header.rows
    }

    pub(super) fn order(&self) -> Option<Order<'a>> {
        self.order
    }
}
