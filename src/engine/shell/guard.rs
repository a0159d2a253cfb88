//! The process between flightdeck and the command of a provisioner: when flightdeck is gone,
//! however it went, nothing of the command goes on. It leads the command's process group and has
//! the other end of a pipe from flightdeck as its standard input; the end of that pipe is the end
//! of the group. The kernel's parent-death signal alone reaches the shell, not what the shell has
//! started.

use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;

/// The first word of its command line.
pub const WORD: &str = "__guard";
/// The code where the command cannot be started, as shells have it.
const NOT_STARTED: u8 = 127;

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
            kill_current_process_group(Signal::KILL).ok();
        });
    if let Err(error) = watching {
        eprintln!("the command cannot be guarded: {error}");
        return ExitCode::from(NOT_STARTED);
    }
    let mut command = std::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    crate::engine::plugin::die_with_parent(&mut command);
    match command.spawn().and_then(|mut child| child.wait()) {
        Ok(status) => match (
            status.code(),
            status.signal().and_then(Signal::from_named_raw),
        ) {
            (Some(code), _) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
            (None, signal) => {
                // Twice: the first one only takes away the runtime's own handler where it has one
                // (a fault of memory).
                for _ in 0..2 {
                    kill_process(getpid(), signal.unwrap_or(Signal::KILL)).ok();
                }
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("{} cannot be run: {error}", program.display());
            ExitCode::from(NOT_STARTED)
        }
    }
}
