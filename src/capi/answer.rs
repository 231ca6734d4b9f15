//! Classifying a query.

use super::error::code;
use super::scratch::Memory;
use super::{ZhatError, ZhatModel, pointers};
use crate::estimators::exact_up_to;
use crate::{Budget, Classifier, Model, Prediction, Query};

/// The most classes that a call returns.
pub const ZHAT_MAX_TOP: usize = 16;

/// A class with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ZhatClass {
    /// The class, from zero on.
    pub id: u32,
    /// Its probability.
    pub p: f32,
    /// The lower end of the 95 % interval around it; zero where there is none.
    pub lower: f32,
    /// The upper end; one where there is none.
    pub upper: f32,
}

/// Yes, no, or that the model was built with too few queries to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ZhatAnswer {
    /// No.
    No = 0,
    /// Yes.
    Yes = 1,
    /// The model does not say.
    Unknown = 2,
}

/// What a query gave beside the top classes, and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ZhatResult {
    /// ln Z.
    pub log_z: f32,
    /// Whether the query is like those that the model was measured with. Only then do the classes have intervals.
    pub familiar: ZhatAnswer,
    /// Whether the energy is above the model's threshold for inputs that are none of the classes.
    pub rejected: ZhatAnswer,
    /// −ln Z: large where the input is like nothing the layer was trained on.
    pub energy: f32,
    /// The share of the probability that was not scored but predicted.
    pub far_share: f32,
    /// Rows scored.
    pub rows: u32,
    /// Nodes of the tree predicted.
    pub nodes: u32,
    /// Bytes of weights read.
    pub bytes: u32,
    /// How many classes were written: fewer than asked for only where so few were scored.
    pub top_len: u32,
}

/// The top classes with estimated probabilities, within a budget of `cap` rows and nodes; zero for the budget that is
/// stored in the model, which the intervals were measured with.
///
/// # Safety
/// `model` points to a model, or to zeros; `query` to `query_len` floats; `scratch` to `scratch_words` words, `top` to
/// room for `top_len` classes (or is null where that is zero) and `result` to room for a result. The last three overlap
/// with nothing, and nobody else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classify(
    model: *const ZhatModel,
    query: *const f32,
    query_len: usize,
    cap: u32,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let estimate = |model: &Model<'_>, query: &Query, memory: Memory<'_>| {
        let classifier = Classifier::new(*model)?;
        let budget = classifier.budget();
        let budget = if cap == 0 { budget } else { Budget { cap, ..budget } };
        let buffers = memory.buffers(model.classes())?;
        Ok(classifier.with_budget(budget)?.classify_up_to(top_len, query, buffers))
    };
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), (scratch, scratch_words), (top, top_len), result, estimate) })
}

/// The top classes with their exact probabilities: every row is scored. `ZHAT_EXACT_SCRATCH_WORDS(dim)` words of
/// scratch memory are enough.
///
/// # Safety
/// As `zhat_classify`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_exact(
    model: *const ZhatModel,
    query: *const f32,
    query_len: usize,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let exact = |model: &Model<'_>, query: &Query, _: Memory<'_>| Ok(exact_up_to(top_len, model, query));
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), (scratch, scratch_words), (top, top_len), result, exact) })
}

/// # Safety
/// As `zhat_classify`, with every length beside its pointer.
unsafe fn answer(
    model: *const ZhatModel,
    (query, query_len): (*const f32, usize),
    (scratch, scratch_words): (*mut u32, usize),
    (top, top_len): (*mut ZhatClass, usize),
    result: *mut ZhatResult,
    predict: impl FnOnce(&Model<'_>, &Query, Memory<'_>) -> Result<Prediction<ZHAT_MAX_TOP>, ZhatError>,
) -> Result<(), ZhatError> {
    if top_len > ZHAT_MAX_TOP {
        return Err(ZhatError::TopTooLong);
    }
    // SAFETY: the caller's promise.
    let (model, values, mut memory) = unsafe {
        (pointers::shared(model)?.model()?, pointers::slice(query, query_len)?, Memory::new(scratch, scratch_words)?)
    };
    let query = memory.query(model.rows().stride())?;
    query.set_to(model, values)?;
    let prediction = predict(model, query, memory)?;
    for (place, best) in prediction.top.iter().enumerate() {
        let (lower, upper) = prediction.interval(place).unwrap_or((0.0, 1.0));
        let class = ZhatClass { id: best.class, p: best.p, lower, upper };
        // SAFETY: the caller's promise: there is room for `top_len`, and no prediction has more.
        unsafe { pointers::put(top.wrapping_add(place), class)? };
    }
    // SAFETY: the caller's promise.
    unsafe { pointers::put(result, ZhatResult::of(&prediction)) }
}

impl From<Option<bool>> for ZhatAnswer {
    fn from(answer: Option<bool>) -> Self {
        match answer {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

impl ZhatResult {
    fn of<const K: usize>(prediction: &Prediction<K>) -> Self {
        let log_z = prediction.log_z();
        Self {
            log_z,
            familiar: prediction.is_familiar().into(),
            rejected: prediction.is_rejected().into(),
            energy: prediction.energy(),
            far_share: prediction.far_share,
            rows: prediction.work.rows,
            nodes: prediction.work.nodes,
            bytes: prediction.work.bytes,
            top_len: prediction.top.len() as u32,
        }
    }
}
