//! Reads arbitrary bytes as a .csv file: an error or values, nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zhat_fuzz::read("csv", bytes));
