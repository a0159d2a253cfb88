//! Finds and kills descendants of plugins that left their process group, such as daemons
//! (`setsid`). Each launch marks its processes with an environment variable, which all descendants
//! inherit. Marked processes are killed when the plugin has ended, and by a watcher process if
//! flightdeck itself was killed. A process that clears its environment is not recognized.

use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Environment variable with the mark.
pub(super) const VARIABLE: &str = "FLIGHTDECK_LAUNCH";
/// First argument of the watcher's command line.
pub const ARGUMENT: &str = "__watch";
/// Maximum number of searches: a process may fork while it is being killed.
const SEARCHES: u32 = 8;
/// First pause between two searches, in which killed processes disappear. Each later pause is twice
/// as long, a quarter of a second in total.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// Longest wait for a process whose program was being started in the last search. On a busy machine
/// it may not run for that long.
const STARTING_LIMIT: Duration = Duration::from_secs(5);
/// Pause between two searches in this time.
const STARTING_PAUSE: Duration = Duration::from_millis(20);
/// Size of the buffer for an environment, in bytes. It is doubled for a larger environment.
const FIRST_ENVIRONMENT: usize = 128 << 10;
/// Maximum size of an environment to read, in bytes; the kernel allows less.
const MAX_ENVIRONMENT: usize = 8 << 20;

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

    /// Kills all processes with this mark. Blocks for some milliseconds, and for at most a quarter
    /// of a second unless a program is being started for longer.
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
    let mut pause = FIRST_PAUSE;
    for _ in 1..SEARCHES {
        let found = kill_found(wanted.as_bytes());
        if !found.killed && found.starting.is_empty() {
            return;
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
    let mut starting = kill_found(wanted.as_bytes()).starting;
    let end = Instant::now() + STARTING_LIMIT;
    // Only the same processes: others are started all the time on a busy machine.
    while !starting.is_empty() && Instant::now() < end {
        std::thread::sleep(STARTING_PAUSE);
        let still = kill_found(wanted.as_bytes()).starting;
        starting.retain(|pid| still.contains(pid));
    }
}

/// Result of a search.
#[derive(Default)]
struct Found {
    /// True if a process was killed.
    killed: bool,
    /// Processes in the middle of `exec`, which have no environment yet.
    starting: BTreeSet<i32>,
}

/// Kills the matching processes once.
fn kill_found(wanted: &[u8]) -> Found {
    let own_pid = i32::try_from(std::process::id()).ok();
    let pids = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = Found::default();
    for pid in pids.filter(|pid| Some(*pid) != own_pid) {
        // Opened before the check, so that a reused pid cannot receive the signal.
        let Some(process) =
            Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        else {
            continue;
        };
        let Some(environment) = environment(pid) else {
            continue;
        };
        if !environment.is_empty() {
            found.killed |=
                has_mark(&environment, wanted) && pidfd_send_signal(&process, Signal::KILL).is_ok();
        } else if model::process::is_starting_program(pid.cast_unsigned()) {
            // A plugin can end before the program that it started has its environment: `vfork`
            // returns in the middle of `exec`.
            found.starting.insert(pid);
        }
    }
    found
}

/// Reads the environment of a process of this user, or as root of any user. The environment of an
/// ended process is empty.
fn environment(pid: i32) -> Option<Vec<u8>> {
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    // Root may read the environment of every process; other users' processes fail the check.
    let is_own = |file: &File| file.metadata().is_ok_and(|m| m.uid() == geteuid().as_raw());
    if !geteuid().is_root() && !is_own(&file) {
        return None;
    }
    // One call reads the memory of one program. A second call finds nothing if the process has
    // replaced its program in the meantime, and the beginning alone may lack the mark.
    let mut environment = vec![0; FIRST_ENVIRONMENT];
    loop {
        let length = file.read_at(&mut environment, 0).ok()?;
        if length < environment.len() || length >= MAX_ENVIRONMENT {
            environment.truncate(length);
            return Some(environment);
        }
        environment.resize(2 * length, 0);
    }
}

/// Returns true if an entry of an environment has this prefix.
fn has_mark(environment: &[u8], wanted: &[u8]) -> bool {
    environment
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

    /// Starts a process with the mark, which may be in the middle of `exec`.
    fn marked(mark: &Mark) -> std::process::Child {
        let child = Command::new("setsid")
            .args(["sleep", "3600"])
            .env(VARIABLE, mark.value())
            .spawn()
            .expect("started");
        // `vfork` returns while the child still has the memory of this process, which is not marked
        // as a plugin is.
        let pid = |id: u32| i32::try_from(id).expect("a pid");
        let own = environment(pid(std::process::id()));
        let end = Instant::now() + STARTING_LIMIT;
        let is_ours = |found: Option<Vec<u8>>| found.is_none() || found == own;
        while is_ours(environment(pid(child.id()))) && Instant::now() < end {
            std::thread::yield_now();
        }
        child
    }

    /// Fails if the process does not end soon, and leaves no process behind.
    #[track_caller]
    fn assert_killed(mut child: std::process::Child) {
        for _ in 0..1_000 {
            if let Some(status) = child.try_wait().expect("a child") {
                assert!(!status.success());
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("killed");
        child.wait().expect("a child");
        panic!("the process was not killed");
    }

    #[test]
    fn kill_finds_processes_that_are_just_being_started() {
        for _ in 0..100 {
            let mark = Mark::new();
            let child = marked(&mark);
            mark.kill();
            assert_killed(child);
        }
    }

    #[test]
    fn kill_ends_only_processes_of_the_marked_launch() {
        let (mark, other) = (Mark::new(), Mark::new());
        let (one, mut others) = (marked(&mark), marked(&other));
        mark.kill();
        assert_killed(one);
        assert_eq!(others.try_wait().expect("a child"), None);
        other.kill();
        assert_killed(others);
    }
}
