//! See `fuzz::targets::plan_rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::plan_rules::run(data));
