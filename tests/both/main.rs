//! Tests of one provider's code over both dialects: the same scenarios with the bundled providers,
//! once over protocol 6 and once as Bluelink plugins, through the real binary.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bench;
mod lab;
mod local;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "a shared module, of which these tests use a part")]
mod support;
mod trouble;
