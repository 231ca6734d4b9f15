//! The limits on the work of a search.

use crate::Error;

/// The limits of a search.
///
/// Work is counted in row-equivalents: every dot product of length d is one, whether with a row or with a node.
///
/// The cap is a promise about time. On a processor with the DSP instructions of a Cortex-M4, a query of d columns to a
/// model of N rows takes at most `15 000 + N/2 + cap·(1.1·d + 180)` instructions, with 4-bit rows 1.6·d, its
/// quantisation and K ≤ 8 best classes included. That is measured, not proved, for trees of the shapes that the builder chooses from: the examples
/// `costs` and `streaming` hold thousands of queries against it in QEMU and fail where one takes more. (Instructions, not
/// cycles: flash that is slower than the processor adds to it.)
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::{Budget, Classifier};
///
/// let stored = Classifier::new(model)?.budget();
/// let hurried = stored.with_cap(stored.cap * 4 / 5);
/// let classifier = Classifier::new(model)?.with_budget(hurried)?;
/// assert!(classifier.classify::<1>(&query, &mut [0; 74])?.work.row_equivalents() <= hurried.cap);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Budget {
    /// The most row-equivalents that a query may cost. Never exceeded.
    pub cap: u32,
    /// Stop before the cap when the node that would be opened next is predicted to hold at most this share of what was scored. Zero:
    /// always go to the cap.
    pub epsilon: f32,
    /// The links of this many of the best rows are followed; at most [`Budget::MAX_EXPAND`].
    pub expand: u32,
}

impl Budget {
    /// The most rows whose links are followed.
    ///
    /// ```
    /// use zhat::Budget;
    ///
    /// let budget = Budget::new(400).with_expand(Budget::MAX_EXPAND);
    /// # assert_eq!(budget.expand, 8);
    /// ```
    pub const MAX_EXPAND: u32 = 8;

    /// Always up to a cap, without links.
    ///
    /// ```
    /// use zhat::Budget;
    ///
    /// let budget = Budget::new(400).with_epsilon(0.01).with_expand(4);
    /// assert_eq!((budget.cap, budget.epsilon, budget.expand), (400, 0.01, 4));
    /// assert_eq!(budget.with_cap(200).expand, 4);
    /// ```
    pub const fn new(cap: u32) -> Self {
        Self { cap, epsilon: 0.0, expand: 0 }
    }

    /// Returns the budget with another cap.
    ///
    /// ```
    /// assert_eq!(zhat::Budget::new(400).with_cap(300).cap, 300);
    /// ```
    pub const fn with_cap(self, cap: u32) -> Self {
        Self { cap, ..self }
    }

    /// Returns this budget with another `epsilon`.
    ///
    /// ```
    /// assert_eq!(zhat::Budget::new(400).with_epsilon(0.01).epsilon, 0.01);
    /// ```
    pub const fn with_epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    /// The same, following the links of this many rows.
    ///
    /// ```
    /// assert_eq!(zhat::Budget::new(400).with_expand(4).expand, 4);
    /// ```
    pub const fn with_expand(self, expand: u32) -> Self {
        Self { expand, ..self }
    }

    /// Refuses a cap that does not reach `least`.
    pub(crate) fn check(&self, least: usize) -> Result<(), Error> {
        if (self.cap as usize) < least { Err(Error::Budget(least as u32)) } else { Ok(()) }
    }
}
