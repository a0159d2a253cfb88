//! Processes of this machine as lock owners: describes this process, and checks by pid, start time
//! and boot id whether a recorded one may still run.

use super::LivenessCheck;
use crate::process::ProcessIdentity;
use crate::visible::one_line;
use crate::{LockHolder, now_ms};

/// Maximum length of a user name, in characters.
const MAX_NAME: usize = 64;

fn host() -> String {
    one_line(&rustix::system::uname().nodename().to_string_lossy()).into_owned()
}

fn user() -> String {
    // Users can set these variables to any text, and the history stores it, so it is escaped and
    // shortened.
    ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .map(|name| one_line(&name).chars().take(MAX_NAME).collect())
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// Returns the pid namespace of this process, `pid:[4026531836]`; empty without `/proc`.
fn pid_namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid")
        .map(|p| p.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns this process as a lock owner, with the reason of its lock.
pub fn this_process(reason: &str) -> LockHolder {
    let pid = std::process::id();
    // Without `/proc` only the pid is known; a start time of 0 marks that.
    let own = ProcessIdentity::current().unwrap_or(ProcessIdentity {
        pid,
        start_time: 0,
        boot_id: String::new(),
    });
    LockHolder {
        who: user(),
        host: host(),
        pid,
        start_time: own.start_time,
        boot_id: own.boot_id,
        pid_namespace: pid_namespace(),
        leased: false,
        since: now_ms(),
        reason: reason.to_owned(),
    }
}

/// Checks lock owners by the pid of their process.
pub struct ProcessCheck;

impl LivenessCheck for ProcessCheck {
    fn is_alive(&self, holder: &LockHolder) -> bool {
        may_run(holder)
    }
}

/// Returns true if the process runs, or if that cannot be determined.
fn may_run(holder: &LockHolder) -> bool {
    // Processes of other machines cannot be checked, so they count as running.
    if holder.host != host() {
        return true;
    }
    let (own, here) = (ProcessIdentity::current(), pid_namespace());
    // A pid of another namespace cannot be looked up here, and without `/proc` none can. Records of
    // earlier versions have no namespace.
    let comparable =
        own.is_some() && (holder.pid_namespace.is_empty() || holder.pid_namespace == here);
    if holder.boot_id.is_empty()
        || (holder.leased && own.as_ref().is_some_and(|o| o.boot_id != holder.boot_id))
    {
        // Two machines may have the same name and share a directory, so only a process of this very
        // boot can be checked.
        return true;
    }
    !comparable
        || ProcessIdentity {
            pid: holder.pid,
            start_time: holder.start_time,
            boot_id: holder.boot_id.clone(),
        }
        .is_running()
}
