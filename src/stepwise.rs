//! A search that goes on step by step, and one that ends when a clock says so.

use crate::Error;
use crate::classifier::Classifier;
use crate::estimators::Prediction;
use crate::estimators::moments::NearAndFar;
use crate::math::LogSum;
use crate::model::Settings;
use crate::rows::Query;
use crate::search::{self, Buffers, Candidate, Top, Work};
use crate::tree::Tree;

/// Memory for the best classes of a [`Search`].
///
/// ```
/// let top = zhat::TopBuffer::<5>::new();
/// # assert!(top.is_empty());
/// ```
pub type TopBuffer<const K: usize> = heapless::Vec<Candidate, K>;

/// Tells whether a [`Search`] has more to do.
///
/// ```
/// assert_ne!(zhat::Progress::More, zhat::Progress::Done);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Progress {
    /// There is more to do.
    More,
    /// The answer is as good as the budget allows.
    Done,
}

/// A search for the best `K` classes that goes on in steps, so that an executor can do something else in between.
///
/// It borrows everything that it needs and nothing else keeps state: dropping it costs nothing. Taken to its end it gives the
/// same bits as [`Classifier::classify`].
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::{Classifier, Progress, TopBuffer};
///
/// let classifier = Classifier::new(model)?;
/// let (mut scratch, mut top) = ([0; 74], TopBuffer::<3>::new());
/// let mut search = classifier.search(&query, &mut scratch, &mut top)?;
/// while search.step(10) == Progress::More {
///     // Here other tasks run.
/// }
/// let answer = search.finish()?;
/// assert_eq!(answer.log_z(), classifier.classify::<3>(&query, &mut [0; 74])?.log_z());
/// # Ok::<(), zhat::Error>(())
/// ```
pub struct Search<'a, 'm, const K: usize> {
    classifier: &'a Classifier<'m>,
    query: &'a Query,
    state: State<'a, 'm>,
    progress: Progress,
}

#[expect(clippy::large_enum_variant, reason = "there is no allocator, and few models have no index")]
enum State<'a, 'm> {
    Tree {
        search: search::Search<'a, 'm, 'a, Top<'a>>,
        tree: &'a Tree<'m>,
        settings: &'a Settings,
    },
    /// All rows, one after the other.
    Rows {
        top: Top<'a>,
        sum: LogSum,
        next: usize,
    },
}

/// Rows that are scored at a time where there is no index: sums of whole blocks are the same as those of one pass.
const BLOCK: usize = 128;

impl<'m> Classifier<'m> {
    /// Starts a search that goes on step by step: the top nodes of the tree are predicted.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// let (mut scratch, mut top) = ([0; 74], zhat::TopBuffer::<3>::new());
    /// let mut search = classifier.search(&query, &mut scratch, &mut top)?;
    /// let _ = search.step(20);
    /// assert!(search.finish()?.interval(0).is_none(), "it did not come to its end");
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Classifier::classify`].
    pub fn search<'a, const K: usize>(
        &'a self,
        query: &'a Query,
        scratch: &'a mut [u32],
        top: &'a mut TopBuffer<K>,
    ) -> Result<Search<'a, 'm, K>, Error> {
        let model = self.model();
        query.check(model)?;
        let top = Top::new(top);
        let state = match model.index() {
            Some((tree, settings)) => {
                let buffers = Buffers::new(scratch, model, tree)?;
                let budget = self.budget();
                let mut search = search::Search::new(model, tree, query, &budget, buffers, top);
                search.start();
                State::Tree { search, tree, settings }
            }
            None => State::Rows { top, sum: LogSum::new(), next: 0 },
        };
        Ok(Search { classifier: self, query, state, progress: Progress::More })
    }

    /// Classifies as [`Classifier::classify`] does, and stops when `stop` returns true: it is asked each time that a node was opened,
    /// with the row-equivalents that were spent so far.
    ///
    /// An answer that was stopped has no interval, and does not say whether the query is familiar: both were measured with searches
    /// that came to their end. The search goes on until a row was scored, at most [`Model::least_cap`](crate::Model::least_cap)
    /// row-equivalents; what remains to be done then takes some 30 instructions for each node on the way. With a `stop` that
    /// never returns true the answer has the same bits as that of `classify`.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// // A program would ask a timer instead.
    /// let hurried = classifier.classify_until::<5>(&query, &mut [0; 591], |spent| spent >= 200)?;
    /// assert!(hurried.work.row_equivalents() < 300 && hurried.interval(0).is_none());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Classifier::classify`]; [`Error::Budget`] with the number of classes where the model has no index and was stopped
    /// before all rows were scored: rows that were not scored are nowhere predicted.
    pub fn classify_until<const K: usize>(
        &self,
        query: &Query,
        scratch: &mut [u32],
        mut stop: impl FnMut(u32) -> bool,
    ) -> Result<Prediction<K>, Error> {
        let mut top = TopBuffer::new();
        let mut search = self.search(query, scratch, &mut top)?;
        while search.step(1) == Progress::More && !stop(search.spent()) {}
        search.finish()
    }
}

impl<const K: usize> Search<'_, '_, K> {
    /// Goes on until this many row-equivalents more were spent, or all is done.
    ///
    /// A step takes whole nodes: up to a family of children or a leaf more than was asked for, and the links that are followed
    /// after it. Without an index it takes rows, 128 or a multiple of that.
    pub fn step(&mut self, row_equivalents: u32) -> Progress {
        let until = self.spent().saturating_add(row_equivalents);
        while self.progress == Progress::More && self.spent() < until {
            self.advance();
        }
        self.progress
    }

    /// Returns the row-equivalents that were spent so far.
    pub fn spent(&self) -> u32 {
        match &self.state {
            State::Tree { search, .. } => search.work().row_equivalents(),
            State::Rows { next, .. } => *next as u32,
        }
    }

    #[inline(never)]
    fn advance(&mut self) {
        let model = self.classifier.model();
        let is_done = match &mut self.state {
            State::Tree { search, .. } => !search.advance(),
            State::Rows { top, sum, next } => {
                let count = BLOCK.min(model.classes() - *next);
                model.rows().for_each_block(*next, count, self.query, |first, scores| {
                    sum.add_all(scores);
                    top.offer_all(model, first, scores);
                });
                *next += count;
                *next >= model.classes()
            }
        };
        if is_done {
            self.progress = Progress::Done;
        }
    }

    /// Returns the answer with what was found so far; there is none before a row was scored, so the search goes on until then.
    ///
    /// An answer of a search that had [more to do](Progress::More) has no interval, and does not say whether the query is familiar.
    ///
    /// # Errors
    /// [`Error::Budget`] with the number of classes where the model has no index and not all rows were scored.
    pub fn finish(mut self) -> Result<Prediction<K>, Error> {
        while self.progress == Progress::More
            && matches!(&self.state, State::Tree { search, .. } if search.work().rows == 0)
        {
            self.advance();
        }
        let Self { classifier, query, state, progress } = self;
        let (model, is_whole) = (classifier.model(), progress == Progress::Done);
        match state {
            State::Tree { search, tree, settings } => {
                let top: TopBuffer<K> = search.top().list().iter().copied().collect();
                let fields = NearAndFar::of(tree, &search.into_result(), settings.far_factor);
                classifier.answer(query, settings, &top, &fields, is_whole)
            }
            State::Rows { top, sum, .. } if is_whole => {
                let work = Work::of(model.classes(), 0, model.rows().row_bytes());
                Ok(Prediction::exact(top.list(), sum, work, model, query))
            }
            State::Rows { .. } => Err(Error::Budget(model.classes() as u32)),
        }
    }
}

impl<const K: usize> core::fmt::Debug for Search<'_, '_, K> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Search").field("spent", &self.spent()).field("progress", &self.progress).finish_non_exhaustive()
    }
}
