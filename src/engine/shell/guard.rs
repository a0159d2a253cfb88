//! The process between flightdeck and the command of a provisioner: when flightdeck is gone,
//! however it went, nothing of the command goes on. It leads the command's process group and has
//! the other end of a pipe from flightdeck as its standard input; the end of that pipe is the end
//! of all that the command has started. The kernel's parent-death signal alone reaches the shell,
//! not what the shell has started. As a subreaper the guard is the parent of all that is left
//! without one, also of daemons and of sessions of their own, until a good end lets them go.

use crate::engine::process::parent;
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

/// The first word of its command line.
pub const WORD: &str = "__guard";
/// The code where the command cannot be started, as shells have it.
const NOT_STARTED: u8 = 127;
/// Searches for descendants at most: one may start another while it is being killed.
const SEARCHES: u32 = 50;
/// Between two searches: what was killed is a zombie by then.
const BETWEEN: Duration = Duration::from_millis(2);

/// Whether everything is being killed: the guard does not end before that is done.
static ENDING: AtomicBool = AtomicBool::new(false);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says that this program runs [`main`] when it is called with [`WORD`]. Where nobody has said so,
/// commands have no guard.
pub fn offer() {
    // The file itself, even if another has taken its place since.
    PROGRAM.get_or_init(|| PathBuf::from("/proc/self/exe"));
}

/// These words with the guard before them.
pub(super) fn guarded(words: &[String]) -> Vec<OsString> {
    let guard = PROGRAM
        .get()
        .filter(|p| p.exists())
        .map(|p| [p.into(), OsString::from(WORD)]);
    guard
        .into_iter()
        .flatten()
        .chain(words.iter().map(OsString::from))
        .collect()
}

/// Runs the command in the words and ends as it ends; all of its group goes when standard input
/// ends.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else {
        return ExitCode::from(NOT_STARTED);
    };
    let watching = std::thread::Builder::new()
        .name("guard".to_owned())
        .spawn(|| {
            let mut nothing = [0; 64];
            // Whatever else it may be, it is no life sign.
            while matches!(io::stdin().lock().read(&mut nothing), Ok(1..)) {}
            ENDING.store(true, Ordering::SeqCst);
            kill_descendants();
            kill_current_process_group(Signal::KILL).ok();
        });
    if let Err(error) = watching {
        eprintln!("the command cannot be guarded: {error}");
        return ExitCode::from(NOT_STARTED);
    }
    let mut command = std::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    crate::engine::plugin::die_with_parent(&mut command);
    // Without it only descendants that are still below the command are found.
    set_child_subreaper(Some(getpid())).ok();
    match command.spawn().and_then(|child| ended(child.id())) {
        Ok(End::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(End::Signal(signal)) => {
            // Twice: the first one only takes away the runtime's own handler where it has one
            // (a fault of memory).
            for _ in 0..2 {
                kill_process(getpid(), signal).ok();
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{} cannot be run: {error}", program.display());
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// How the command ended.
enum End {
    Code(i32),
    Signal(Signal),
}

/// Waits for the command, and for all processes that were left to the guard meanwhile: nobody else
/// takes them off the kernel's list.
fn ended(command: u32) -> io::Result<End> {
    loop {
        let Some((pid, status)) = wait(WaitOptions::empty())? else {
            continue;
        };
        if u32::try_from(pid.as_raw_pid()).ok() != Some(command) {
            continue;
        }
        // Until the other thread ends this process; what it kills is waited for here.
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

/// Kills all that the command has started, whatever group or session it is in.
fn kill_descendants() {
    let own = std::process::id();
    for _ in 0..SEARCHES {
        let mut killed = false;
        for pid in processes().filter(|pid| is_below(*pid, own)) {
            // Opened before the second look, so that the signal reaches what was looked at.
            let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let process = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            if let Some(process) = process
                && is_below(pid, own)
            {
                killed |= pidfd_send_signal(process, Signal::KILL).is_ok();
            }
        }
        if !killed {
            return;
        }
        std::thread::sleep(BETWEEN);
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is a descendant of another one.
fn is_below(pid: u32, above: u32) -> bool {
    /// Deeper than any chain of processes; parents that change under the look end it too.
    const DEEPEST: usize = 4_096;
    let chain = std::iter::successors(parent(pid), |pid| parent(*pid)).take(DEEPEST);
    chain.take_while(|pid| *pid > 1).any(|pid| pid == above)
}
