//! See `fuzz::targets::tf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::tf::run(data));
