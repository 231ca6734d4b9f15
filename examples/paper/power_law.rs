//! MIMPS with a power law for the tail, as the paper suggests: it extrapolates the scores of the head.
//!
//! ```text
//! Ẑ = Σ_{r ≤ k} exp(u_(r)) + Σ_{r = k+1}^{N} exp(c)·r^(−α)        u_(r) ≈ c − α·ln r, by least squares over r = k/10 … k
//! ```
//!
//! with u_(r) the r-th best score. It takes no sample and no row beyond the head; the sum over the ranks is an
//! integral.

use super::tally::mean;

/// Estimates ln Z from the best scores of a head, in order, given the number of classes.
pub fn log_z(head: &[f32], classes: usize) -> f32 {
    let k = head.len();
    let (Some(&best), first) = (head.first(), (k / 10).max(1)) else {
        return f32::NEG_INFINITY;
    };
    let points: Vec<(f64, f64)> =
        (first..=k).map(|rank| ((rank as f64).ln(), f64::from(head[rank - 1] - best))).collect();
    let (x, y) =
        (mean(&points.iter().map(|p| p.0).collect::<Vec<_>>()), mean(&points.iter().map(|p| p.1).collect::<Vec<_>>()));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let slope = if variance > 0.0 { covariance / variance } else { 0.0 };
    let near: f64 = head.iter().map(|score| f64::from(score - best).exp()).sum();
    // From the middle between the last rank of the head and the next, to half a rank after the last class.
    let integral = |rank: f64| {
        let power = slope + 1.0;
        if power.abs() < 1e-9 { rank.ln() } else { rank.powf(power) / power }
    };
    let far = (y - slope * x).exp() * (integral(classes as f64 + 0.5) - integral(k as f64 + 0.5));
    best + (near + far).ln() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_continued_to_its_end() {
        for alpha in [0.3, 1.0, 1.7] {
            let scores: Vec<f32> = (1..=5000).map(|rank| 2.0 - alpha * (rank as f32).ln()).collect();
            let truth = scores.iter().map(|&score| f64::from(score).exp()).sum::<f64>().ln() as f32;
            let found = log_z(&scores[..100], scores.len());
            assert!((found - truth).abs() < 1e-3, "{alpha}: {found} is not {truth}");
        }
    }
}
