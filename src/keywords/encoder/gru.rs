//! The gated recurrent unit, as PyTorch defines it (after Cho et al. 2014):
//!
//! ```text
//! r = σ(W_r x + b_r + U_r h + c_r)        z = σ(W_z x + b_z + U_z h + c_z)
//! n = tanh(W_n x + b_n + r∘(U_n h + c_n))        h ← (1 − z)∘n + z∘h
//! ```

use super::HIDDEN;
use super::tensor::Tensor;
use crate::hint::keep_small;

/// The weights of the input and of the state: the rows of r, then of z, then of n.
#[derive(Clone, Copy, Debug)]
pub struct Gru<'a> {
    pub input: Tensor<'a>,
    pub hidden: Tensor<'a>,
}

impl Gru<'_> {
    /// One step of `state`.
    pub fn step(&self, input: &[f32], state: &mut [f32]) {
        let size = state.len();
        let (mut of_input, mut of_state) = ([0.0; 3 * HIDDEN], [0.0; 3 * HIDDEN]);
        self.input.times(input, &mut of_input);
        self.hidden.times(state, &mut of_state);
        let mut of_input = of_input.chunks_exact(size.max(1));
        let mut of_state = of_state.chunks_exact(size.max(1));
        let mut gate = || of_input.next().unwrap_or(&[]).iter().zip(of_state.next().unwrap_or(&[]));
        let (reset, update, new) = (gate(), gate(), gate());
        for (((state, (r_x, r_h)), (z_x, z_h)), (n_x, n_h)) in state.iter_mut().zip(reset).zip(update).zip(new) {
            keep_small();
            let (r, z) = (sigmoid(r_x + r_h), sigmoid(z_x + z_h));
            let n = tanh(n_x + r * n_h);
            *state = n + z * (*state - n);
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + libm::expf(2.0 * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_those_of_f64_and_end_where_they_should() {
        for i in -400..=400 {
            let x = i as f32 / 20.0;
            let exact = f64::from(x);
            assert!((f64::from(sigmoid(x)) - 1.0 / (1.0 + (-exact).exp())).abs() < 2e-7);
            assert!((f64::from(tanh(x)) - exact.tanh()).abs() < 3e-7);
        }
        assert_eq!([sigmoid(1e9), sigmoid(-1e9), tanh(1e9), tanh(-1e9)], [1.0, 0.0, 1.0, -1.0]);
    }
}
