//! A process group that ends with whoever owns it: a child of ours and all that it has started.

use rustix::process::{Pid, Signal, kill_process_group};

/// Kills the group when it is dropped, unless it was let go.
pub(in crate::engine) struct Group(Option<Pid>);

impl Group {
    /// The group that a child leads.
    pub(in crate::engine) fn of(pid: Option<u32>) -> Self {
        Self(pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)))
    }

    pub(in crate::engine) fn kill(&self) {
        if let Some(group) = self.0 {
            // Refused only when nobody of the group is left.
            kill_process_group(group, Signal::KILL).ok();
        }
    }

    /// What is left of it goes on.
    pub(in crate::engine) fn let_go(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
