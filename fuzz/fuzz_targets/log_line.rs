//! See `fuzz::targets::log_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::log_line::run(data));
