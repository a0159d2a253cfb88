//! Who holds a lock or runs a deploy, and whether that process still exists. A holder is judged by
//! who can: this machine by number, start time and boot, a lease by whoever gave it. Who cannot be
//! judged is alive.

pub(in crate::engine) mod lease;
mod machine;

pub use machine::{ByNumber, this_process};

use super::words::LockHolder;

/// Who can tell whether a holder is alive.
pub trait Judge {
    /// Whether it still runs, or cannot be asked.
    fn is_alive(&self, holder: &LockHolder) -> bool;
}
