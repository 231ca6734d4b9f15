//! What an estimator of Z answers.

use crate::math::{Log2, LogSum};
use crate::search::Work;

/// An estimate of Z, what it cost and, where the method can tell, how far off it may be.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// use rand_pcg::Pcg32;
/// use zhat::estimators::uniform;
///
/// let estimate = uniform(&model, &query, 3, &mut Pcg32::new(1, 1), &mut [0])?;
/// let error = estimate.standard_error.expect("of three samples");
/// println!("ln Z is {:.2}, give or take {:.0} % of Z", estimate.log_z(), 100.0 * error);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Estimate {
    /// Ẑ, as a sum in the log domain. Empty where the method had nothing to add up.
    pub z: LogSum,
    /// What it cost, the retrieval of the head included.
    pub work: Work,
    /// The estimated standard deviation of Ẑ, as a share of Ẑ: zero where the answer is exact, `None` where the method
    /// is not a sample mean or had fewer than two samples. It knows only of what was sampled: a heavy row that no
    /// sample met is invisible to it.
    pub standard_error: Option<f32>,
    /// Steps that a solver took; zero for methods without one.
    pub iterations: u32,
}

impl Estimate {
    pub(super) fn exact(z: LogSum, work: Work) -> Self {
        Self { z, work, standard_error: Some(0.0), iterations: 0 }
    }

    /// A sum with nothing known about its error.
    pub(super) fn plain(z: LogSum, work: Work) -> Self {
        Self { z, work, standard_error: None, iterations: 0 }
    }

    /// ln Ẑ; −∞ where nothing was added up.
    ///
    /// ```
    /// assert_eq!(zhat::estimators::self_normalised().log_z(), 0.0);
    /// ```
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// The probability of a class with this score.
    ///
    /// ```
    /// use zhat::{Log2, estimators::self_normalised};
    ///
    /// assert!((self_normalised().probability(Log2::from_nats(0.25_f32.ln())) - 0.25).abs() < 1e-4);
    /// ```
    pub fn probability(&self, score: Log2) -> f32 {
        self.z.share(score)
    }
}
