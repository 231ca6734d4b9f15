//! The matrix products of training, on row-major slices.

use zhat::internal::product;

/// Computes c = a·bᵀ, where a and b have rows of `k`.
pub fn a_bt(a: &[f32], b: &[f32], k: usize, c: &mut [f32]) {
    let (m, n) = (a.len() / k, b.len() / k);
    product(m, k, n, a, (k, 1), b, (1, k), c);
}

/// Computes c = aᵀ·b, where a has rows of `m` and b has rows of `n`.
pub fn at_b(a: &[f32], m: usize, b: &[f32], n: usize, c: &mut [f32]) {
    let k = a.len() / m;
    product(m, k, n, a, (1, m), b, (n, 1), c);
}

/// Computes c = a·b, where a has rows of `k` and b has rows of `n`.
pub fn a_b(a: &[f32], k: usize, b: &[f32], n: usize, c: &mut [f32]) {
    let m = a.len() / k;
    product(m, k, n, a, (k, 1), b, (n, 1), c);
}

/// Adds a ∘ b to `out`.
pub fn add_product(out: &mut [f32], a: &[f32], b: &[f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out += a * b;
    }
}

/// Computes a·b for two vectors, in eight partial sums so that it vectorises.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// Computes e^x to 2 ulp for |x| ≤ 87 (clamped beyond), from operations that vectorise on every target: x = n ln 2 + r,
/// 2ⁿ through the exponent bits, e^r by a polynomial (Cephes' expf).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let t = x * core::f32::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let power = t.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    (p * r * r + r + 1.0) * f32::from_bits(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37 + 11) % 23) as f32 - 11.0).collect()
    }

    #[test]
    fn products_of_every_size_are_sums_of_products() {
        for (m, k, n) in [(1, 1, 1), (3, 20, 9), (20, 2, 30), (9, 33, 1), (8, 8, 8), (70, 65, 17)] {
            let (a, b) = (numbers(m * k), numbers(k * n));
            let transpose = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
                (0..rows * cols).map(|i| x[i % rows * cols + i / rows]).collect()
            };
            let expected: Vec<f32> =
                (0..m * n).map(|i| (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum()).collect();
            let mut c = vec![f32::NAN; m * n];
            a_b(&a, k, &b, n, &mut c);
            assert_eq!(c, expected);
            a_bt(&a, &transpose(&b, k, n), k, &mut c);
            assert_eq!(c, expected);
            at_b(&transpose(&a, m, k), m, &b, n, &mut c);
            assert_eq!(c, expected);
        }
    }

    #[test]
    fn exp_is_within_two_ulp_and_clamped() {
        for i in -86_000..86_000 {
            let x = i as f32 / 1000.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) / expected - 1.0).abs();
            assert!(error < 2.0 * f64::from(f32::EPSILON), "exp({x}) is off by {error}");
        }
        assert!(exp(-1e9) < 1e-37 && exp(1e9).is_finite());
        assert!(exp(f32::NAN).is_nan(), "a failed step must be seen");
    }
}
