//! See `fuzz::targets::msgpack`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::msgpack::run(data));
