//! Ctrl-C, SIGTERM and SIGHUP: all ask for the end, in steps.

use super::exit::CliError;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A file that must not grow any more (`ulimit -f`) is an error in words from here on, and not the end of the process. What
/// we start has the signal as it was.
pub(super) fn files_may_be_too_large() -> std::io::Result<()> {
    // Listened to once, it stays so.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// The signals that ask a command to end.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|e| CliError::Refused(format!("signals cannot be listened to: {e}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
