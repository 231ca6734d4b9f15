//! The scale of a quantised network's activations.

/// The scale of int8 activations as the network before the layer outputs them: a value is `(activation − zero_point) ·
/// scale`.
///
/// ```
/// # let bytes = zhat::doc_file("models/import/int8_head.zhat");
/// use zhat::{Error, Model, QueryBuffer, model::InputScale};
///
/// let model = Model::from_bytes(bytes)?;
/// let InputScale { scale, zero_point } = model.input_scale().ok_or(Error::NoQuery)?;
/// let activations = [3; 6]; // of the int8 network
/// let query = QueryBuffer::<8>::from_i8(&model, &activations, scale, zero_point)?;
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct InputScale {
    /// The value of one step.
    pub scale: f32,
    /// The activation that stands for zero.
    pub zero_point: i8,
}

impl InputScale {
    /// Returns the zero point of the same activations as uint8, which are 128 higher: for [`Query::set_u8`](crate::Query::set_u8).
    ///
    /// ```
    /// use zhat::model::InputScale;
    ///
    /// let input = InputScale { scale: 0.05, zero_point: -128 };
    /// assert_eq!(input.zero_point_u8(), 0);
    /// ```
    pub const fn zero_point_u8(&self) -> u8 {
        self.zero_point.cast_unsigned() ^ 0x80
    }

    /// The number of words of the section.
    pub(super) const WORDS: usize = 2;

    /// Reads the section; `None` if the zero point is not a signed byte or the scale is not a positive number.
    pub(super) fn from_words(&[scale, zero_point]: &[u32; Self::WORDS]) -> Option<Self> {
        let scale = f32::from_bits(scale);
        let zero_point = i8::try_from(zero_point.cast_signed()).ok()?;
        (scale.is_finite() && scale > 0.0).then_some(Self { scale, zero_point })
    }

    /// Encodes the section for the file.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        [self.scale.to_bits(), i32::from(self.zero_point).cast_unsigned()]
    }
}
