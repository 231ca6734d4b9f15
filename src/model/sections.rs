//! Typed views of sections. Their lengths are checked here, their contents are not.

use super::Fmbe;
use super::header::{Header, Section};
use crate::Error;
use crate::rows::{Indices, RowFormat, RowTable};
use crate::tree::{self, Tree};

/// Returns a required section as `len` numbers.
pub(super) fn numbers<'a, T: bytemuck::AnyBitPattern>(
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
pub(super) fn table<'a>(
    header: &Header<'a>,
    len: usize,
    sections: [Section; 3],
    bias_shift: u32,
) -> Result<RowTable<'a>, Error> {
    let RowFormat { stride, bits, .. } = header.rows;
    let stored = numbers(header, sections[0], len.checked_mul(bits.row_len(stride)))?;
    let scales = if bits.has_own_scales() { &[] } else { numbers(header, sections[1], Some(len))? };
    let biases = numbers(header, sections[2], Some(len))?;
    RowTable::new(stored, scales, biases, bias_shift, stride, bits).ok_or(Error::SectionContent(sections[2].kind()))
}

/// Returns a required section of a fixed number of words.
#[inline]
pub(super) fn words<'a, T: bytemuck::AnyBitPattern, const W: usize>(
    header: &Header<'a>,
    section: Section,
) -> Result<&'a [T; W], Error> {
    numbers(header, section, Some(W))?.try_into().map_err(|_| Error::SectionLength(section.kind()))
}

/// Returns an optional section of a fixed number of words.
#[inline]
pub(super) fn optional_words<'a, T: bytemuck::AnyBitPattern, const W: usize>(
    header: &Header<'a>,
    section: Section,
) -> Result<Option<&'a [T; W]>, Error> {
    header.section(section).map(|_| words(header, section)).transpose()
}

/// Returns an optional section of indices below `limit`.
#[cold]
pub(super) fn indices<'a>(header: &Header<'a>, section: Section, limit: usize) -> Result<Option<Indices<'a>>, Error> {
    let parse = |bytes| Indices::parse(bytes, limit).ok_or(Error::SectionLength(section.kind()));
    header.section(section).map(parse).transpose()
}

/// Returns the tree: all of its sections must be there, or none.
#[cold]
pub(super) fn tree<'a>(header: &Header<'a>) -> Result<Option<Tree<'a>>, Error> {
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
pub(super) fn fmbe<'a>(header: &Header<'a>) -> Result<Option<Fmbe<'a>>, Error> {
    let parse = |bytes| bytemuck::try_cast_slice(bytes).ok().and_then(|words| Fmbe::parse(words, header.rows.dim));
    let wrong = Error::SectionLength(Section::Fmbe.kind());
    header.section(Section::Fmbe).map(|bytes| parse(bytes).ok_or(wrong)).transpose()
}
