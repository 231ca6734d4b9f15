//! Header and section table: the place of everything in the file, checked before any of it is used.

use crate::Error;
use crate::kernels;
use crate::rows::{Bits, RowFormat, RowTable};
use crate::tree::Descent;

/// The version of the format that this library writes, and the only one that it reads: see the
/// [promise](crate::model#compatibility).
pub const FORMAT_VERSION: u16 = 6;

/// The first 20 bytes of a model file: enough for an updater, without opening the file.
///
/// These bytes have the same meaning in every version of the format, from 5 on and for all that are to come: a firmware can tell
/// the version, length and build of a file that it cannot read. Nothing but the magic bytes is checked, so the other fields of a
/// damaged file are arbitrary.
///
/// ```
/// use zhat::Error;
/// use zhat::model::{FORMAT_VERSION, FileHeader};
///
/// let file = zhat::doc_example();
/// let header = FileHeader::read(&file[..FileHeader::LEN])?; // the first block of a download
/// assert_eq!((header.version, header.len as usize), (FORMAT_VERSION, file.len()));
/// assert_eq!(FileHeader::read(&[0xff; 64]), Err(Error::NotAModel)); // erased flash
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct FileHeader {
    /// The version of the format. This library opens files of [`FORMAT_VERSION`] alone.
    pub version: u16,
    /// The length of the whole file in bytes.
    pub len: u32,
    /// The checksum of all other bytes, which tells one build of a model from another.
    pub build_id: u32,
}

impl FileHeader {
    /// The bytes that [`FileHeader::read`] needs.
    pub const LEN: usize = CHECKSUM_AT + size_of::<u32>();

    /// Reads version, length and build from the first bytes of a file. They need not be aligned, and more bytes may follow.
    ///
    /// ```
    /// use zhat::Error;
    /// use zhat::model::FileHeader;
    ///
    /// let file = zhat::doc_example();
    /// assert_eq!(FileHeader::read(&file)?.build_id, file.model().build_id());
    /// assert_eq!(FileHeader::read(&file[..10]), Err(Error::Truncated));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotAModel`] if the magic bytes are others, [`Error::Truncated`] if there are fewer than [`FileHeader::LEN`] bytes.
    #[inline]
    pub fn read(prefix: &[u8]) -> Result<Self, Error> {
        if !prefix.starts_with(&MAGIC) {
            let cut = prefix.len() < MAGIC.len() && MAGIC.starts_with(prefix);
            return Err(if cut { Error::Truncated } else { Error::NotAModel });
        }
        if prefix.len() < Self::LEN {
            return Err(Error::Truncated);
        }
        Ok(Self { version: u16_at(prefix, 8), len: u32_at(prefix, 12), build_id: u32_at(prefix, CHECKSUM_AT) })
    }

    /// Returns the length of a file that this library reads.
    #[inline]
    pub(super) fn readable_len(&self) -> Result<usize, Error> {
        if self.version == FORMAT_VERSION { Ok(self.len as usize) } else { Err(Error::Version(self.version)) }
    }
}

/// Not text, and damaged by anything that converts line ends, as PNG's magic bytes are.
pub(super) const MAGIC: [u8; 8] = [0x89, b'Z', b'H', b'A', b'T', b'\r', b'\n', 0x1a];
pub(super) const HEADER_LEN: usize = 48;
pub(super) const ENTRY_LEN: usize = 16;
pub(super) const SECTION_ALIGN: usize = 16;
pub(super) const REQUIRED: u16 = 1;
/// The limit on sections, three times the known kinds. Checking the table takes time with the square of its length, so
/// it has to be short.
pub(super) const MAX_SECTIONS: usize = 64;
/// The position of the checksum, which covers all bytes but its own four.
pub(super) const CHECKSUM_AT: usize = 16;

/// The position of the width of the weights: 4, or zero for int8.
pub(super) const BITS_AT: usize = 44;

/// The kinds of sections that this library knows.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// use zhat::model::Section;
///
/// let rows = model.sections().find(|&(kind, _)| kind == Section::Rows.kind());
/// assert_eq!(rows, Some((1, 500 * 16)));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[non_exhaustive]
pub enum Section {
    /// The rows.
    Rows = 1,
    /// A scale for each row.
    RowScales = 2,
    /// A bias for each row.
    Biases = 3,
    /// The class of each row.
    ClassOfRow = 4,
    /// The row of each class.
    RowOfClass = 5,
    /// The numbers that all nodes of the tree share.
    TreeInfo = 6,
    /// The vectors that predict the nodes' log-masses.
    NodeRows = 7,
    /// A scale for each node.
    NodeScales = 8,
    /// A bias for each node.
    NodeBiases = 9,
    /// Rows and children of each node.
    NodeSpans = 10,
    /// The spread of each node.
    NodeSpreads = 11,
    /// The links of rows.
    Links = 12,
    /// Certain bounds on the rows of each node.
    NodeBounds = 13,
    /// The stored budget, and the settings that belong to it.
    Settings = 14,
    /// The table of random features.
    Fmbe = 15,
    /// The value of opening each node, beyond its mass.
    NodeGains = 16,
    /// The names of the classes.
    Names = 17,
    /// The figures that were measured on held-out queries.
    Measured = 18,
    /// The scale of int8 activations.
    InputScale = 19,
    /// The numbers behind intervals.
    Trust = 20,
    /// The numbers that tell familiar queries from others.
    Likeness = 21,
    /// The rows that have links, if not all have.
    LinkedRows = 22,
    /// The part of the network behind the layer that a partial model leaves out, as a text.
    LeftOut = 23,
    /// What makes sets of classes that hold the true one.
    Sets = 24,
    /// What tells inputs that are none of the classes.
    Known = 25,
}

impl Section {
    /// Every kind, in the order of the file.
    pub const ALL: [Self; 25] = [
        Self::Rows,
        Self::RowScales,
        Self::Biases,
        Self::ClassOfRow,
        Self::RowOfClass,
        Self::TreeInfo,
        Self::NodeRows,
        Self::NodeScales,
        Self::NodeBiases,
        Self::NodeSpans,
        Self::NodeSpreads,
        Self::Links,
        Self::NodeBounds,
        Self::Settings,
        Self::Fmbe,
        Self::NodeGains,
        Self::Names,
        Self::Measured,
        Self::InputScale,
        Self::Trust,
        Self::Likeness,
        Self::LinkedRows,
        Self::LeftOut,
        Self::Sets,
        Self::Known,
    ];

    /// Returns the number in the file.
    pub const fn kind(self) -> u16 {
        self as u16
    }

    /// Returns the name for people.
    #[cfg(feature = "std")]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::RowScales => "row scales",
            Self::Biases => "biases",
            Self::ClassOfRow => "class of row",
            Self::RowOfClass => "row of class",
            Self::TreeInfo => "tree info",
            Self::NodeRows => "node rows",
            Self::NodeScales => "node scales",
            Self::NodeBiases => "node biases",
            Self::NodeSpans => "node spans",
            Self::NodeSpreads => "node spreads",
            Self::Links => "links",
            Self::NodeBounds => "node bounds",
            Self::Settings => "settings",
            Self::Fmbe => "random features",
            Self::NodeGains => "node gains",
            Self::Names => "names",
            Self::Measured => "measured",
            Self::InputScale => "input scale",
            Self::Trust => "trust",
            Self::Likeness => "likeness",
            Self::LinkedRows => "linked rows",
            Self::LeftOut => "left out",
            Self::Sets => "sets",
            Self::Known => "known",
        }
    }

    /// Returns the purpose in a few words.
    #[cfg(feature = "std")]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Rows | Self::RowScales | Self::Biases => "scores",
            Self::ClassOfRow => "the classes of the answer",
            Self::RowOfClass => "the score of a given class",
            Self::TreeInfo | Self::NodeRows | Self::NodeScales | Self::NodeBiases => "search, and Z of what it leaves",
            Self::NodeSpans | Self::NodeSpreads | Self::NodeGains => "search, and Z of what it leaves",
            Self::Links | Self::LinkedRows => "recall",
            Self::NodeBounds => "certain_log_z, certain_top",
            Self::Settings => "the budget",
            Self::Fmbe => "FMBE",
            Self::Names => "names of the answer",
            Self::Measured | Self::LeftOut => "inspect",
            Self::InputScale => "int8 activations",
            Self::Trust | Self::Likeness => "intervals of p",
            Self::Sets => "sets that hold the label",
            Self::Known => "none of the classes",
        }
    }

    fn is_known(kind: u16) -> bool {
        // They are the numbers from one on.
        (1..=Self::ALL.len()).contains(&usize::from(kind))
    }
}

/// Computes the checksum of a whole file: XXH32 of the bytes before the checksum, exclusive or XXH32 of those after it.
/// It takes little more than an instruction for a byte and no table, and every change within one word changes it.
#[cold]
pub(crate) fn checksum(file: &[u8]) -> u32 {
    hash(file.get(..CHECKSUM_AT)) ^ hash(file.get(CHECKSUM_AT + 4..))
}

/// Hashes a part of the file. Not inlined, so that there is only one copy of it.
#[inline(never)]
fn hash(part: Option<&[u8]>) -> u32 {
    twox_hash::XxHash32::oneshot(0, part.unwrap_or(&[]))
}

/// The header's numbers, each in its range, and a section table that lies inside the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    bytes: &'a [u8],
    pub classes: usize,
    pub rows: RowFormat,
    pub checksum: u32,
    /// The shift of the rows' biases.
    pub bias_shift: u32,
    sections: usize,
    /// The results of an earlier opening of the same file.
    #[cfg(feature = "alloc")]
    known: Option<&'a Known>,
}

/// The facts about a file that take long to find and do not change: the places of its sections, and the descent of its
/// tree.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The header, with an empty slice for the file's bytes.
    header: Header<'static>,
    /// Offset and length of each section, in the order of the kinds; offset zero if the file has no such section.
    places: [(u32, u32); Section::ALL.len()],
    descent: Descent,
}

#[cfg(feature = "alloc")]
impl Known {
    /// Records the facts about a file with this header and this descent of its tree.
    pub fn new(header: &Header<'_>, descent: Descent) -> Self {
        let mut places = [(0, 0); Section::ALL.len()];
        for entry in header.entries() {
            if let Some(place) = place_of(entry.kind).and_then(|at| places.get_mut(at)) {
                *place = (entry.offset as u32, entry.len as u32);
            }
        }
        let Header { classes, rows, checksum, bias_shift, sections, .. } = *header;
        let header = Header { bytes: &[], classes, rows, checksum, bias_shift, sections, known: None };
        Self { header, places, descent }
    }

    /// Returns the header of the same file, given its bytes.
    pub fn header<'a>(&'a self, bytes: &'a [u8]) -> Header<'a> {
        Header { bytes, known: Some(self), ..self.header }
    }
}

/// Returns the position of a kind among all known ones.
#[cfg(feature = "alloc")]
fn place_of(kind: u16) -> Option<usize> {
    usize::from(kind).checked_sub(1)
}

impl<'a> Header<'a> {
    #[cold]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.as_ptr().addr().is_multiple_of(align_of::<u32>()) {
            return Err(Error::Misaligned);
        }
        let first = FileHeader::read(bytes)?;
        if bytes.len() < HEADER_LEN {
            return Err(Error::Truncated);
        }
        match bytes.len().cmp(&first.readable_len()?) {
            core::cmp::Ordering::Less => return Err(Error::Truncated),
            core::cmp::Ordering::Greater => return Err(Error::TrailingBytes),
            core::cmp::Ordering::Equal => {}
        }
        let bits = Bits::from_code(u32_at(bytes, BITS_AT))?;
        let header = Self {
            bytes,
            #[cfg(feature = "alloc")]
            known: None,
            sections: usize::from(u16_at(bytes, 10)),
            checksum: first.build_id,
            classes: u32_at(bytes, 20) as usize,
            bias_shift: u16_at(bytes, 34).into(),
            rows: RowFormat {
                dim: u32_at(bytes, 24) as usize,
                stride: u32_at(bytes, 28) as usize,
                scale_exponent: (u16_at(bytes, 32) as i16).into(),
                max_norm: f32::from_bits(u32_at(bytes, 36)),
                bits,
                largest_row: u32_at(bytes, 40),
                model: first.build_id,
            },
        };
        let plausible = header.classes > 0
            && (1..=kernels::MAX_DIM).contains(&header.rows.dim)
            && header.rows.stride == header.rows.dim.next_multiple_of(kernels::ROW_ALIGN)
            && (-400..=400).contains(&header.rows.scale_exponent)
            && header.bias_shift <= RowTable::MAX_BIAS_SHIFT
            && header.rows.max_norm.is_finite()
            && header.rows.max_norm >= 0.0
            && header.rows.largest_row >= bits.least_largest_row(header.rows.stride);
        if !plausible {
            return Err(Error::Header);
        }
        header.check_table()?;
        Ok(header)
    }

    /// Returns the length of the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes of a section.
    #[cold]
    pub fn section(&self, section: Section) -> Option<&'a [u8]> {
        #[cfg(feature = "alloc")]
        if let Some(known) = self.known {
            let &(offset, len) = place_of(section.kind()).and_then(|at| known.places.get(at))?;
            return if offset == 0 { None } else { self.bytes.get(offset as usize..)?.get(..len as usize) };
        }
        let entry = self.entries().find(|entry| entry.kind == section.kind())?;
        self.bytes.get(entry.offset..entry.offset + entry.len)
    }

    /// Returns the descent of the tree if it is known from an earlier opening.
    pub fn known_descent(&self) -> Option<Descent> {
        #[cfg(feature = "alloc")]
        return self.known.map(|known| known.descent);
        #[cfg(not(feature = "alloc"))]
        None
    }

    /// Iterates over the known and unknown sections of the file: kind and length.
    pub fn sections(&self) -> impl Iterator<Item = (u16, usize)> + 'a {
        self.entries().map(|entry| (entry.kind, entry.len))
    }

    /// Iterates over every section of the file: kind, true if it is required, and bytes.
    #[cfg(feature = "alloc")]
    pub fn contents(&self) -> impl Iterator<Item = (u16, bool, &'a [u8])> + 'a {
        let bytes = self.bytes;
        let content = move |entry: &Entry| bytes.get(entry.offset..entry.offset + entry.len).unwrap_or(&[]);
        self.entries().map(move |entry| (entry.kind, entry.flags & REQUIRED != 0, content(&entry)))
    }

    fn entries(&self) -> impl Iterator<Item = Entry> + 'a {
        let table = self.bytes.get(HEADER_LEN..).unwrap_or(&[]);
        table.as_chunks::<ENTRY_LEN>().0.iter().take(self.sections).map(Entry::parse)
    }

    #[cold]
    fn check_table(&self) -> Result<(), Error> {
        if self.sections > MAX_SECTIONS {
            return Err(Error::SectionTable);
        }
        let mut end = HEADER_LEN + self.sections * ENTRY_LEN;
        if end > self.bytes.len() {
            return Err(Error::Truncated);
        }
        for (index, entry) in self.entries().enumerate() {
            // In order and apart, so that one pass also proves that nothing overlaps.
            let next = entry.offset.checked_add(entry.len);
            let sound = entry.offset >= end
                && entry.offset.is_multiple_of(SECTION_ALIGN)
                && entry.flags & !REQUIRED == 0
                && entry.zero == 0
                && next.is_some_and(|next| next <= self.bytes.len())
                && self.entries().take(index).all(|other| other.kind != entry.kind);
            if !sound {
                return Err(Error::SectionTable);
            }
            if entry.flags & REQUIRED != 0 && !Section::is_known(entry.kind) {
                return Err(Error::UnknownSection(entry.kind));
            }
            end = next.unwrap_or(end);
        }
        Ok(())
    }
}

struct Entry {
    kind: u16,
    flags: u16,
    offset: usize,
    len: usize,
    zero: u32,
}

impl Entry {
    fn parse(bytes: &[u8; ENTRY_LEN]) -> Self {
        Self {
            kind: u16_at(bytes, 0),
            flags: u16_at(bytes, 2),
            offset: u32_at(bytes, 4) as usize,
            len: u32_at(bytes, 8) as usize,
            zero: u32_at(bytes, 12),
        }
    }
}

/// Reads the number at an offset; zero if the bytes end before, which no caller reaches.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}
