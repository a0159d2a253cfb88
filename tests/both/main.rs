//! One provider's code over both dialects: the same stories with the bundled providers, once as
//! providers of protocol 6 and once as Bluelink plugins, through the real binary.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod bench;
mod lab;
mod local;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "what these tests do not need of it")]
mod support;
mod trouble;
