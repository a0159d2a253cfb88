//! See `fuzz::targets::tf_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::tf_json::run(data));
