//! See `fuzz::targets::handshake`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::handshake::run(data));
