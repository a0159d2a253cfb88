//! Tests of Bluelink plugins through the real binary: search, launch, registration, stage and
//! deploy. The fake plugin (`plugin/`) behaves like plugins built with the official framework.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bench;
mod deregistered;
mod discovery;
mod drift;
mod failing;
mod functions;
mod gate;
mod installed;
mod killed;
mod launches;
mod links;
mod links_failing;
mod links_moved;
mod links_refused;
mod live;
mod locks;
mod renewals;
mod shipped;
mod stability;
mod stories;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "a shared module, of which these tests use a part")]
mod support;
mod transformers;
mod transformers_live;
