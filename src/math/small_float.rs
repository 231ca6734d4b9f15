//! An unsigned 16-bit float: twelve bits of mantissa, four of exponent.

/// A whole number, `(bits & 0xfff) << (bits >> 12)`, in units that its user defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat(u16);

impl SmallFloat {
    const MANTISSA_BITS: u32 = 12;
    /// The largest value.
    pub const MAX: u32 = 0xfff << 15;

    /// Makes a value of its stored bits.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the stored bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the number of units.
    #[inline]
    pub const fn units(self) -> u32 {
        (self.0 as u32 & ((1 << Self::MANTISSA_BITS) - 1)) << (self.0 >> Self::MANTISSA_BITS)
    }

    /// Returns the smallest value that is not below `units`; `None` above [`SmallFloat::MAX`].
    pub const fn at_least(units: u32) -> Option<Self> {
        let mut exponent = 0;
        while exponent < 16 {
            let mantissa = units.div_ceil(1 << exponent);
            if mantissa < 1 << Self::MANTISSA_BITS {
                return Some(Self((exponent << Self::MANTISSA_BITS) as u16 | mantissa as u16));
            }
            exponent += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_below_what_was_asked_for_and_at_most_one_in_2048_above() {
        let mut units = 1u32;
        while units <= SmallFloat::MAX {
            let rounded = SmallFloat::at_least(units).expect("in range").units();
            assert!(rounded >= units && rounded - units <= units / 2048, "{units} -> {rounded}");
            units += units / 97 + 1;
        }
        assert_eq!(SmallFloat::at_least(SmallFloat::MAX).map(SmallFloat::units), Some(SmallFloat::MAX));
        assert_eq!(SmallFloat::at_least(SmallFloat::MAX + 1), None);
        assert_eq!(SmallFloat::at_least(0).map(SmallFloat::units), Some(0));
    }
}
