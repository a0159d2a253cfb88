//! Lock owners and runners of deploys, and the check whether their process still exists. This
//! machine's processes are checked by pid, start time and boot; a lease by its file lock. An owner
//! that cannot be checked counts as alive.

pub mod lease;
mod machine;

pub use machine::{ProcessCheck, this_process};

use crate::LockHolder;

/// Checks whether lock owners are alive.
pub trait LivenessCheck {
    /// Is the owner running, or can it not be checked?
    fn is_alive(&self, holder: &LockHolder) -> bool;
}
