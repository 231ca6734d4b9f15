//! The few float functions of a query: from libm, or from micromath where its feature asks for speed over digits.

#[cfg(feature = "micromath")]
use micromath::F32Ext;

/// Natural logarithm.
pub(crate) fn ln(x: f32) -> f32 {
    #[cfg(feature = "micromath")]
    return F32Ext::ln(x);
    #[cfg(not(feature = "micromath"))]
    libm::logf(x)
}

/// e^x.
pub(crate) fn exp(x: f32) -> f32 {
    #[cfg(feature = "micromath")]
    return F32Ext::exp(x);
    #[cfg(not(feature = "micromath"))]
    libm::expf(x)
}

/// Square root. Exact in both: an FPU has it, and libm's is correctly rounded.
pub(crate) fn sqrt(x: f32) -> f32 {
    libm::sqrtf(x)
}

/// The nearest whole number, halves away from zero. Exact in both.
pub(crate) fn round(x: f32) -> f32 {
    libm::roundf(x)
}
