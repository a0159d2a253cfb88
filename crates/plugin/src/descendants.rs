//! Finds and kills descendants of plugins that left their process group, such as daemons
//! (`setsid`). Each launch marks its processes with an environment variable, which all descendants
//! inherit. Marked processes are killed when the plugin has ended, and by a watcher process if
//! flightdeck itself was killed. A process that clears its environment is not recognized.

use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Environment variable with the mark.
pub(super) const VARIABLE: &str = "FLIGHTDECK_LAUNCH";
/// First argument of the watcher's command line.
pub const ARGUMENT: &str = "__watch";
/// Maximum number of searches: a process may fork while it is being killed.
const SEARCHES: u32 = 8;
/// Pause between two searches, in which killed processes disappear.
const SEARCH_PAUSE: Duration = Duration::from_millis(2);
/// Maximum size of an environment to read, in bytes; the kernel allows less.
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// Mark of one launch: the mark of this flightdeck process, a dot and a number.
#[derive(Debug, Clone)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self(format!(
            "{}.{}.",
            own_mark(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ))
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Kills all processes with this mark. Blocks for some milliseconds.
    pub(super) fn kill(&self) {
        kill_all(&self.0);
    }
}

/// Returns the mark of this flightdeck process, the prefix of all its launches' marks.
fn own_mark() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| uuid::Uuid::new_v4().simple().to_string())
}

fn kill_all(beginning: &str) {
    let wanted = format!("{VARIABLE}={beginning}");
    // Repeated until nothing is found, because a process may fork before it is killed.
    for search in 0..SEARCHES {
        if search > 0 {
            std::thread::sleep(SEARCH_PAUSE);
        }
        if !kill_found(wanted.as_bytes()) {
            return;
        }
    }
}

/// Kills the matching processes once; returns true if there were any.
fn kill_found(wanted: &[u8]) -> bool {
    let own_pid = i32::try_from(std::process::id()).ok();
    let pids = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = false;
    for pid in pids.filter(|pid| Some(*pid) != own_pid) {
        // Opened before the check, so that a reused pid cannot receive the signal.
        let Some(process) =
            Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        else {
            continue;
        };
        if has_mark(pid, wanted) {
            found |= pidfd_send_signal(&process, Signal::KILL).is_ok();
        }
    }
    found
}

/// Returns true if an entry of a process's environment has this prefix. The environment of an ended
/// process is empty.
fn has_mark(pid: i32, wanted: &[u8]) -> bool {
    let Ok(file) = File::open(format!("/proc/{pid}/environ")) else {
        return false;
    };
    // Root may read the environment of every process; other users' processes fail the check.
    let is_own = |file: &File| file.metadata().is_ok_and(|m| m.uid() == geteuid().as_raw());
    if !geteuid().is_root() && !is_own(&file) {
        return false;
    }
    let mut environment = Vec::new();
    let read = file.take(MAX_ENVIRONMENT).read_to_end(&mut environment);
    read.is_ok()
        && environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(wanted))
}

static OFFERED: OnceLock<()> = OnceLock::new();

/// Declares that this program runs [`main`] when called with [`ARGUMENT`].
pub fn register() {
    OFFERED.get_or_init(|| ());
}

/// Starts the watcher of this flightdeck process. It acts when the returned pipe is closed, by a
/// drop or by the end of this process. Returns `None` if [`offer`] was not called or the start
/// failed; plugins themselves still end with flightdeck.
pub(super) fn start_watcher() -> Option<ChildStdin> {
    OFFERED.get()?;
    // The watcher gets no environment, which may have secrets, and its own process group, which
    // terminal signals do not reach.
    let started = Command::new("/proc/self/exe")
        .args([ARGUMENT, own_mark()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(mut watcher) => watcher.stdin.take(),
        Err(error) => {
            tracing::warn!(%error, "processes left behind by plugins are not killed if flightdeck is killed");
            None
        }
    }
}

/// Waits for the end of standard input, then kills all processes with the mark in the arguments.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some(mark) = words.first().and_then(|word| word.to_str()) else {
        return ExitCode::FAILURE;
    };
    let mut nothing = [0; 64];
    while matches!(std::io::stdin().lock().read(&mut nothing), Ok(1..)) {}
    // The marks of all launches begin with this mark and a dot.
    kill_all(&format!("{mark}."));
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(mark: &Mark) -> std::process::Child {
        Command::new("setsid")
            .args(["sleep", "3600"])
            .env(VARIABLE, mark.value())
            .spawn()
            .expect("started")
    }

    #[test]
    fn kill_ends_only_processes_of_the_marked_launch() {
        let (mark, other) = (Mark::new(), Mark::new());
        let (mut one, mut others) = (marked(&mark), marked(&other));
        // Between fork and exec the child still has the environment of its parent.
        let status = loop {
            mark.kill();
            if let Some(status) = one.try_wait().expect("a child") {
                break status;
            }
        };
        assert!(!status.success());
        assert_eq!(others.try_wait().expect("a child"), None);
        other.kill();
        assert!(!others.wait().expect("a child").success());
    }
}
