//! Processes of this machine as holders: who this one is, and whether one that is on record may
//! still run, by its number, its start time and its boot.

use super::Judge;
use crate::engine::process::ProcessIdentity;
use crate::engine::visible::one_line;
use crate::engine::words::{LockHolder, now_ms};

/// Characters that are kept of a name.
const LONGEST_NAME: usize = 64;

fn host() -> String {
    one_line(&rustix::system::uname().nodename().to_string_lossy()).into_owned()
}

fn user() -> String {
    // Anybody can set them to anything, and they stand in the history for good.
    ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .map(|name| one_line(&name).chars().take(LONGEST_NAME).collect())
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// The namespace in which our pids are numbers, `pid:[4026531836]`; empty where there is no
/// `/proc`.
fn pid_namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid")
        .map(|p| p.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// This process as a holder, for `reason`.
pub fn this_process(reason: &str) -> LockHolder {
    let pid = std::process::id();
    // Without `/proc` there is the pid alone: start time 0 says so.
    let own = ProcessIdentity::own().unwrap_or(ProcessIdentity {
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

/// By the number of the process: what this machine can say of its own.
pub struct ByNumber;

impl Judge for ByNumber {
    fn is_alive(&self, holder: &LockHolder) -> bool {
        may_run(holder)
    }
}

/// Whether the process may still run, by its number.
fn may_run(holder: &LockHolder) -> bool {
    if holder.host != host() {
        return true;
    }
    let (own, here) = (ProcessIdentity::own(), pid_namespace());
    // A number of another namespace means nothing here; without `/proc` nobody's does. What an
    // earlier version wrote has none.
    let comparable =
        own.is_some() && (holder.pid_namespace.is_empty() || holder.pid_namespace == here);
    if holder.boot_id.is_empty()
        || (holder.leased && own.as_ref().is_some_and(|o| o.boot_id != holder.boot_id))
    {
        // Two machines may share a name and a directory; only one that is known to have been this
        // boot can be asked.
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
