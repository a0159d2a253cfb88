//! Process group of a child process and its descendants, which is killed with its owner.

use rustix::process::{Pid, Signal, kill_process_group};

/// Kills the process group when dropped, unless it was released.
pub struct Group(Option<Pid>);

impl Group {
    /// Returns the group whose leader has this pid.
    pub fn of(pid: Option<u32>) -> Self {
        Self(pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)))
    }

    pub fn kill(&self) {
        if let Some(group) = self.0 {
            // Fails only if the group has no process left.
            kill_process_group(group, Signal::KILL).ok();
        }
    }

    /// Releases the group: its processes continue after the drop.
    pub fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
