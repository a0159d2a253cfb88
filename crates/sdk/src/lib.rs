//! Write a provider in Rust: the server side of provider protocol 6.
