//! Job control: suspends to the shell, and detects when the terminal may be used again. Changes no
//! terminal settings.

use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid};
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio::stdin;
use rustix::termios::tcgetpgrp;
use std::io;
use std::time::{Duration, Instant};
use tokio::signal::unix::{self, SignalKind};

/// Interval of checks for the terminal: not all shells send SIGCONT.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Time after which a requested stop counts as failed.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns true if a shell can resume this process: its parent is in the same session. The terminal
/// cannot stop a session leader, such as a program that a terminal was opened for. In a container
/// whose session started outside, the kernel reports session 0 and no process inside can resume
/// this one. (nix, because rustix maps 0 to a process.)
pub fn has_shell() -> bool {
    let session = |of| getsid(of).ok().filter(|session| session.as_raw() > 0);
    let ours = session(None);
    // Process 1 in our group forwards signals at most, and has no shell above it.
    let parent = getppid();
    let is_init = parent == Pid::from_raw(1) && getpgid(Some(parent)) == Ok(getpgrp());
    ours.is_some() && session(Some(parent)) == ours && !is_init
}

/// State of job control.
pub(super) struct Jobs {
    continued: unix::Signal,
    /// Time of the requested stop, until it is known to have happened.
    stop_requested_at: Option<Instant>,
}

impl Jobs {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            continued: unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            stop_requested_at: None,
        })
    }

    /// Stops this process and the others of its group, as the terminal would. Another thread may
    /// receive the signal, so the process may still run after the return. The terminal must not be
    /// used until [`Self::back`] returns.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.stop_requested_at = Some(Instant::now());
        Ok(kill_current_process_group(Signal::TSTP)?)
    }

    /// Waits until the process continues after a stop, requested or not.
    pub(super) async fn continued(&mut self) {
        self.continued.recv().await;
        self.stop_requested_at = None;
    }

    /// Waits until the terminal may be used: the process was stopped and continues, or could not be
    /// stopped, and is in the foreground. Cancel-safe.
    pub(super) async fn wait_for_foreground(&mut self) {
        while self
            .stop_requested_at
            .is_some_and(|at| at.elapsed() < STOP_TIMEOUT)
            || !is_foreground()
        {
            tokio::select! {
                () = self.continued() => {}
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
        self.stop_requested_at = None;
    }
}

/// Returns true if the process is in the foreground of its terminal, or if that is unknown.
fn is_foreground() -> bool {
    let ours = getpgrp();
    ours.as_raw() == 0
        || tcgetpgrp(stdin()).map_or(true, |group| {
            Pid::from_raw(group.as_raw_nonzero().get()) == ours
        })
}
