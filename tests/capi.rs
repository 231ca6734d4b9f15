//! The functions for C: every wrong call is an error, and right ones give what Rust gives, to the bit.
#![cfg(feature = "capi")]
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use zhat::capi::*;
use zhat::model::Aligned;
use zhat::{Classifier, Error, Model, Prediction, QueryBuffer, Scratch, include_model};

/// Built with calibration queries, so that its intervals are real ones.
static MODEL: &[u8] = include_model!("data/indexed.zhat");
static FLAT: &[u8] = include_model!("../fuzz/seeds/model/flat.zhat");
static QUERIES: &[u8] = include_bytes!("data/indexed-queries.bin");
const N: usize = 500;
const D: usize = 16;
/// More than the settings of the model ask for.
const ROOM: usize = 128;
const TOP: usize = 3;

type Memory = [u32; scratch_words(N, D, ROOM)];

fn queries() -> impl Iterator<Item = [f32; D]> {
    let floats = QUERIES.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect::<Vec<_>>();
    floats.as_chunks::<D>().0.to_vec().into_iter()
}

fn closed() -> ZhatModel {
    // SAFETY: a model that was not opened is zeros.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn open(bytes: &[u8]) -> Result<ZhatModel, ZhatError> {
    let mut model = closed();
    // Checking all of a file takes Miri a quarter of a minute.
    let open = if cfg!(miri) { zhat_open_trusted } else { zhat_open };
    // SAFETY: a model, and bytes of this length.
    match unsafe { open(&raw mut model, bytes.as_ptr(), bytes.len()) } {
        ZhatError::None => Ok(model),
        error => Err(error),
    }
}

fn in_rust() -> Model<'static> {
    if cfg!(miri) { Model::from_bytes_trusted(MODEL) } else { Model::from_bytes(MODEL) }.expect("valid")
}

const NO_CLASS: ZhatClass = ZhatClass { id: u32::MAX, p: 0.0, lower: 0.0, upper: 0.0 };

fn classify(model: &ZhatModel, query: &[f32], cap: u32, memory: &mut [u32], top: &mut [ZhatClass]) -> Answer {
    let mut result = MaybeUninit::uninit();
    let (words, classes) = (memory.len(), top.len());
    let top = top.as_mut_ptr();
    // SAFETY: every pointer is one of a reference, with its length.
    unsafe {
        let memory = memory.as_mut_ptr();
        match zhat_classify(model, query.as_ptr(), query.len(), cap, memory, words, top, classes, result.as_mut_ptr()) {
            ZhatError::None => Ok(result.assume_init()),
            error => Err(error),
        }
    }
}

type Answer = Result<ZhatResult, ZhatError>;

/// What C should see of a prediction.
fn as_c<const K: usize>(prediction: &Prediction<K>) -> (ZhatResult, Vec<ZhatClass>) {
    let log_z = prediction.log_z();
    let result = ZhatResult {
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
        whole: [0; 4],
    };
    let class = |(place, best): (usize, &zhat::Ranked)| {
        let (lower, upper) = prediction.interval(place).unwrap_or((0.0, 1.0));
        ZhatClass { id: best.class, p: best.p, lower, upper }
    };
    (result, prediction.top.iter().enumerate().map(class).collect())
}

/// A result without what only `zhat_probability` reads.
fn shown(result: ZhatResult) -> ZhatResult {
    ZhatResult { whole: [0; 4], ..result }
}

#[test]
fn the_answers_are_those_of_rust_to_the_bit() {
    let (c, mut memory) = (open(MODEL).expect("valid"), [u32::MAX; scratch_words(N, D, ROOM)] as Memory);
    let classifier = Classifier::new(in_rust()).expect("an index");
    let mut scratch = Scratch::<{ zhat::scratch_words(N, ROOM) }>::new();
    for values in queries().take(if cfg!(miri) { 1 } else { usize::MAX }) {
        let query = QueryBuffer::<D>::new(classifier.model(), &values).expect("a valid query");
        for cap in [0, 64, 150, 5000] {
            let budget = classifier.budget().with_cap(cap);
            let asked = if cap == 0 { classifier } else { classifier.with_budget(budget).expect("enough") };
            let truth = as_c(&asked.classify::<TOP>(&query, &mut scratch).expect("memory"));
            let mut top = [NO_CLASS; TOP];
            let result = classify(&c, &values, cap, &mut memory, &mut top).expect("an answer");
            assert_eq!((shown(result), top.to_vec()), truth, "cap {cap}");
            assert!(result.energy == -result.log_z);
        }
        let truth = as_c(&zhat::exact::<TOP>(classifier.model(), &query).expect("valid"));
        let (mut top, mut result) = ([NO_CLASS; TOP], MaybeUninit::uninit());
        // SAFETY: every pointer is one of a reference, with its length.
        let error = unsafe {
            let (words, top) = (memory.as_mut_ptr(), top.as_mut_ptr());
            zhat_exact(&raw const c, values.as_ptr(), D, words, memory.len(), top, TOP, result.as_mut_ptr())
        };
        assert_eq!(error, ZhatError::None);
        // SAFETY: there was no error.
        assert_eq!((shown(unsafe { result.assume_init() }), top.to_vec()), truth);
    }
}

#[cfg(feature = "rows4")]
#[test]
fn four_bit_rows_answer_as_in_rust() {
    static FOUR: &[u8] = include_model!("../fuzz/seeds/model/four_bit.zhat");
    let (c, rust) = (open(FOUR).expect("valid"), Model::from_bytes(FOUR).expect("valid"));
    assert_eq!(rust.bits().count(), 4);
    let classifier = Classifier::new(rust).expect("an index");
    let mut memory = [0; scratch_words(N, D, ROOM)];
    let mut scratch = Scratch::<{ zhat::scratch_words(N, ROOM) }>::new();
    for values in queries().map(|query| [query[0], query[1], query[2], query[3], query[4], query[5]]) {
        let query = QueryBuffer::<8>::new(&rust, &values).expect("a valid query");
        let truth = as_c(&classifier.classify::<TOP>(&query, &mut scratch).expect("memory"));
        let mut top = [NO_CLASS; TOP];
        let result = classify(&c, &values, 0, &mut memory, &mut top).expect("an answer");
        assert_eq!((shown(result), top.to_vec()), truth);
    }
}

#[cfg(not(feature = "rows4"))]
#[test]
fn four_bit_rows_are_refused_where_their_code_is_left_out() {
    static FOUR: &[u8] = include_model!("../fuzz/seeds/model/four_bit.zhat");
    assert_eq!(Model::from_bytes(FOUR).err(), Some(zhat::Error::FourBitRows));
    assert_eq!(Model::from_bytes_trusted(FOUR).err(), Some(zhat::Error::FourBitRows));
    assert_eq!(open(FOUR).err(), Some(ZhatError::FourBitRows));
}

#[test]
fn a_model_says_what_it_needs() {
    let (indexed, flat, closed) = (open(MODEL).expect("valid"), open(FLAT).expect("valid"), closed());
    // SAFETY: open models, one of zeros, and null.
    unsafe {
        assert_eq!((zhat_classes(&raw const indexed), zhat_dim(&raw const indexed)), (N, D));
        let model = in_rust();
        assert_eq!(zhat_scratch_words(&raw const indexed), model.query_words() + model.scratch_words());
        assert_eq!(zhat_least_cap(&raw const indexed) as usize, model.least_cap());
        assert_eq!(zhat_scratch_words(&raw const flat), 4 + 6_usize.next_multiple_of(4) / 2);
        for model in [&raw const closed, null()] {
            assert_eq!((zhat_classes(model), zhat_dim(model), zhat_scratch_words(model)), (0, 0, 0));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "the checks of a file are those of tests/views.rs, and slow there")]
fn a_damaged_or_misplaced_file_is_refused() {
    assert_eq!(open(&MODEL[..MODEL.len() - 16]).err(), Some(ZhatError::Truncated));
    assert_eq!(open(&MODEL[..20]).err(), Some(ZhatError::Truncated));
    assert_eq!(open(&MODEL[..0]).err(), Some(ZhatError::Truncated));
    let mut bytes = Box::new(Aligned([0; 1 << 17]));
    bytes.0[1..][..MODEL.len()].copy_from_slice(MODEL);
    assert_eq!(open(&bytes.0[1..][..MODEL.len()]).err(), Some(ZhatError::Misaligned));
    bytes.0[..MODEL.len()].copy_from_slice(MODEL);
    assert_eq!(open(&bytes.0[..MODEL.len() + 16]).err(), Some(ZhatError::TrailingBytes));
    bytes.0[MODEL.len() - 1] ^= 1;
    assert_eq!(open(&bytes.0[..MODEL.len()]).err(), Some(ZhatError::Checksum));
    bytes.0[0] = 0;
    assert_eq!(open(&bytes.0[..MODEL.len()]).err(), Some(ZhatError::NotAModel));
    let mut trusted = closed();
    // SAFETY: a model, and bytes of these lengths.
    unsafe {
        assert_eq!(zhat_open_trusted(&raw mut trusted, MODEL.as_ptr(), MODEL.len()), ZhatError::None);
        assert_eq!(zhat_open_trusted(&raw mut trusted, MODEL.as_ptr(), 16), ZhatError::Truncated);
        assert_eq!(zhat_open(&raw mut trusted, null(), MODEL.len()), ZhatError::Null);
        assert_eq!(zhat_open(null_mut(), MODEL.as_ptr(), MODEL.len()), ZhatError::Null);
    }
}

/// An error of `zhat_open` may be overlooked: the answers must not be those of the model before.
#[test]
#[cfg_attr(miri, ignore = "checks a whole file, which is slow there")]
fn after_a_failed_open_no_model_answers() {
    let query = queries().next().expect("one");
    for open_again in [zhat_open, zhat_open_trusted] {
        for (bytes, len) in [(QUERIES.as_ptr(), QUERIES.len()), (MODEL.as_ptr(), MODEL.len() - 16), (null(), 64)] {
            let mut model = open(MODEL).expect("valid");
            // SAFETY: a model, and bytes of this length, or null.
            let error = unsafe { open_again(&raw mut model, bytes, len) };
            assert_ne!(error, ZhatError::None);
            let (mut memory, mut top): (Memory, _) = ([0; _], [NO_CLASS; TOP]);
            assert_eq!(classify(&model, &query, 0, &mut memory, &mut top).err(), Some(ZhatError::NotOpen));
            // SAFETY: a model.
            assert_eq!(unsafe { zhat_classes(&raw const model) }, 0);
        }
    }
}

/// A row of 64 columns takes 64 bytes in int8, and in 4 bits a word of scales and eight of numbers.
#[cfg(feature = "rows4")]
#[test]
#[cfg_attr(miri, ignore = "large files")]
fn bytes_are_those_of_the_rows_as_they_are_stored() {
    static FOUR: &[u8] = include_model!("../models/next_word4.zhat");
    static EIGHT: &[u8] = include_model!("../models/next_word.zhat");
    for (file, row) in [(FOUR, 36), (EIGHT, 64)] {
        let model = open(file).expect("valid");
        let (mut memory, mut top) = ([0; 1_000], [NO_CLASS; TOP]);
        let result = classify(&model, &[0.5; 64], 0, &mut memory, &mut top).expect("an answer");
        assert_eq!(result.bytes, (result.rows + result.nodes) * row);
    }
}

#[test]
fn a_wrong_call_is_an_error() {
    let (model, mut memory): (_, Memory) = (open(MODEL).expect("valid"), [0; _]);
    let mut top = [NO_CLASS; ZHAT_MAX_TOP + 1];
    let query = queries().next().expect("one");
    let nan = [f32::NAN; D];
    let mut ask = |query: &[f32], cap, words: usize, classes: usize| {
        classify(&model, query, cap, &mut memory[..words], &mut top[..classes]).err()
    };
    let all = scratch_words(N, D, ROOM);
    assert_eq!(ask(&query, 0, all, ZHAT_MAX_TOP), None);
    assert_eq!(ask(&query, 0, all, 0), None);
    assert_eq!(ask(&query, 0, all, ZHAT_MAX_TOP + 1), Some(ZhatError::TopTooLong));
    assert_eq!(ask(&query[1..], 0, all, TOP), Some(ZhatError::QueryLength));
    assert_eq!(ask(&nan, 0, all, TOP), Some(ZhatError::QueryNotFinite));
    assert_eq!(ask(&[3e38; D], 0, all, TOP), Some(ZhatError::QueryTooLarge));
    assert_eq!(ask(&query, 1, all, TOP), Some(ZhatError::Budget));
    // The least memory is enough for an answer; no length reads or writes outside it.
    let least = least_words();
    for words in (0..all).step_by(if cfg!(miri) { 71 } else { 1 }) {
        let expected = if words < least { Some(ZhatError::Scratch) } else { None };
        assert_eq!(ask(&query, 0, words, TOP), expected, "{words}");
    }
    assert_eq!(classify(&closed(), &query, 0, &mut memory, &mut top[..TOP]).err(), Some(ZhatError::NotOpen));
}

/// What Rust says that is enough for an answer, and a query.
fn least_words() -> usize {
    let classifier = Classifier::new(in_rust()).expect("an index");
    let query = QueryBuffer::<D>::new(classifier.model(), &[0.5; D]).expect("a valid query");
    match classifier.classify::<1>(&query, &mut []) {
        Err(Error::ScratchWords(words)) => words as usize + classifier.model().query_words(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_model_without_an_index_is_answered_exactly() {
    let flat = open(FLAT).expect("valid");
    let model = Model::from_bytes(FLAT).expect("valid");
    let values = [0.5, -1.0, 2.0, 0.0, 0.25, 1.0];
    let query = QueryBuffer::<8>::new(&model, &values).expect("a valid query");
    let truth = as_c(&zhat::exact::<TOP>(&model, &query).expect("valid"));
    let mut top = [NO_CLASS; TOP];
    let mut memory = vec![0; model.query_words()];
    let result = classify(&flat, &values, 0, &mut memory, &mut top).expect("an answer");
    assert_eq!((shown(result), top.to_vec()), truth);
    // A cap is a promise: one that all rows do not keep is refused.
    let least = model.classes() as u32;
    assert!(classify(&flat, &values, least, &mut memory, &mut top).is_ok());
    assert_eq!(classify(&flat, &values, least - 1, &mut memory, &mut top).err(), Some(ZhatError::Budget));
}

#[test]
fn queries_in_int8_uint8_and_int16_are_those_of_rust() {
    let (c, mut memory) = (open(MODEL).expect("valid"), [0u32; scratch_words(N, D, ROOM)] as Memory);
    let classifier = Classifier::new(in_rust()).expect("an index");
    let model = classifier.model();
    let bytes: [i8; D] = core::array::from_fn(|i| (i as i8).wrapping_mul(37) ^ 0x35);
    let words: [i16; D] = core::array::from_fn(|i| (i as i16).wrapping_mul(9973) ^ 0x1235);
    let queries = [
        QueryBuffer::<D>::from_i8(model, &bytes, 0.02, -7).expect("a valid query"),
        QueryBuffer::<D>::from_i16(model, &words, 1e-4).expect("a valid query"),
        QueryBuffer::<D>::from_u8(model, &bytes.map(i8::cast_unsigned), 0.02, 130).expect("a valid query"),
    ];
    for (place, query) in queries.iter().enumerate() {
        let mut scratch = Scratch::<{ zhat::scratch_words(N, ROOM) }>::new();
        let truths = [
            as_c(&classifier.classify::<TOP>(query, &mut scratch).expect("memory")),
            as_c(&zhat::exact::<TOP>(model, query).expect("valid")),
        ];
        for (exact, truth) in truths.into_iter().enumerate() {
            let (mut top, mut result) = ([NO_CLASS; TOP], MaybeUninit::uninit());
            let (c, len, room) = (&raw const c, memory.len(), memory.as_mut_ptr());
            let (q8, q16, list, to) = (bytes.as_ptr(), words.as_ptr(), top.as_mut_ptr(), result.as_mut_ptr());
            let qu8 = q8.cast::<u8>();
            // SAFETY: every pointer is one of a reference, with its length.
            let error = unsafe {
                match (place, exact) {
                    (0, 0) => zhat_classify_i8(c, q8, D, 0.02, -7, 0, room, len, list, TOP, to),
                    (0, _) => zhat_exact_i8(c, q8, D, 0.02, -7, room, len, list, TOP, to),
                    (1, 0) => zhat_classify_i16(c, q16, D, 1e-4, 0, room, len, list, TOP, to),
                    (1, _) => zhat_exact_i16(c, q16, D, 1e-4, room, len, list, TOP, to),
                    (_, 0) => zhat_classify_u8(c, qu8, D, 0.02, 130, 0, room, len, list, TOP, to),
                    _ => zhat_exact_u8(c, qu8, D, 0.02, 130, room, len, list, TOP, to),
                }
            };
            assert_eq!(error, ZhatError::None);
            // SAFETY: there was no error.
            assert_eq!((shown(unsafe { result.assume_init() }), top.to_vec()), truth);
        }
    }
}

#[test]
fn a_partition_is_opened_by_what_it_starts_with() {
    let mut partition = Box::new(Aligned([0xff; 1 << 17]));
    let (bytes, len) = (partition.0.as_ptr(), partition.0.len());
    let mut header = ZhatHeader { version: 0, len: 0, build_id: 0 };
    let mut model = closed();
    // SAFETY: a model, a header, and bytes of these lengths.
    unsafe {
        assert_eq!((zhat_file_len(bytes, len), zhat_file_len(null(), 64)), (0, 0));
        assert_eq!(zhat_file_header(bytes, len, &raw mut header), ZhatError::NotAModel);
        assert_eq!(zhat_open_prefix(&raw mut model, bytes, len), ZhatError::NotAModel);
    }
    partition.0[..MODEL.len()].copy_from_slice(MODEL);
    let bytes = partition.0.as_ptr();
    // SAFETY: as above; the partition outlives the model.
    unsafe {
        for len in [ZHAT_FILE_HEADER_LEN, MODEL.len(), len] {
            assert_eq!(zhat_file_len(bytes, len), MODEL.len());
            assert_eq!(zhat_file_header(bytes, len, &raw mut header), ZhatError::None);
        }
        assert_eq!(zhat_file_header(bytes, ZHAT_FILE_HEADER_LEN - 1, &raw mut header), ZhatError::Truncated);
        assert_eq!(zhat_file_header(bytes.wrapping_add(1), 64, &raw mut header), ZhatError::NotAModel);
        assert_eq!(zhat_file_header(null(), 64, &raw mut header), ZhatError::Null);
        assert_eq!(zhat_file_header(bytes, len, null_mut()), ZhatError::Null);
        // A partition that ends before its file does.
        assert_eq!(zhat_open_prefix(&raw mut model, bytes, MODEL.len() - 1), ZhatError::Truncated);
        assert_eq!(zhat_open_prefix_trusted(&raw mut model, bytes, MODEL.len() - 1), ZhatError::Truncated);
        let open = if cfg!(miri) { zhat_open_prefix_trusted } else { zhat_open_prefix };
        assert_eq!(open(&raw mut model, bytes, len), ZhatError::None);
        assert_eq!(zhat_open_prefix_trusted(&raw mut model, bytes, len), ZhatError::None);
    }
    let rust = in_rust();
    assert_eq!((header.version, header.len as usize), (ZHAT_FORMAT_VERSION, rust.len()));
    assert_eq!(header.build_id, rust.build_id());
    let (mut memory, mut top): (Memory, _) = ([0; _], [NO_CLASS; TOP]);
    let query = queries().next().expect("one");
    assert!(classify(&model, &query, 0, &mut memory, &mut top).is_ok());
    let closed = closed();
    // SAFETY: an open model, one of zeros, and null.
    unsafe {
        assert_eq!(zhat_build_id(&raw const model), rust.build_id());
        assert_eq!((zhat_build_id(&raw const closed), zhat_build_id(null())), (0, 0));
    }
    // A version that this library does not read has a header all the same.
    partition.0[8] = 200;
    let bytes = partition.0.as_ptr();
    // SAFETY: as above.
    unsafe {
        assert_eq!(zhat_file_header(bytes, len, &raw mut header), ZhatError::None);
        assert_eq!((header.version, zhat_file_len(bytes, len)), (200, 0));
        assert_eq!(zhat_open_prefix(&raw mut model, bytes, len), ZhatError::Version);
    }
}

#[test]
fn memory_for_another_cap_is_that_of_rust() {
    let (indexed, rust, closed) = (open(MODEL).expect("valid"), in_rust(), closed());
    let budget = rust.settings().expect("an index").budget;
    for cap in [0, 1, budget.cap, 100, 5_000, u32::MAX] {
        // SAFETY: an open model.
        let words = unsafe { zhat_scratch_words_for(&raw const indexed, cap) };
        assert_eq!(words, rust.query_words() + rust.scratch_words_for(&budget.with_cap(cap)));
    }
    // SAFETY: a model of zeros, and null.
    unsafe { assert_eq!((zhat_scratch_words_for(&raw const closed, 9), zhat_scratch_words_for(null(), 9)), (0, 0)) };
}

#[test]
fn the_probability_of_any_class_is_that_of_rust() {
    let (c, mut memory) = (open(MODEL).expect("valid"), [0u32; scratch_words(N, D, ROOM)] as Memory);
    let classifier = Classifier::new(in_rust()).expect("an index");
    let model = classifier.model();
    let mut scratch = Scratch::<{ zhat::scratch_words(N, ROOM) }>::new();
    let ask = |memory: &[u32], result: &ZhatResult, id: u32| {
        let mut p = f32::NAN;
        // SAFETY: every pointer is one of a reference, with its length.
        match unsafe { zhat_probability(&raw const c, memory.as_ptr(), memory.len(), result, id, &raw mut p) } {
            ZhatError::None => Ok(p),
            error => Err(error),
        }
    };
    let mut results = Vec::new();
    for values in queries().take(2) {
        let query = QueryBuffer::<D>::new(model, &values).expect("a valid query");
        let truth = classifier.classify::<TOP>(&query, &mut scratch).expect("memory");
        let result = classify(&c, &values, 0, &mut memory, &mut [NO_CLASS; TOP]).expect("an answer");
        for id in [0, 7, N - 1] {
            let expected = truth.probability(model, &query, id).expect("a class");
            assert_eq!(ask(&memory, &result, id as u32), Ok(expected));
        }
        assert_eq!(ask(&memory, &result, N as u32), Err(ZhatError::NoSuchClass));
        results.push(result);
    }
    // The result of a query that was there before, memory without a query, and too little of it.
    assert_eq!(ask(&memory, &results[0], 0), Err(ZhatError::OtherQuery));
    assert_eq!(ask(&[0; 64], &results[1], 0), Err(ZhatError::OtherQuery));
    assert_eq!(ask(&[u32::MAX; 64], &results[1], 0), Err(ZhatError::OtherQuery));
    assert_eq!(ask(&memory[..3], &results[1], 0), Err(ZhatError::Scratch));
    // Whatever a result holds, nothing is read or computed beyond what there is.
    for word in [0, 1, 1 << 31, u32::MAX] {
        let result = ZhatResult { whole: [word, word, word, results[1].whole[3]], ..results[1] };
        assert!(ask(&memory, &result, 0).is_ok_and(|p| (0.0..=1.0).contains(&p)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "a large file")]
fn names_and_input_scale_are_those_of_the_file() {
    static WORDS: &[u8] = include_model!("../models/next_word.zhat");
    static INT8: &[u8] = include_model!("../models/import/int8_head.zhat");
    let (words, int8, plain) = (open(WORDS).expect("valid"), open(INT8).expect("valid"), open(MODEL).expect("valid"));
    let name = |model: &ZhatModel, id| {
        let (mut text, mut len) = (null(), usize::MAX);
        // SAFETY: a model, and room for the text and its length, which is what the function wrote.
        match unsafe { zhat_name(model, id, &raw mut text, &raw mut len) } {
            ZhatError::None => Ok(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }),
            error => Err(error),
        }
    };
    let names = Model::from_bytes(WORDS).expect("valid").names().expect("words").get(7);
    assert_eq!(name(&words, 7), Ok(names.expect("a word").as_bytes()));
    assert_eq!(name(&words, 8_192), Err(ZhatError::NoSuchClass));
    assert_eq!(name(&words, u32::MAX), Err(ZhatError::NoSuchClass));
    assert_eq!((name(&plain, 0), name(&closed(), 0)), (Err(ZhatError::Absent), Err(ZhatError::NotOpen)));
    let scale = |model: &ZhatModel| {
        let mut input = ZhatInput { scale: 0.0, zero_point: 0 };
        // SAFETY: a model, and room for a scale.
        match unsafe { zhat_input_scale(model, &raw mut input) } {
            ZhatError::None => Ok((input.scale, input.zero_point)),
            error => Err(error),
        }
    };
    let truth = Model::from_bytes(INT8).expect("valid").input_scale().expect("an int8 network");
    assert_eq!(scale(&int8), Ok((truth.scale, truth.zero_point)));
    assert_eq!((scale(&plain), scale(&closed())), (Err(ZhatError::Absent), Err(ZhatError::NotOpen)));
}

#[test]
fn the_version_is_that_of_the_package() {
    let [major, minor, patch] = [16, 8, 0].map(|shift| zhat_version() >> shift & 0xff);
    assert_eq!(format!("{major}.{minor}.{patch}"), env!("CARGO_PKG_VERSION"));
    assert_eq!(zhat_version(), ZHAT_VERSION);
}

#[test]
fn null_and_misaligned_pointers_are_errors() {
    let (model, mut memory): (_, Memory) = (open(MODEL).expect("valid"), [0; _]);
    let (mut top, mut result) = ([NO_CLASS; TOP], MaybeUninit::<ZhatResult>::uninit());
    let query = queries().next().expect("one");
    let (model, query, words) = (&raw const model, query.as_ptr(), memory.as_mut_ptr());
    let (len, top, result) = (memory.len() - 1, top.as_mut_ptr(), result.as_mut_ptr());
    // SAFETY: pointers of references, with their lengths; null; and some that are off by a byte, which are not read.
    unsafe {
        let call = |model, query, words, top, result| zhat_classify(model, query, D, 0, words, len, top, TOP, result);
        assert_eq!(call(model, query, words, top, result), ZhatError::None);
        assert_eq!(call(null(), query, words, top, result), ZhatError::Null);
        assert_eq!(call(model, null(), words, top, result), ZhatError::Null);
        assert_eq!(call(model, query, null_mut(), top, result), ZhatError::Null);
        assert_eq!(call(model, query, words, null_mut(), result), ZhatError::Null);
        assert_eq!(call(model, query, words, top, null_mut()), ZhatError::Null);
        assert_eq!(call(model.wrapping_byte_add(1), query, words, top, result), ZhatError::Misaligned);
        assert_eq!(call(model, query.wrapping_byte_add(1), words, top, result), ZhatError::Misaligned);
        assert_eq!(call(model, query, words.wrapping_byte_add(1), top, result), ZhatError::Misaligned);
        assert_eq!(call(model, query, words, top.wrapping_byte_add(1), result), ZhatError::Misaligned);
        assert_eq!(call(model, query, words, top, result.wrapping_byte_add(1)), ZhatError::Misaligned);
    }
}

#[test]
fn every_error_has_a_text() {
    let text = |error| {
        // SAFETY: text that ends with a zero.
        unsafe { CStr::from_ptr(zhat_error_text(error)) }.to_str().expect("text")
    };
    let texts: std::collections::BTreeSet<_> = (0..=ZhatError::OtherQuery as i32).map(text).collect();
    assert_eq!(texts.len(), ZhatError::OtherQuery as usize + 1, "no two are the same");
    assert_eq!((text(0), text(-7), text(99)), ("no error", "other error", "other error"));
}

/// What the program in examples/c prints, from the answers of Rust.
#[test]
#[cfg_attr(miri, ignore = "the same calls as above")]
#[cfg_attr(feature = "micromath", ignore = "its intervals have other digits")]
fn the_c_example_prints_the_answers_of_rust() {
    let classifier = Classifier::new(in_rust()).expect("an index");
    let mut scratch = Scratch::<{ zhat::scratch_words(N, ROOM) }>::new();
    let mut printed = String::new();
    for (i, values) in queries().enumerate() {
        let query = QueryBuffer::<D>::new(classifier.model(), &values).expect("a valid query");
        let (exact, _) = as_c(&zhat::exact::<TOP>(classifier.model(), &query).expect("valid"));
        let (result, top) = as_c(&classifier.classify::<TOP>(&query, &mut scratch).expect("memory"));
        let (bits, exact) = (result.log_z.to_bits(), exact.log_z.to_bits());
        let ZhatResult { rows, nodes, .. } = result;
        printed += &format!("query {i}: ln Z {bits:08x}, exact {exact:08x}, {rows} rows, {nodes} nodes\n");
        for ZhatClass { id, p, lower, upper } in top {
            let [p_in_10000, lower, upper] = [p, lower, upper].map(|x| (x * 10_000.0) as u32);
            let bits = p.to_bits();
            printed += &format!("  class {id}: p {p_in_10000} in 10000, {lower} to {upper}, bits {bits:08x}\n");
        }
        let answer = classifier.classify::<TOP>(&query, &mut scratch).expect("memory");
        let p = answer.probability(classifier.model(), &query, 123).expect("a class");
        printed += &format!("  class 123: bits {:08x}\n", p.to_bits());
    }
    assert_eq!(printed, include_str!("../examples/c/main.out"), "{printed}");
}

/// `cargo test --features std,capi --test capi -- --ignored` writes them again.
#[cfg(feature = "std")]
#[test]
#[ignore = "writes the model of these tests and of the C example"]
fn write_the_model() {
    use zhat::host::build::{Targets, build};
    use zhat::host::{Kind, Layer};

    let layer = Layer::generate(N, D, 7);
    let calibration = layer.queries(Kind::LanguageModel, 600, 8);
    let targets = Targets { work: 0.1, cap: 0.1, ..Targets::default() };
    let built = build(&layer.weights, &layer.biases, Some(&calibration), &targets, &mut |_| ()).expect("built");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    std::fs::write(format!("{folder}/indexed.zhat"), &*built.model).expect("written");
    let queries: Vec<u8> =
        layer.queries(Kind::LanguageModel, 3, 9).data().iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(format!("{folder}/indexed-queries.bin"), queries).expect("written");
}
