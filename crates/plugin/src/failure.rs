//! Failures of a launch, one variant for each cause, with the remedy for the operator.

use super::oom::Memory;
use model::{Verdict, seconds};
use std::path::PathBuf;
use thiserror::Error;

/// Exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Memory state at a SIGKILL; `None` for other exits and if the system does not count it.
    pub memory: Option<Memory>,
}

impl Exit {
    pub(super) fn from_status(
        status: std::process::ExitStatus,
        memory: impl FnOnce() -> Option<Memory>,
    ) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let signal = status.signal();
        Self {
            code: status.code(),
            signal,
            memory: if signal == Some(KILL) { memory() } else { None },
        }
    }

    /// Returns true for a signal that the program itself caused by a fault.
    fn is_crash_signal(&self) -> bool {
        // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
        self.signal
            .is_some_and(|signal| matches!(signal, 4..=8 | 11 | 31))
    }
}

const KILL: i32 = 9;

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(KILL)) => {
                // SIGKILL has no visible sender; the kernel's kill counter is the only hint.
                let who = match self.memory {
                    Some(Memory::GroupRanOut) => {
                        ": its control group ran out of memory; raise the memory limit, or run fewer operations in parallel"
                    }
                    Some(Memory::MachineRanOut) => {
                        ": the machine ran out of memory; add memory, or run fewer operations in parallel"
                    }
                    Some(Memory::Enough) => {
                        ", sent from outside flightdeck; memory was not exhausted"
                    }
                    None => {
                        ", sent from outside flightdeck, possibly by the out-of-memory killer (check `dmesg`)"
                    }
                };
                write!(f, "killed by {}{who}", signal_name(KILL))
            }
            (None, Some(signal)) => write!(f, "killed by {}", signal_name(signal)),
            (None, None) => f.write_str("ended with an unknown exit status"),
        }
    }
}

/// Formats a signal as `SIGKILL (9)`.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("{name} ({signal})")
}

/// Reason why a launch failed.
#[derive(Debug, Error)]
pub enum StartFailure {
    #[error("the executable does not exist: {}; install the provider again or correct the path", .0.display())]
    NotFound(PathBuf),
    #[error("{} cannot be executed: {reason}", .path.display())]
    NotExecutable { path: PathBuf, reason: String },
    #[error("{} is built for {built_for}, but this machine is {machine}; install the package for this system", .path.display())]
    WrongArchitecture {
        path: PathBuf,
        built_for: String,
        machine: String,
    },
    #[error("{} has changed since you trusted it; find out why it changed, then stage again to confirm trust", .0.display())]
    NotApproved(PathBuf),
    /// The contents differ from those that the running stage or deploy started with.
    #[error("{} was replaced while it was in use; stage again to use the new file", .0.display())]
    Replaced(PathBuf),
    #[error("the system could not start {}: {source}; memory or the process limit may be exhausted", .path.display())]
    Spawn {
        path: PathBuf,
        source: std::io::Error,
    },
    /// No directory for sockets can be created; the places and their errors.
    #[error(
        "flightdeck cannot create a directory for the plugin's socket ({0}); set TMPDIR to a directory that this user can write"
    )]
    NoSocketFolder(String),
    #[error("the plugin did not complete its {awaited} within {}{}; raise FLIGHTDECK_LAUNCH_DEADLINE_MS if the plugin needs longer", seconds(*after), words(.last_line))]
    TimedOut {
        awaited: &'static str,
        after: std::time::Duration,
        last_line: Option<String>,
    },
    #[error("the process ended before its {awaited}: {exit}{}", hint(.exit, .last_line))]
    Exited {
        awaited: &'static str,
        exit: Exit,
        last_line: Option<String>,
    },
    #[error("the process ended after its {awaited}, before its first call: {exit}{}", hint(.exit, .last_line))]
    ExitedEarly {
        awaited: &'static str,
        exit: Exit,
        last_line: Option<String>,
    },
    #[error("{0}")]
    Dialect(IncompatiblePlugin),
    #[error("cannot connect to the plugin at {address}: {reason}")]
    Connect { address: String, reason: String },
    #[error("failed to read the plugin's schema: {0}")]
    Schema(String),
    #[error("the launch was stopped before the plugin was ready")]
    Stopped,
}

/// Failure that a dialect found in a process.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct IncompatiblePlugin {
    /// Machine-readable reason, defined by the dialect.
    pub kind: &'static str,
    /// True if another launch of the same file may succeed.
    pub retryable: bool,
    pub suspicion: Suspicion,
    /// Error text for the operator: failure and remedy.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Conclusion that a failure allows about the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    None,
    /// The process may be exiting; if it is, its exit is the reason to report.
    Exiting,
    /// It may not be a plugin, and may exit on its own after printing something.
    NotAPlugin,
}

/// Remedy for an error that only the plugin's authors can fix.
pub const ITS_ERROR: &str = "this is a bug in the plugin: install another release of it";
/// Remedy for an executable that does not look like a plugin.
pub const REINSTALL: &str = "install the provider's package again";

fn words(last_line: &Option<String>) -> String {
    last_line
        .as_ref()
        .map(|line| format!("; last output: {line}"))
        .unwrap_or_default()
}

/// Formats the last output line and a remedy, which depends on the exit and on the presence of
/// output.
fn hint(exit: &Exit, last_line: &Option<String>) -> String {
    let said = words(last_line);
    match (exit, last_line) {
        // A fault is the plugin's own error, whatever it printed.
        (exit, _) if exit.is_crash_signal() => format!("{said}; {ITS_ERROR}"),
        (
            Exit {
                signal: Some(_), ..
            },
            _,
        ) => said,
        (_, Some(_)) => format!("{said} (run `flightdeck logs` for all lines)"),
        (_, None) => format!("; no output: the file may not be a plugin; {REINSTALL}"),
    }
}

impl StartFailure {
    /// Returns the machine-readable failure reason.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::NotExecutable { .. } => "not_executable",
            Self::WrongArchitecture { .. } => "wrong_architecture",
            Self::NotApproved(_) => "not_approved",
            Self::Replaced(_) => "replaced",
            Self::Spawn { .. } | Self::NoSocketFolder(_) => "spawn",
            Self::TimedOut { .. } => "timed_out",
            Self::Exited { .. } | Self::ExitedEarly { .. } => "exited",
            Self::Dialect(unfit) => unfit.kind,
            Self::Connect { .. } => "connect",
            Self::Schema(_) => "schema",
            Self::Stopped => "stopped",
        }
    }

    /// Returns true if another launch of the same file may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotFound(_)
            | Self::NotExecutable { .. }
            | Self::WrongArchitecture { .. }
            | Self::NoSocketFolder(_) => false,
            Self::NotApproved(_) | Self::Replaced(_) | Self::Stopped => false,
            Self::Dialect(unfit) => unfit.retryable,
            _ => true,
        }
    }

    /// Returns true if the process ended or timed out before its handshake or registration.
    pub fn ended_before_arrival(&self) -> bool {
        matches!(self, Self::Exited { .. } | Self::TimedOut { .. })
    }

    pub(super) fn suspicion(&self) -> Suspicion {
        match self {
            Self::Connect { .. } | Self::Schema(_) => Suspicion::Exiting,
            Self::Dialect(unfit) => unfit.suspicion,
            _ => Suspicion::None,
        }
    }

    /// Returns the record of the failure for the launch attempt.
    #[must_use]
    pub fn failure_record(&self) -> Verdict {
        Verdict {
            kind: self.kind().into(),
            text: self.to_string(),
            retryable: self.is_retryable(),
        }
    }
}
