//! Reads arbitrary bytes as a .json file: an error or values, nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zhat_fuzz::read("json", bytes));
