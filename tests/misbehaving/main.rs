//! What a plugin can do wrong, row by row, through the program itself: each row is a run of
//! flightdeck on a workspace that needs one fake (see `fake/`) and the bundled lab. Whatever the
//! fake does, the words say what, where, why and what to do, flightdeck's memory stays small, the
//! lab serves, and no process is left.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod answers;
mod applies;
mod bench;
mod busy;
mod calls;
mod failing;
mod lives;
mod starts;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod support;
mod traces;
