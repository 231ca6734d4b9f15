//! A macro that puts a model file into flash, aligned.

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
