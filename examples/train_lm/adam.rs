//! Adam (Kingma & Ba 2015), without weight decay, which gains nothing in small amounts and costs much in larger ones.

use rayon::prelude::*;

const FIRST: f32 = 0.9;
const SECOND: f32 = 0.999;
const SMALL: f32 = 1e-8;
const CHUNK: usize = 16_384;

/// The running moments of every parameter's gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    pub first: Vec<f32>,
    pub second: Vec<f32>,
    pub steps: u64,
}

impl Adam {
    pub fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// Makes one step down `gradient`, and sets it to zero for the next.
    pub fn step(&mut self, values: &mut [f32], gradient: &mut [f32], rate: f32) {
        self.steps += 1;
        let steps = self.steps.min(1 << 20) as i32;
        let rate_1 = rate / (1.0 - FIRST.powi(steps));
        let scale_2 = 1.0 / (1.0 - SECOND.powi(steps));
        values
            .par_chunks_mut(CHUNK)
            .zip(gradient.par_chunks_mut(CHUNK))
            .zip(self.first.par_chunks_mut(CHUNK))
            .zip(self.second.par_chunks_mut(CHUNK))
            .for_each(|(((values, gradient), first), second)| {
                let parts = values.iter_mut().zip(gradient).zip(first).zip(second);
                for (((x, g), m), v) in parts {
                    *m = FIRST * *m + (1.0 - FIRST) * *g;
                    *v = SECOND * *v + (1.0 - SECOND) * *g * *g;
                    *x -= rate_1 * *m / ((*v * scale_2).sqrt() + SMALL);
                    *g = 0.0;
                }
            });
    }
}
