//! How a quantised network hands over its activations.

/// The scale of int8 activations, as the network before the layer makes them: a value is
/// `(activation − zero_point) · scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputScale {
    /// What a step is worth.
    pub scale: f32,
    /// The activation that stands for zero.
    pub zero_point: i8,
}

impl InputScale {
    /// Words of the section.
    pub(super) const WORDS: usize = 2;

    /// `None` if the zero point is not a signed byte or the scale is not a positive number.
    pub(super) fn from_words(&[scale, zero_point]: &[u32; Self::WORDS]) -> Option<Self> {
        let scale = f32::from_bits(scale);
        let zero_point = i8::try_from(zero_point.cast_signed()).ok()?;
        (scale.is_finite() && scale > 0.0).then_some(Self { scale, zero_point })
    }

    /// The section as the file has it.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        [self.scale.to_bits(), i32::from(self.zero_point).cast_unsigned()]
    }
}
