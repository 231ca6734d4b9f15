//! A check for UTF-8: the table of well-formed byte sequences (The Unicode Standard, table 3-7), one byte after the
//! other.
//!
//! Every firmware checks the names of its model once, and few ever read one: `core::str::from_utf8` is faster, but
//! takes five times the flash.

use crate::hint::keep_small;

/// Returns true if the bytes are well-formed UTF-8.
#[cold]
#[inline(never)]
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
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
