//! A convolution over time of each channel by itself: nine taps, next to each other or every second frame.
//!
//! Each channel's past lies together, so that a step is a shift of a few words and nine products, in integers.

use crate::hint::keep_small;

/// Taps of a channel.
pub const TAPS: usize = 9;
/// Frames that they span, next to each other and every second one.
pub const SPAN: usize = TAPS;
pub const WIDE_SPAN: usize = 2 * TAPS - 1;

/// The taps of each channel, the oldest first, with their scale and bias.
#[derive(Clone, Copy, Debug)]
pub struct Depthwise<'a> {
    pub scales: &'a [f32],
    pub biases: &'a [f32],
    pub taps: &'a [i8],
}

impl Depthwise<'_> {
    /// Shifts a step into the past of each channel.
    pub fn push<const S: usize>(past: &mut [i16], step: &[i16]) {
        for (past, &new) in past.as_chunks_mut::<S>().0.iter_mut().zip(step) {
            // Number by number: to the library that moves memory, halves of words are the worst case.
            let mut later = new;
            for place in past.iter_mut().rev() {
                later = core::mem::replace(place, later);
            }
        }
    }

    /// The rectified sum of each channel's past, whose numbers are in steps of `unit`.
    pub fn sums<const S: usize>(&self, past: &[i16], unit: f32, out: &mut [f32]) {
        let channels = past.as_chunks::<S>().0.iter().zip(self.taps.as_chunks::<TAPS>().0);
        let scales = self.scales.iter().zip(self.biases);
        for (((past, taps), (scale, bias)), place) in channels.zip(scales).zip(out) {
            keep_small();
            let every = (S - 1) / (TAPS - 1);
            let mut sum = 0;
            for tap in 0..TAPS {
                sum += i32::from(past[tap * every]) * i32::from(taps[tap]);
            }
            *place = (sum as f32 * (unit * scale) + bias).max(0.0);
        }
    }
}
