//! Interface between the supervisor and the dialects: preparation of a process, the way in which it
//! announces itself (arrival), readiness check, and end. Implemented by the dialects
//! (`crates/provider/`) and passed in with each plugin; the supervisor knows no dialect.

use super::failure::StartFailure;
use super::settings::Reattach;
use super::starting::StartingProcess;
use async_trait::async_trait;
use model::PhaseName;
use std::any::Any;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::Path;
use std::pin::Pin;
use tokio_util::sync::CancellationToken;

/// Process lifecycle of one dialect.
#[async_trait]
pub trait Lifecycle: Send + Sync + 'static {
    /// Returns the kind of arrival that a launched process announces itself with.
    fn arrival(&self) -> Arrival;

    /// Returns the phases of an attempt after exec, in order.
    fn phases(&self) -> &'static [PhaseKind];

    /// Prepares the resources of one process before exec, such as keys or a registration socket.
    /// `folder` is private to the process, has a path short enough for sockets, and is removed with
    /// the process. Called on a blocking thread, within a runtime.
    ///
    /// # Errors
    /// The resources cannot be created.
    fn prepare(&self, folder: &Path) -> Result<Prepared, StartFailure>;

    /// Refines the failure of a launch with the last lines of the process's output.
    fn explain(&self, failure: StartFailure, _lines: &[String]) -> StartFailure {
        failure
    }

    /// Connects to a process started by others.
    ///
    /// # Errors
    /// The process cannot be reached, or the dialect does not support this.
    async fn attach(
        &self,
        other: &Reattach,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure>;
}

/// Way in which a launched process announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It prints its address on its standard output.
    Handshake,
    /// It registers at a socket of flightdeck.
    Registration,
}

impl Arrival {
    /// Display name.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Registration => "registration",
        }
    }
}

/// Phase of a launch attempt.
#[derive(Debug)]
pub struct PhaseKind {
    pub name: PhaseName,
    /// Activity until the phase is reached: `waiting for its handshake line`.
    pub activity: &'static str,
}

/// Prepared resources of a process that is about to be executed.
pub struct Prepared {
    pub environment: Environment,
    pub startup: Box<dyn Startup>,
}

/// Changes to the environment of a child process.
#[derive(Debug, Default)]
pub struct Environment {
    /// Variables to remove.
    pub removed_variables: Vec<OsString>,
    /// Variables to set; those that an operator has set for this plugin take precedence.
    pub set_variables: Vec<(OsString, OsString)>,
}

/// Process between exec and readiness.
#[async_trait]
pub trait Startup: Send {
    /// Waits for the process to announce itself, connects, and verifies that it works. May be
    /// dropped at any time; the process is then ended.
    ///
    /// # Errors
    /// The process is unusable.
    async fn become_ready(
        self: Box<Self>,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure>;
}

/// Connection to a ready process. Its dialect builds the adapter from it.
pub trait Link: Any + Debug + Send + Sync {
    /// Returns a token that is cancelled when the process cannot be called any more, possibly
    /// before it has ended.
    fn lost_token(&self) -> CancellationToken;

    /// Returns the cause of the loss, for an incident: the predicate of a sentence about the
    /// plugin.
    fn loss_cause(&self) -> &'static str {
        "closed its connection"
    }

    /// Returns the way to ask the process to end.
    fn farewell(&self) -> EndRequest;
}

/// Way to ask a process to end. A process that does not end is killed.
pub enum EndRequest {
    /// Send SIGTERM.
    Terminate,
    /// Make a call. Any response, including an error, counts as asked.
    Call(Pin<Box<dyn Future<Output = ()> + Send>>),
}
