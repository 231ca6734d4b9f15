//! Calls the functions for C with arbitrary bytes as a model, and arbitrary lengths and caps: they must return an error
//! or an answer, and write only to the caller's memory.
//!
//! The first eight bytes are the numbers of the call, the rest is the model.
#![no_main]

use std::mem::MaybeUninit;

use libfuzzer_sys::fuzz_target;
use zhat::capi::*;
use zhat_fuzz::Aligned;

/// The value after the caller's memory, which no call may change.
const GUARD: u32 = 0xdead_beef;
const LONGEST_QUERY: usize = 80;
const MOST_WORDS: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let Some((numbers, bytes)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    let file = Aligned::model(bytes);
    // At any offset: a file that is not aligned must be refused.
    let start = usize::from(numbers[0] >> 6).min(file.bytes().len());
    let bytes = &file.bytes()[start..];
    look_at(bytes);
    for open in [zhat_open, zhat_open_trusted, zhat_open_prefix, zhat_open_prefix_trusted] {
        // Zeros, the state of a model in C before it is opened.
        let mut model = MaybeUninit::<ZhatModel>::zeroed();
        // SAFETY: the pointers are to what they say, and the file outlives the model.
        let opened = unsafe { open(model.as_mut_ptr(), bytes.as_ptr(), bytes.len()) };
        // SAFETY: opened, or zeros.
        let classes = unsafe { zhat_classes(model.as_ptr()) };
        assert_eq!(opened == ZhatError::None, classes > 0);
        call(model.as_ptr(), numbers);
        ask(model.as_ptr(), numbers[0].into());
    }
});

/// Reads the first bytes, as far as there are any.
fn look_at(bytes: &[u8]) {
    for len in [0, 7, ZHAT_FILE_HEADER_LEN - 1, ZHAT_FILE_HEADER_LEN, bytes.len()] {
        let len = len.min(bytes.len());
        let mut header = MaybeUninit::<ZhatHeader>::uninit();
        // SAFETY: the pointers are to what they say.
        let (error, file) =
            unsafe { (zhat_file_header(bytes.as_ptr(), len, header.as_mut_ptr()), zhat_file_len(bytes.as_ptr(), len)) };
        assert!(error == ZhatError::None || file == 0);
        if error == ZhatError::None {
            // SAFETY: written by a call that succeeded.
            let header = unsafe { header.assume_init() };
            assert!(file == 0 || (header.version, header.len as usize) == (ZHAT_FORMAT_VERSION, file));
        }
    }
}

/// Calls the functions that read a model's properties.
fn ask(model: *const ZhatModel, id: u32) {
    let mut input = MaybeUninit::<ZhatInput>::uninit();
    let (mut name, mut len) = (std::ptr::null(), 0);
    // SAFETY: opened, or zeros, and room for what is written.
    unsafe {
        let _ = (zhat_build_id(model), zhat_least_cap(model));
        for cap in [0, 1, id, u32::MAX] {
            let words = zhat_scratch_words_for(model, cap);
            assert!(words > 0 || zhat_classes(model) == 0);
        }
        if zhat_input_scale(model, input.as_mut_ptr()) == ZhatError::None {
            assert!(input.assume_init().scale > 0.0);
        }
        for id in [0, id, u32::MAX] {
            if zhat_name(model, id, &raw mut name, &raw mut len) == ZhatError::None {
                let name = std::slice::from_raw_parts(name.cast::<u8>(), len);
                assert!(std::str::from_utf8(name).is_ok() && (id as usize) < zhat_classes(model));
            }
        }
    }
}

fn call(model: *const ZhatModel, numbers: &[u8; 8]) {
    let [first, query, words, top, cap_low, cap_high, kind, scale] = *numbers;
    // SAFETY: opened, or zeros.
    let (dim, needed) = unsafe { (zhat_dim(model), zhat_scratch_words(model)) };
    // Mostly the right lengths: wrong ones are refused at once.
    let query_len = if query < 200 { dim } else { usize::from(query) - 200 }.min(LONGEST_QUERY);
    let scratch_len = if words < 128 { needed.saturating_add(words.into()) } else { usize::from(words) - 128 };
    let scratch_len = scratch_len.min(MOST_WORDS);
    let top_len = usize::from(top % 20);
    let cap = u32::from(u16::from_le_bytes([cap_low, cap_high]));
    let factor = if scale == 255 { f32::NAN } else { f32::from(scale) * 0.01 };
    let values: Vec<f32> = (0..query_len).map(|i| ((i + usize::from(first)) as f32).sin() * factor).collect();
    let bytes: Vec<u8> = values.iter().map(|value| (value * 128.0) as i32 as u8).collect();
    let shorts: Vec<i16> = values.iter().map(|value| (value * 20_000.0) as i16).collect();
    let mut scratch = [GUARD; MOST_WORDS + 1];
    let mut classes = [MaybeUninit::<ZhatClass>::uninit(); ZHAT_MAX_TOP + 4];
    let mut result = MaybeUninit::<ZhatResult>::uninit();
    // SAFETY: the pointers are to so much memory as the lengths say.
    let error = unsafe {
        let (top, result) = (classes.as_mut_ptr().cast::<ZhatClass>(), result.as_mut_ptr());
        let (query, words, len) = (values.as_ptr(), scratch.as_mut_ptr(), query_len);
        let (u8s, i8s, i16s) = (bytes.as_ptr(), bytes.as_ptr().cast(), shorts.as_ptr());
        match kind % 8 {
            0 => zhat_classify(model, query, len, cap, words, scratch_len, top, top_len, result),
            1 => zhat_exact(model, query, len, words, scratch_len, top, top_len, result),
            2 => zhat_exact_u8(model, u8s, len, factor, first, words, scratch_len, top, top_len, result),
            3 => zhat_exact_i8(model, i8s, len, factor, first as i8, words, scratch_len, top, top_len, result),
            4 => zhat_exact_i16(model, i16s, len, factor, words, scratch_len, top, top_len, result),
            5 => zhat_classify_u8(model, u8s, len, factor, first, cap, words, scratch_len, top, top_len, result),
            6 => zhat_classify_i8(model, i8s, len, factor, first as i8, cap, words, scratch_len, top, top_len, result),
            _ => zhat_classify_i16(model, i16s, len, factor, cap, words, scratch_len, top, top_len, result),
        }
    };
    assert!(scratch[scratch_len..].iter().all(|&word| word == GUARD), "written after the scratch memory");
    // SAFETY: a static text.
    let _ = unsafe { std::ffi::CStr::from_ptr(zhat_error_text(error as i32)) };
    if error == ZhatError::None {
        // SAFETY: written by a call that succeeded.
        let result = unsafe { result.assume_init() };
        assert!(result.top_len as usize <= top_len);
        for class in &classes[..result.top_len as usize] {
            // SAFETY: written, as the result says.
            let class = unsafe { class.assume_init() };
            // SAFETY: opened.
            assert!((0.0..=1.0).contains(&class.p) && (class.id as usize) < unsafe { zhat_classes(model) });
        }
        for id in [0, first.into(), u32::MAX] {
            let mut p = f32::NAN;
            // SAFETY: what the call was given and what it wrote.
            let error =
                unsafe { zhat_probability(model, scratch.as_ptr(), scratch_len, &raw const result, id, &raw mut p) };
            assert!(error != ZhatError::None || (0.0..=1.0).contains(&p));
        }
    }
}
