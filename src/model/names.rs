//! The names of the classes, so that people can read an answer.
//!
//! The section has N + 1 offsets, where each name starts and the last one ends, then the names themselves in UTF-8, one
//! after the other in the order of the classes. The offsets are u16, or u32 if the names have more than 65 535 bytes.
//! Optional: a device that shows no names leaves them out of its flash.

use crate::hint::keep_small;
use crate::rows::Indices;

/// The longest text with 16-bit offsets, in bytes.
const LONGEST: usize = u16::MAX as usize;

/// The names of a model's classes.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// let names = model.names().expect("words");
/// assert_eq!(names.get(names.find("the").expect("a word")), Some("the"));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    starts: Indices<'a>,
    text: &'a [u8],
}

impl<'a> Names<'a> {
    /// Reads the section of a model with this many classes; `None` if it is too short for the offsets.
    #[cold]
    pub(super) fn parse(bytes: &'a [u8], classes: usize) -> Option<Self> {
        let head = classes.checked_add(1)?.checked_mul(size_of::<u16>())?;
        // After 16-bit offsets, at most `LONGEST` bytes are left; after 32-bit ones more are, as the text is longer.
        let rest = bytes.len().checked_sub(head)?;
        let head = if rest <= LONGEST { head } else { head.checked_mul(2)? };
        let (starts, text) = bytes.split_at_checked(head)?;
        Some(Self { starts: Indices::parse(starts, rest.saturating_add(1))?, text })
    }

    /// Returns the name of a class; `None` if there is no such class.
    pub fn get(&self, class: usize) -> Option<&'a str> {
        core::str::from_utf8(self.bytes(class)?).ok()
    }

    fn bytes(&self, class: usize) -> Option<&'a [u8]> {
        let start = self.starts.get(class)?;
        let end = self.starts.get(class.checked_add(1)?)?;
        self.text.get(start..end)
    }

    /// Finds the first class with this name. Compares one name after the other.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// let names = model.names().expect("words");
    /// assert!(names.find("congress").is_some() && names.find("blorp").is_none());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn find(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&class| self.bytes(class) == Some(name.as_bytes()))
    }

    /// Returns the number of names: one for each class.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that the names cover the text in order, from the first byte to the last, and that each is UTF-8.
    #[cold]
    pub(super) fn is_sound(&self) -> bool {
        self.starts.get(0) == Some(0)
            && self.starts.get(self.len()) == Some(self.text.len())
            && (0..self.len()).all(|class| self.bytes(class).is_some_and(is_utf8))
    }

    /// Encodes the section for these names.
    ///
    /// ```
    /// use zhat::model::{FileWriter, Names, Section};
    ///
    /// let mut file = FileWriter::reopen(&zhat::doc_example())?;
    /// file.optional(Section::Names, &Names::encode(&["red", "green", "blue", "grey"]));
    /// let file = file.into_model()?;
    /// assert_eq!(file.model().names().and_then(|names| names.get(2)), Some("blue"));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn encode<S: AsRef<str>>(names: &[S]) -> alloc::vec::Vec<u8> {
        let mut starts = alloc::vec![0u32];
        let mut text = alloc::vec::Vec::new();
        for name in names {
            text.extend_from_slice(name.as_ref().as_bytes());
            starts.push(text.len() as u32);
        }
        let mut section = alloc::vec::Vec::new();
        for start in starts {
            let width = if text.len() <= LONGEST { size_of::<u16>() } else { size_of::<u32>() };
            section.extend_from_slice(&start.to_le_bytes()[..width]);
        }
        section.extend_from_slice(&text);
        section
    }
}

// UTF-8: the table of well-formed byte sequences (The Unicode Standard, table 3-7), one byte after the other.
//
// Every firmware checks the names of its model once, and few ever read one: `core::str::from_utf8` is faster, but takes five
// times the flash.

/// Returns true if the bytes are well-formed UTF-8.
#[cold]
#[inline(never)]
fn is_utf8(bytes: &[u8]) -> bool {
    // The bytes still missing of a character, and the range of the next one.
    let (mut left, mut low, mut high) = (0u32, 0x80, 0xbf);
    for &byte in bytes {
        keep_small();
        if left > 0 {
            if byte < low || byte > high {
                return false;
            }
            (left, low, high) = (left - 1, 0x80, 0xbf);
        } else if byte >= 0x80 {
            // C0 and C1 would start two-byte forms of ASCII characters.
            if !(0xc2..=0xf4).contains(&byte) {
                return false;
            }
            left = 1 + u32::from(byte >= 0xe0) + u32::from(byte >= 0xf0);
            match byte {
                // No forms longer than needed.
                0xe0 => low = 0xa0,
                0xf0 => low = 0x90,
                // No surrogates, and nothing above U+10FFFF.
                0xed => high = 0x9f,
                0xf4 => high = 0x8f,
                _ => {}
            }
        }
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries all pairs of bytes, followed by every continuation of up to two bytes at the ends of the ranges.
    #[test]
    fn the_same_as_the_standard_library() {
        let ends = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
        let agree = |bytes: &[u8]| assert_eq!(is_utf8(bytes), core::str::from_utf8(bytes).is_ok(), "{bytes:x?}");
        agree(&[]);
        for first in 0..=255 {
            agree(&[first]);
            for second in 0..=255 {
                agree(&[first, second]);
                for third in ends {
                    agree(&[first, second, third]);
                    ends.iter().for_each(|&fourth| agree(&[first, second, third, fourth]));
                }
            }
        }
    }
}
