//! What a search may spend.

use crate::Error;
use crate::model::Model;
use crate::search::bound;

/// The limits of a search.
///
/// Work is counted in row-equivalents: every dot product of length d is one, whether with a row or with a node.
///
/// The cap is a promise about time: [`Budget::most_instructions`] and [`Budget::most_cycles`] say what no query exceeds within a
/// budget, and [`Budget::for_instructions`] and [`Budget::for_cycles`] make one for a deadline.
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
    /// The links of this many of the best rows are followed; at most [`Budget::MAX_EXPAND`]. Rows that links lead to can be among the
    /// best in their turn: three times as many are followed at most.
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

    /// The same with another cap.
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

    /// The largest budget with which no query takes more than `limit` instructions: the stored tolerance and links, with another
    /// cap, which may be smaller or larger than the stored one.
    ///
    /// See [`Budget::most_instructions`] for what is counted. It looks at all nodes some dozen times: do it once, not for each query.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// use zhat::{Budget, Classifier};
    ///
    /// let budget = Budget::for_instructions(&model, 120_000)?;
    /// assert!(budget.most_instructions(&model) <= 120_000);
    /// let classifier = Classifier::new(model)?.with_budget(budget)?;
    /// assert!(Budget::for_instructions(&model, 10_000).is_err());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Budget`] if that is not enough for a class.
    pub fn for_instructions(model: &Model<'_>, limit: u64) -> Result<Self, Error> {
        Self::within(model, limit, bound::INSTRUCTIONS)
    }

    /// The same for cycles without wait states: see [`Budget::most_cycles`].
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// // 2 ms at 80 MHz.
    /// let budget = zhat::Budget::for_cycles(&model, 160_000)?;
    /// assert!(budget.most_cycles(&model) <= 160_000);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Budget::for_instructions`].
    pub fn for_cycles(model: &Model<'_>, limit: u64) -> Result<Self, Error> {
        Self::within(model, limit, bound::CYCLES)
    }

    fn within(model: &Model<'_>, limit: u64, prices: [&bound::Prices; 2]) -> Result<Self, Error> {
        let stored = model.settings().map_or(Self::new(0), |settings| settings.budget);
        let budget = stored.with_cap(bound::cap(model, stored.expand, limit, prices));
        budget.check(model.least_cap()).map(|()| budget)
    }

    /// Returns the instructions that no query takes more than within this budget, on a Cortex-M4 with up to eight best classes: its
    /// quantisation from floats and the answer are in it, whatever the query is, and whatever the memory.
    ///
    /// How often a search does what takes time follows from the tree, and what each thing takes was measured from above, in QEMU; the
    /// example `bound` looks for queries that take more than is promised here. It holds for rows that lie on word boundaries, as
    /// they do in a file that does.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// let stored = model.settings().expect("an index").budget;
    /// assert!(stored.with_cap(stored.cap / 2).most_instructions(&model) < stored.most_instructions(&model));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn most_instructions(&self, model: &Model<'_>) -> u64 {
        bound::time(model, self, bound::INSTRUCTIONS)
    }

    /// Returns the cycles that no query takes more than within this budget, on a Cortex-M4 without wait states: as
    /// [`Budget::most_instructions`], with each instruction at its price in the processor's manual. Flash that is slower than the
    /// processor, interrupts, and DMA add to it.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// let stored = model.settings().expect("an index").budget;
    /// assert!(stored.most_cycles(&model) > stored.most_instructions(&model));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn most_cycles(&self, model: &Model<'_>) -> u64 {
        bound::time(model, self, bound::CYCLES)
    }

    /// Refuses a cap that does not reach `least`.
    pub(crate) fn check(&self, least: usize) -> Result<(), Error> {
        if (self.cap as usize) < least { Err(Error::Budget(least as u32)) } else { Ok(()) }
    }
}
