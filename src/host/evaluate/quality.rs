//! Measures probabilities against labels: log-loss, accuracy, calibration.

use serde::Serialize;

use super::report::Quality;

/// The number of bins of a reliability diagram.
pub const BINS: usize = 15;

/// Confidence and accuracy in bins of the best class's probability.
///
/// ```
/// use zhat::host::evaluate::Reliability;
///
/// let mut reliability = Reliability::default();
/// reliability.add(0.9, true, 0.9);
/// reliability.add(0.9, false, 0.05);
/// assert_eq!(reliability.quality().accuracy, 0.5);
/// assert_eq!(reliability.points().len(), 1); // one bin
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reliability {
    /// The number of queries, the summed confidence and the hits of each bin.
    bins: [(u32, f64, u32); BINS],
    losses: f64,
}

impl Reliability {
    /// Adds a query: p of its best class, true if that class is the label, and p of the label.
    pub fn add(&mut self, confidence: f32, hit: bool, label_p: f32) {
        let confidence = confidence.clamp(0.0, 1.0);
        let bin = ((confidence * BINS as f32) as usize).min(BINS - 1);
        let (count, sum, hits) = &mut self.bins[bin];
        *count += 1;
        *sum += f64::from(confidence);
        *hits += u32::from(hit);
        // A p of zero would make one query's loss infinite; the smallest f32 bounds it at 87 nats.
        self.losses -= f64::from(label_p.clamp(f32::MIN_POSITIVE, 1.0)).ln();
    }

    /// Returns mean confidence, accuracy and share of the queries for each bin that is not empty.
    pub fn points(&self) -> Vec<(f32, f32, f32)> {
        let total = f64::from(self.count().max(1));
        let point = |&(count, sum, hits): &(u32, f64, u32)| {
            let n = f64::from(count);
            ((sum / n) as f32, (f64::from(hits) / n) as f32, (n / total) as f32)
        };
        self.bins.iter().filter(|bin| bin.0 > 0).map(point).collect()
    }

    fn count(&self) -> u32 {
        self.bins.iter().map(|bin| bin.0).sum()
    }

    /// Returns the summary.
    pub fn quality(&self) -> Quality {
        let n = f64::from(self.count().max(1));
        let hits: u32 = self.bins.iter().map(|bin| bin.2).sum();
        let ece: f32 =
            self.points().iter().map(|(confidence, accuracy, share)| share * (confidence - accuracy).abs()).sum();
        Quality { accuracy: (f64::from(hits) / n) as f32, log_loss: (self.losses / n) as f32, ece }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrated_probabilities_have_no_calibration_error() {
        let mut reliability = Reliability::default();
        for i in 0..1000 {
            reliability.add(0.25, i % 4 == 0, 0.25);
            reliability.add(0.8, i % 5 != 0, 0.8);
        }
        let quality = reliability.quality();
        assert!(quality.ece < 1e-6, "{}", quality.ece);
        assert!((quality.accuracy - 0.525).abs() < 1e-6);
        assert!((quality.log_loss - (-(0.25f32.ln() + 0.8f32.ln()) / 2.0)).abs() < 1e-5);
        assert_eq!(reliability.points().len(), 2);
    }

    #[test]
    fn overconfidence_is_the_distance_from_accuracy() {
        let mut reliability = Reliability::default();
        (0..100).for_each(|i| reliability.add(1.0, i < 60, if i < 60 { 1.0 } else { 0.0 }));
        assert!((reliability.quality().ece - 0.4).abs() < 1e-6);
        assert!(reliability.quality().log_loss.is_finite());
    }
}
