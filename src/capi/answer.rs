//! Classification of a query.

use super::error::code;
use super::scratch::Memory;
use super::{ZhatError, ZhatModel, pointers};
use crate::estimators::{exact_up_to, known_of, set_of};
use crate::{Classifier, Error, LogSum, Model, Prediction, Query};

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
    /// The lower end of the 95 % interval around it; zero if there is no interval.
    pub lower: f32,
    /// The upper end; one if there is no interval.
    pub upper: f32,
}

/// Yes, no, or unknown: the model was built with too few queries, the cap is smaller than the stored one, or the scratch
/// memory was too small for the search (`overflowed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ZhatAnswer {
    /// No.
    No = 0,
    /// Yes.
    Yes = 1,
    /// Unknown.
    Unknown = 2,
}

/// The answer to a query apart from the top classes, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ZhatResult {
    /// ln Z.
    pub log_z: f32,
    /// Yes if the query is like those that the model was calibrated with. Only then do the classes have intervals, and only
    /// with the stored budget.
    pub familiar: ZhatAnswer,
    /// Yes if the energy is above the model's threshold for inputs that belong to no class.
    pub rejected: ZhatAnswer,
    /// −ln Z: large if the input is unlike everything the layer was trained on.
    pub energy: f32,
    /// The far share: the part of Z that was predicted and not scored.
    pub far_share: f32,
    /// The number of rows scored.
    pub rows: u32,
    /// The number of nodes of the tree predicted.
    pub nodes: u32,
    /// The number of bytes of weights read.
    pub bytes: u32,
    /// The number of classes written. Fewer than `top_len` only if fewer rows were scored.
    pub top_len: u32,
    /// 1 if the scratch memory was too small for all nodes that the budget would have reached, 0 otherwise. The answer is
    /// within the budget, but its error was not measured, and there are no intervals.
    pub overflowed: u32,
    /// Z in full and a hash of the query, for `zhat_probability` only.
    pub whole: [u32; 4],
}

/// Finds the top classes with estimated probabilities, within a budget of `cap` rows and nodes. Zero stands for the
/// stored budget, the only one with intervals. If the model has no index, all rows are scored.
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
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), Query::set, Method::Within(cap), memory, (top, top_len), result) })
}

/// Classifies a query in int8, as TFLite and CMSIS-NN output it: a value is `(query[i] - zero_point) * scale`.
/// Otherwise as `zhat_classify`.
///
/// # Safety
/// As `zhat_classify`, with `query_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classify_i8(
    model: *const ZhatModel,
    query: *const i8,
    query_len: usize,
    scale: f32,
    zero_point: i8,
    cap: u32,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[i8]| place.set_i8(model, query, scale, zero_point);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Within(cap), memory, (top, top_len), result) })
}

/// Classifies a query in uint8: a value is `(query[i] - zero_point) * scale`. Otherwise as `zhat_classify`.
///
/// # Safety
/// As `zhat_classify`, with `query_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classify_u8(
    model: *const ZhatModel,
    query: *const u8,
    query_len: usize,
    scale: f32,
    zero_point: u8,
    cap: u32,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[u8]| place.set_u8(model, query, scale, zero_point);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Within(cap), memory, (top, top_len), result) })
}

/// Classifies a query in int16: a value is `query[i] * scale`. Otherwise as `zhat_classify`.
///
/// # Safety
/// As `zhat_classify`, with `query_len` numbers of 16 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classify_i16(
    model: *const ZhatModel,
    query: *const i16,
    query_len: usize,
    scale: f32,
    cap: u32,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[i16]| place.set_i16(model, query, scale);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Within(cap), memory, (top, top_len), result) })
}

/// Finds the top classes with their exact probabilities: every row is scored. `ZHAT_EXACT_SCRATCH_WORDS(dim)` words of
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
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), Query::set, Method::Exact, memory, (top, top_len), result) })
}

/// Finds the exact probabilities for a query in int8, as `zhat_classify_i8` takes it. Otherwise as `zhat_exact`.
///
/// # Safety
/// As `zhat_classify_i8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_exact_i8(
    model: *const ZhatModel,
    query: *const i8,
    query_len: usize,
    scale: f32,
    zero_point: i8,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[i8]| place.set_i8(model, query, scale, zero_point);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Exact, memory, (top, top_len), result) })
}

/// Finds the exact probabilities for a query in uint8, as `zhat_classify_u8` takes it. Otherwise as `zhat_exact`.
///
/// # Safety
/// As `zhat_classify_u8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_exact_u8(
    model: *const ZhatModel,
    query: *const u8,
    query_len: usize,
    scale: f32,
    zero_point: u8,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[u8]| place.set_u8(model, query, scale, zero_point);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Exact, memory, (top, top_len), result) })
}

/// Finds the exact probabilities for a query in int16, as `zhat_classify_i16` takes it. Otherwise as `zhat_exact`.
///
/// # Safety
/// As `zhat_classify_i16`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_exact_i16(
    model: *const ZhatModel,
    query: *const i16,
    query_len: usize,
    scale: f32,
    scratch: *mut u32,
    scratch_words: usize,
    top: *mut ZhatClass,
    top_len: usize,
    result: *mut ZhatResult,
) -> ZhatError {
    let set = |place: &mut Query, model: &Model<'_>, query: &[i16]| place.set_i16(model, query, scale);
    let memory = (scratch, scratch_words);
    // SAFETY: the caller's promise.
    code(unsafe { answer(model, (query, query_len), set, Method::Exact, memory, (top, top_len), result) })
}

/// Gets the probability of any class for the query of the last call, with one more dot product. `scratch` is the memory
/// of that call, with nothing written to it since, and `result` is its result. Returns `ZHAT_ERROR_OTHER_QUERY` if the
/// memory is known to hold another query.
///
/// If the model was built without `--lookup`, this searches for the row of the class: four instructions for each class.
///
/// # Safety
/// `model` points to a model, or to zeros; `scratch` to `scratch_words` words that were handed to `zhat_classify` or `zhat_exact`,
/// `result` to the result of that call, and `p` to room for a float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_probability(
    model: *const ZhatModel,
    scratch: *const u32,
    scratch_words: usize,
    result: *const ZhatResult,
    id: u32,
    p: *mut f32,
) -> ZhatError {
    let get = || {
        // SAFETY: the caller's promise.
        let (model, words, result) = unsafe {
            (pointers::shared(model)?.model()?, pointers::slice(scratch, scratch_words)?, pointers::shared(result)?)
        };
        let found = probability(model, words, result, id as usize)?;
        // SAFETY: the caller's promise.
        unsafe { pointers::put(p, found) }
    };
    code(get())
}

fn probability(model: &Model<'_>, words: &[u32], result: &ZhatResult, class: usize) -> Result<f32, ZhatError> {
    let query = Query::left_in(words, model.rows().stride()).ok_or(ZhatError::Scratch)?;
    query.check(model)?;
    let [exponent, low, high, fingerprint] = result.whole;
    if query.fingerprint() != fingerprint {
        return Err(ZhatError::OtherQuery);
    }
    let row = model.row_of_class(class).ok_or(ZhatError::NoSuchClass)?;
    Ok(LogSum::from_words([exponent, low, high]).share(model.rows().score(row, query)))
}

/// Finds how many of the classes that a call returned are in the set that holds the true class for this share of the inputs:
/// the first `len` of `top`, and `more` is 1 if there are others, or 0. `ZHAT_ERROR_ABSENT` if there is no such set: the model was
/// built without sets, has none of this level, or the query is not like those that they were measured with.
///
/// # Safety
/// `model` points to a model, or to zeros; `top` and `result` to what `zhat_classify` or `zhat_exact` wrote for it (`top` may be
/// null where no class was asked for), `len` and `more` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_set(
    model: *const ZhatModel,
    top: *const ZhatClass,
    result: *const ZhatResult,
    level: f32,
    len: *mut u32,
    more: *mut u32,
) -> ZhatError {
    let get = || {
        // SAFETY: the caller's promise.
        let (model, result) = unsafe { (pointers::shared(model)?.model()?, pointers::shared(result)?) };
        let all = match result.top_len as usize {
            0 => &[],
            // SAFETY: the caller's promise.
            top_len => unsafe { pointers::slice(top, top_len.min(ZHAT_MAX_TOP))? },
        };
        let is_familiar = result.familiar.into();
        let all = all.iter().map(|class| class.p);
        let (found, others) = set_of(model, level, result.nodes, is_familiar, all).ok_or(ZhatError::Absent)?;
        // SAFETY: the caller's promise.
        unsafe {
            pointers::put(len, found as u32)?;
            pointers::put(more, others.into())
        }
    };
    code(get())
}

/// Finds whether the query of the last call is one of the classes at all, by what was learnt from examples that are none: `scratch`
/// is the memory of that call, with nothing written to it since, `top` and `result` are what it wrote. `ZHAT_ERROR_ABSENT` if the
/// model was built without such examples, or no class was asked for. `ZHAT_ANSWER_UNKNOWN` if the call had another budget than what was
/// measured.
///
/// # Safety
/// As `zhat_probability` and `zhat_set`; `known` points to room for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_is_known(
    model: *const ZhatModel,
    scratch: *const u32,
    scratch_words: usize,
    top: *const ZhatClass,
    result: *const ZhatResult,
    known: *mut ZhatAnswer,
) -> ZhatError {
    let get = || {
        // SAFETY: the caller's promise.
        let (model, words, result) = unsafe {
            (pointers::shared(model)?.model()?, pointers::slice(scratch, scratch_words)?, pointers::shared(result)?)
        };
        if result.top_len == 0 || model.recognition().is_none() {
            return Err(ZhatError::Absent);
        }
        // SAFETY: the caller's promise.
        let p = unsafe { pointers::shared(top)? }.p;
        let query = Query::left_in(words, model.rows().stride()).ok_or(ZhatError::Scratch)?;
        query.check(model)?;
        if query.fingerprint() != result.whole[3] {
            return Err(ZhatError::OtherQuery);
        }
        let (work, numbers) = ((result.nodes, result.familiar.into()), (result.energy, p, result.far_share));
        // SAFETY: the caller's promise.
        unsafe { pointers::put(known, known_of(model, query, work, numbers).into()) }
    };
    code(get())
}

/// The method that finds an answer.
#[derive(Clone, Copy)]
enum Method {
    /// The classifier, within a cap; zero stands for the stored budget.
    Within(u32),
    /// All rows.
    Exact,
}

/// Answers a query: the common part of all functions of this file.
///
/// # Safety
/// As `zhat_classify`, with every length beside its pointer. `set` makes a query of the values.
unsafe fn answer<T>(
    model: *const ZhatModel,
    (values, len): (*const T, usize),
    set: impl FnOnce(&mut Query, &Model<'_>, &[T]) -> Result<(), Error>,
    method: Method,
    (scratch, scratch_words): (*mut u32, usize),
    (top, top_len): (*mut ZhatClass, usize),
    result: *mut ZhatResult,
) -> Result<(), ZhatError> {
    if top_len > ZHAT_MAX_TOP {
        return Err(ZhatError::TopTooLong);
    }
    // SAFETY: the caller's promise.
    let (model, values, memory) = unsafe {
        (pointers::shared(model)?.model()?, pointers::slice(values, len)?, Memory::new(scratch, scratch_words)?)
    };
    let (query, memory) = memory.split(model)?;
    set(query, model, values)?;
    let prediction = predict(model, query, method, memory, top_len)?;
    // SAFETY: the caller's promise.
    unsafe { put(&prediction, query, top, result) }
}

/// Runs the method. Compiled once for all types of queries.
#[inline(never)]
fn predict(
    model: &Model<'_>,
    query: &Query,
    method: Method,
    memory: &mut [u32],
    top_len: usize,
) -> Result<Prediction<ZHAT_MAX_TOP>, Error> {
    match method {
        Method::Exact => Ok(exact_up_to(top_len, model, query)),
        Method::Within(cap) => {
            let classifier = Classifier::new(*model)?;
            let asked =
                if cap == 0 { classifier } else { classifier.with_budget(classifier.budget().with_cap(cap))? };
            asked.classify_up_to(top_len, query, memory)
        }
    }
}

/// Writes the answer to the caller's memory.
///
/// # Safety
/// `top` must have room for the classes of the prediction, and `result` for a result.
unsafe fn put(
    prediction: &Prediction<ZHAT_MAX_TOP>,
    query: &Query,
    top: *mut ZhatClass,
    result: *mut ZhatResult,
) -> Result<(), ZhatError> {
    for (place, best) in prediction.top.iter().enumerate() {
        let (lower, upper) = prediction.interval(place).unwrap_or((0.0, 1.0));
        let class = ZhatClass { id: best.class, p: best.p, lower, upper };
        // SAFETY: the caller's promise.
        unsafe { pointers::put(top.wrapping_add(place), class)? };
    }
    // SAFETY: the caller's promise.
    unsafe { pointers::put(result, ZhatResult::of(prediction, query)) }
}

impl From<ZhatAnswer> for Option<bool> {
    fn from(answer: ZhatAnswer) -> Self {
        match answer {
            ZhatAnswer::Yes => Some(true),
            ZhatAnswer::No => Some(false),
            ZhatAnswer::Unknown => None,
        }
    }
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
    fn of<const K: usize>(prediction: &Prediction<K>, query: &Query) -> Self {
        let log_z = prediction.log_z();
        let [exponent, low, high] = prediction.z().to_words();
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
            overflowed: prediction.overflowed().into(),
            whole: [exponent, low, high, query.fingerprint()],
        }
    }
}
