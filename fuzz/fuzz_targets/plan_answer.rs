//! See `fuzz::targets::plan_answer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::plan_answer::run(data));
