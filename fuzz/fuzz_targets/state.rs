//! See `fuzz::targets::state`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::state::run(data));
