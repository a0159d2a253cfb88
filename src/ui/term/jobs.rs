//! Job control: to the shell and back. Knows whose the terminal is and when it may be taken again;
//! changes nothing of it.

use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid};
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio::stdin;
use rustix::termios::tcgetpgrp;
use std::io;
use std::time::{Duration, Instant};
use tokio::signal::unix::{self, SignalKind};

/// How often it is looked whether the terminal is ours again: not every shell says so with a
/// signal.
const LOOK: Duration = Duration::from_millis(200);
/// What has not stopped us in this time after we asked for it will not.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

/// Whether there is a shell that could bring us back: our parent is of our session. Who leads a
/// session of its own, as a program that a terminal was opened for, cannot be stopped by the
/// terminal either. In a container whose session was opened outside of it, the kernel has no number
/// for the session but 0, and nobody in it can bring anything back. (nix, because rustix takes the
/// 0 for a process.)
pub fn has_shell() -> bool {
    let session = |of| getsid(of).ok().filter(|session| session.as_raw() > 0);
    let ours = session(None);
    // A parent in our group that is process 1 forwards signals at most, and has no shell above it.
    let parent = getppid();
    let is_init = parent == Pid::from_raw(1) && getpgid(Some(parent)) == Ok(getpgrp());
    ours.is_some() && session(Some(parent)) == ours && !is_init
}

/// The comings and goings.
pub(super) struct Jobs {
    continued: unix::Signal,
    /// When we asked to be stopped, until we are known to have been.
    asked: Option<Instant>,
}

impl Jobs {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            continued: unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            asked: None,
        })
    }

    /// Stops us and all that the shell started with us, as the terminal would have done. Another
    /// thread than this one may be the one that takes the signal: when this returns we have not
    /// been stopped yet, and may not use the terminal until [`Self::back`] says so.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.asked = Some(Instant::now());
        Ok(kill_current_process_group(Signal::TSTP)?)
    }

    /// Somebody has stopped us, asked or not, and now we go on.
    pub(super) async fn continued(&mut self) {
        self.continued.recv().await;
        self.asked = None;
    }

    /// Waits until the terminal is ours to take: we have been stopped and go on, or could not be
    /// stopped, and the terminal hears us and not the shell. May be dropped and called again.
    pub(super) async fn back(&mut self) {
        while self.asked.is_some_and(|at| at.elapsed() < STOPS_WITHIN) || !is_in_front() {
            tokio::select! {
                () = self.continued() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        self.asked = None;
    }
}

/// Whether what is typed comes to us. Where there is no telling, it does.
fn is_in_front() -> bool {
    let ours = getpgrp();
    ours.as_raw() == 0
        || tcgetpgrp(stdin()).map_or(true, |group| {
            Pid::from_raw(group.as_raw_nonzero().get()) == ours
        })
}
