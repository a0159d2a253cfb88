//! Guard process between flightdeck and a provisioner's command: kills all descendants of the
//! command when flightdeck ends for any reason, which closes the guard's standard input.
//!
//! The kernel's parent-death signal alone reaches only the shell, not the shell's children. The
//! guard leads the command's process group. As a subreaper, it also adopts orphaned descendants,
//! including daemons and those in other sessions, until the command ends on its own.

use model::process::parent;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_current_process_group, kill_process,
    pidfd_open, pidfd_send_signal, set_child_subreaper, wait,
};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// First argument of its command line.
pub const ARGUMENT: &str = "__guard";
/// Exit code if the command cannot be started, as in shells.
const NOT_STARTED: u8 = 127;
/// Maximum number of searches for descendants: a process may fork while it is being killed.
const SEARCHES: u32 = 50;
/// Pause between two searches, in which killed processes become zombies.
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

/// True while everything is being killed; the guard must not exit before that is done.
static ENDING: AtomicBool = AtomicBool::new(false);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Declares that this program runs [`main`] when called with [`ARGUMENT`]. Without it, commands
/// have no guard.
pub fn register() {
    // Refers to the running executable, even if the file was replaced since.
    PROGRAM.get_or_init(|| PathBuf::from("/proc/self/exe"));
}

/// Returns the command line with the guard in front, or the command alone if none is registered.
/// The guard's standard input is its lifeline: once it is closed, the command and all its
/// descendants are killed.
pub fn guarded_command<W: Clone + Into<OsString>>(words: &[W]) -> Vec<OsString> {
    let guard = PROGRAM
        .get()
        .filter(|p| p.exists())
        .map(|p| [p.into(), OsString::from(ARGUMENT)]);
    guard
        .into_iter()
        .flatten()
        .chain(words.iter().cloned().map(Into::into))
        .collect()
}

/// Runs the command in the arguments and exits with its status; kills all descendants when standard
/// input ends.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else {
        return ExitCode::from(NOT_STARTED);
    };
    let watching = std::thread::Builder::new()
        .name("guard".to_owned())
        // A thread of its own, because the main thread waits for the command.
        .spawn(|| {
            let mut nothing = [0; 64];
            // Discard input; only the end of the pipe matters.
            while matches!(io::stdin().lock().read(&mut nothing), Ok(1..)) {}
            ENDING.store(true, Ordering::SeqCst);
            kill_descendants();
            kill_current_process_group(Signal::KILL).ok();
        });
    if let Err(error) = watching {
        eprintln!("cannot start the watchdog of the command: {error}");
        // An unguarded command could outlive flightdeck, so it is not started.
        return ExitCode::from(NOT_STARTED);
    }
    let mut command = std::process::Command::new(program);
    // The command must not read the guard's lifeline.
    command.args(arguments).stdin(Stdio::null());
    // In case the guard itself is killed.
    plugin::set_parent_death_signal(&mut command);
    // On failure, only descendants that are still below the command are found.
    set_child_subreaper(Some(getpid())).ok();
    match command
        .spawn()
        .and_then(|child| wait_for_command(child.id()))
    {
        Ok(End::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(End::Signal(signal)) => {
            // Twice: for memory faults, the first signal only removes the handler of the Rust
            // runtime.
            for _ in 0..2 {
                kill_process(getpid(), signal).ok();
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot run {}: {error}", program.display());
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// End of the command.
enum End {
    Code(i32),
    Signal(Signal),
}

/// Waits for the command, and reaps all processes that the guard has adopted in the meantime.
fn wait_for_command(command: u32) -> io::Result<End> {
    loop {
        let Some((pid, status)) = wait(WaitOptions::empty())? else {
            continue;
        };
        if u32::try_from(pid.as_raw_pid()).ok() != Some(command) {
            continue;
        }
        // Do not exit before the other thread ends this process; reap the processes that it kills.
        while ENDING.load(Ordering::SeqCst) {
            if wait(WaitOptions::empty()).is_err() {
                std::thread::park();
            }
        }
        let signal = status.terminating_signal().map(|signal| {
            let named = Signal::from_named_raw(signal);
            End::Signal(named.unwrap_or(Signal::KILL))
        });
        return Ok(signal.unwrap_or(End::Code(status.exit_status().unwrap_or(1))));
    }
}

/// Kills all descendants of the command, in any group or session.
fn kill_descendants() {
    let own = std::process::id();
    for _ in 0..SEARCHES {
        let mut killed = false;
        for pid in processes().filter(|pid| is_descendant(*pid, own)) {
            // Opened before the second check, so that a reused pid cannot receive the signal.
            let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let process = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            if let Some(process) = process
                && is_descendant(pid, own)
            {
                killed |= pidfd_send_signal(process, Signal::KILL).is_ok();
            }
        }
        if !killed {
            return;
        }
        std::thread::sleep(SEARCH_PAUSE);
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns true if a process is a descendant of another one.
fn is_descendant(pid: u32, above: u32) -> bool {
    /// Maximum length of the chain of parents, which may change while it is read.
    const MAX_ANCESTORS: usize = 4_096;
    let chain = std::iter::successors(parent(pid), |pid| parent(*pid)).take(MAX_ANCESTORS);
    // Process 1 is the parent of orphans and ends every chain.
    chain.take_while(|pid| *pid > 1).any(|pid| pid == above)
}
