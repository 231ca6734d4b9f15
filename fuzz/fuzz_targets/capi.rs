//! The functions for C, with arbitrary bytes as a model, arbitrary lengths and caps: an error or an answer, and nothing
//! written outside of what the caller has.
//!
//! The first eight bytes are the numbers of the call, the rest is the model.
#![no_main]

use std::mem::MaybeUninit;

use libfuzzer_sys::fuzz_target;
use zhat::capi::*;
use zhat_fuzz::Aligned;

/// What follows the memory that is handed over.
const GUARD: u32 = 0xdead_beef;
const LONGEST_QUERY: usize = 80;
const MOST_WORDS: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let Some((numbers, bytes)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    let file = Aligned::model(bytes);
    // Anywhere in the words: a file need not be aligned to be refused.
    let start = usize::from(numbers[0] >> 6).min(file.bytes().len());
    let bytes = &file.bytes()[start..];
    for open in [zhat_open, zhat_open_trusted] {
        // Zeros, as C has them before a model is opened.
        let mut model = MaybeUninit::<ZhatModel>::zeroed();
        // SAFETY: the pointers are to what they say, and the file outlives the model.
        let opened = unsafe { open(model.as_mut_ptr(), bytes.as_ptr(), bytes.len()) };
        // SAFETY: opened, or zeros.
        let classes = unsafe { zhat_classes(model.as_ptr()) };
        assert_eq!(opened == ZhatError::None, classes > 0);
        call(model.as_ptr(), numbers);
    }
});

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
    let mut scratch = [GUARD; MOST_WORDS + 1];
    let mut classes = [MaybeUninit::<ZhatClass>::uninit(); ZHAT_MAX_TOP + 4];
    let mut result = MaybeUninit::<ZhatResult>::uninit();
    // SAFETY: the pointers are to so much memory as the lengths say.
    let error = unsafe {
        let (top, result) = (classes.as_mut_ptr().cast::<ZhatClass>(), result.as_mut_ptr());
        if kind % 2 == 0 {
            zhat_classify(
                model,
                values.as_ptr(),
                query_len,
                cap,
                scratch.as_mut_ptr(),
                scratch_len,
                top,
                top_len,
                result,
            )
        } else {
            zhat_exact(model, values.as_ptr(), query_len, scratch.as_mut_ptr(), scratch_len, top, top_len, result)
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
            assert!((0.0..=1.0).contains(&unsafe { class.assume_init() }.p));
        }
    }
}
