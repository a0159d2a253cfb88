//! Whether the process that holds a lock or runs a deploy still exists. A process is its pid and its start time (field
//! 22 of `/proc/PID/stat`) and the boot it belongs to, so that a recycled pid is never taken for it.

use crate::engine::event::LockHolder;
use crate::engine::plugin::record::UnixMs;
use std::sync::OnceLock;

/// Milliseconds since the Unix epoch, now.
pub(super) fn now_ms() -> UnixMs {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok().and_then(|d| UnixMs::try_from(d.as_millis()).ok()).unwrap_or(0)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned())
}

/// Start time in clock ticks since boot; `None` where there is no such process, or only its remains.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold anything, so count from the last parenthesis.
    let mut rest = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    if matches!(rest.next()?, "Z" | "X") {
        return None;
    }
    rest.nth(18)?.parse().ok()
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
    LockHolder {
        who: user(),
        host: host(),
        pid,
        start_time: start_time(pid).unwrap_or(0),
        boot_id: boot_id().to_owned(),
        since: now_ms(),
        reason: reason.to_owned(),
    }
}

/// Whether the holder still runs. One on another host cannot be asked and counts as alive.
pub fn is_alive(holder: &LockHolder) -> bool {
    if holder.host != host() {
        return true;
    }
    // Where the system tells no boot id or start time (not Linux), the pid alone has to do.
    if holder.boot_id != boot_id() {
        return false;
    }
    if holder.start_time == 0 {
        return rustix::process::Pid::from_raw(i32::try_from(holder.pid).unwrap_or(0))
            .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    start_time(holder.pid) == Some(holder.start_time)
}
