//! The model file (`.zhat`): one header, a table of sections, the sections.
//!
//! All little-endian; sections start at multiples of 16 bytes, so that rows can be read in words.
//! [`Model::from_bytes`] checks every byte once; after that no access can fail, and nothing is copied.
//!
//! ```
//! # let bytes = zhat::doc_example();
//! let model = zhat::Model::from_bytes(&bytes)?;
//! assert_eq!((model.classes(), model.dim()), (4, 3));
//! # Ok::<(), zhat::Error>(())
//! ```
//!
#![cfg_attr(doc, doc = include_str!("layout.svg"))]
//!
//! # Compatibility
//! Every file has a format version, [`FORMAT_VERSION`] of the release that wrote it. The promise:
//!
//! - A release reads the files of every release with the same format version, older or newer. A newer release may add optional
//!   sections without a new version. An older one skips them, and gives the same answers without them. A section that cannot be
//!   skipped is marked, and an older release refuses the file ([`Error::UnknownSection`](crate::Error::UnknownSection)).
//! - A release refuses files of any other version ([`Error::Version`](crate::Error::Version)); it never misreads one. Build
//!   such models again from the weights.
//! - The version changes with a new minor release before 1.0 (0.2 to 0.3) and with a new major one after that, never in a patch
//!   release. The changelog says so in the first line of its entry.
//! - The first 20 bytes keep their meaning in all versions. [`FileHeader`] reads them, so that a firmware knows before it replaces a
//!   model whether it can open the new one.
//!
//! # Header
//! | offset | type | header field |
//! |---|---|---|
//! | 0 | 8 bytes | magic `89 5a 48 41 54 0d 0a 1a` |
//! | 8 | u16 | format version, 6 |
//! | 10 | u16 | number of sections, at most 64 |
//! | 12 | u32 | length of the file |
//! | 16 | u32 | checksum: XXH32 of the 16 bytes before it, exclusive or XXH32 of all bytes after it |
//! | 20 | u32 | N, the number of classes |
//! | 24 | u32 | d, the dimension |
//! | 28 | u32 | stride: the columns of a row with its padding, d rounded up to a multiple of 4 |
//! | 32 | i16 | scale exponent: a row's weight is a whole number · scale · 2^exponent |
//! | 34 | u16 | bias shift, at most 14: a row's bias is i16 · 2^shift, as the bits of a [`Log2`](crate::Log2) |
//! | 36 | f32 | the largest norm of a row or node |
//! | 40 | u32 | the largest sum of the squares of the whole weights of a row or node; with 4 bits, 2^14 for each of up to 16 columns or more |
//! | 44 | u32 | bits of a weight: 4, or zero for 8 |
//!
//! # Sections
//! Behind the header, for each section, 16 bytes: kind (u16), flags (u16, bit 0: required to understand the file), offset
//! (u32), length (u32), zero (u32). The table is in the order of the offsets and no kind appears twice. A reader
//! skips optional sections that it does not know and refuses the file for required ones: the format can grow.
//!
//! | kind | section | content |
//! |---|---|---|
//! | 1 | rows | N · stride / 2 × i16, two weights each, a + 256·b for columns 2j and 2j+1 |
//! | 2 | row scales | N × u16, in units of 2^exponent |
//! | 3 | biases | N × i16, in units of 2^shift; −32 768 and no weights for a class that is masked |
//! | 4 | class of row | N × u16, or u32 where N > 65 536 |
//! | 5 | row of class | the inverse of section 4, for the scores of given classes |
//! | 6 | tree info | 8 × u32: number of top nodes, F(q) as two f32 and two exponents, bias shift of the nodes, two zeros |
//! | 7–9 | node rows, scales, biases | as 1–3, for the nodes |
//! | 10 | node spans | 4 indices a node: first row, rows, first child, children |
//! | 11 | node spreads | 3 × u16 a node: curve, frozen slope, log₂ n |
//! | 12 | links | the same number of row indices for each row, or for each row of section 22 |
//! | 22 | linked rows | 2 × u32 for each 32 rows: a bit for each that has links, and how many have before them |
//! | 13 | node bounds | 5 × u16 a node, certain bounds on its rows |
//! | 16 | node gains | i16 a node: ln of the gain from opening it, beyond its mass |
//! | 14 | settings | 8 × u32, see [`Settings`] |
//! | 17 | names | N + 1 offsets, u16 or u32, then UTF-8, see [`Names`] |
//! | 18 | measured | 8 × u32, see [`Measured`] |
//! | 19 | input scale | 2 × u32, see [`InputScale`] |
//! | 20 | trust | 44 × u32, see [`Trust`]; with it comes 21 |
//! | 21 | likeness | w of [`Trust`], as a row |
//! | 24 | sets | labels, k, λ, zero; then 3 × f32 a level, see [`Sets`] |
//! | 25 | known | 10 × u32 and w, as a row: queries and examples, weights of energy, p, far share, w and norm, threshold, AUROC, zero |
//! | 15 | FMBE | a table of random features, see [`Fmbe`] |
//!
//! With 4 bits a row has ⌈d/64⌉ + ⌈stride/8⌉ words. Count as if absent columns in front filled it up to blocks of 64;
//! for them there are no words. A block is a word of scales and eight words of eight columns each. The word of scales
//! has the scales s of its four groups of 16 columns, the first in bits 12 to 15, the last in bits 0 to 3, and above
//! them the scale of the row in the first block, zeros in others. The words of columns have n of columns 3, 2, 7, 6, 1,
//! 0, 5, 4 from the highest four bits to the lowest. s and n are signed, and a weight is s·n, which is the 8-bit number
//! elsewhere. There are no sections 2 and 8.
//!
//! Without section 4 the rows are in the order of the classes. Sections 5, 13, 15, 17 to 21, 24 and 25 are optional, and so are
//! 12 together with 22, and all sections of the tree together. Without 22 all rows have links.

mod budget;
mod check;
mod fmbe;
mod header;
mod links;
mod names;
#[cfg(feature = "alloc")]
mod owned;
mod query;
mod recognition;
mod sets;
mod settings;
mod trust;
mod view;
#[cfg(feature = "alloc")]
mod write;

pub use budget::Budget;
pub use fmbe::{Fmbe, FmbeKind};
pub use header::{FORMAT_VERSION, FileHeader, Section};
pub(crate) use links::Links;
pub use names::Names;
#[cfg(feature = "alloc")]
pub use owned::ModelBuf;
pub(crate) use recognition::Recognition;
#[cfg(feature = "std")]
pub(crate) use sets::SetRule;
pub use sets::Sets;
pub use settings::{InputScale, Measured, Settings};
pub use trust::{Answers, Trust};
pub(crate) use trust::{Calibration, error_unit, numbers};
#[cfg(feature = "std")]
pub(crate) use trust::{NUMBERS, growth};
pub use view::{Aligned, Model};
#[cfg(feature = "alloc")]
pub use write::{FileWriter, Sizes};

pub use crate::rows::Bits;

#[cfg(feature = "std")]
pub(crate) use fmbe::FMBE_DEGREES;
pub(crate) use header::checksum;

#[cfg(all(test, feature = "std"))]
mod tests;
