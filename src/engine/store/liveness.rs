//! Whether the process that holds a lock or runs a deploy still exists.

use crate::engine::event::LockHolder;
use crate::engine::plugin::ProcessIdentity;
use crate::engine::plugin::record::UnixMs;

/// Milliseconds since the Unix epoch, now.
pub(super) fn now_ms() -> UnixMs {
    crate::engine::bus::now_ms()
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// This process as a holder, for `reason`.
pub fn this_process(reason: &str) -> LockHolder {
    let pid = std::process::id();
    // Without `/proc` there is the pid alone: start time 0 says so.
    let own = ProcessIdentity::own().unwrap_or(ProcessIdentity { pid, start_time: 0, boot_id: String::new() });
    LockHolder {
        who: user(),
        host: host(),
        pid,
        start_time: own.start_time,
        boot_id: own.boot_id,
        since: now_ms(),
        reason: reason.to_owned(),
    }
}

/// Whether the holder still runs. One on another host cannot be asked and counts as alive.
pub fn is_alive(holder: &LockHolder) -> bool {
    if holder.host != host() {
        return true;
    }
    if holder.start_time == 0 && holder.boot_id.is_empty() {
        return rustix::process::Pid::from_raw(i32::try_from(holder.pid).unwrap_or(0))
            .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    ProcessIdentity { pid: holder.pid, start_time: holder.start_time, boot_id: holder.boot_id.clone() }.is_running()
}
