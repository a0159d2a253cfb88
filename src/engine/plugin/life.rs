//! What a supervisor has to be told of a dialect: what a child is given, how it comes up, what
//! proves that it works, how it is asked to end. Implemented by the dialects (`engine/provider/`),
//! handed over by whoever takes a plugin under supervision; the supervisor knows no dialect.

use super::failure::StartFailure;
use super::newborn::Newborn;
use super::settings::Reattach;
use crate::engine::words::PhaseName;
use async_trait::async_trait;
use std::any::Any;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::Path;
use std::pin::Pin;
use tokio_util::sync::CancellationToken;

/// How processes of one dialect live.
#[async_trait]
pub trait Life: Send + Sync + 'static {
    /// What is awaited of a process once it runs.
    fn arrival(&self) -> Arrival;

    /// The phases of an attempt after exec, in their order.
    fn phases(&self) -> &'static [PhaseKind];

    /// Makes what one process needs before it is there: keys, a socket to register at. `folder` is
    /// its own, private, short enough for sockets in it, and gone with the process. Called where
    /// blocking is allowed, within a runtime.
    ///
    /// # Errors
    /// It cannot be made.
    fn prepare(&self, folder: &Path) -> Result<Prepared, StartFailure>;

    /// The failure of a launch in the light of the last lines that the process has printed.
    fn explain(&self, failure: StartFailure, _lines: &[String]) -> StartFailure {
        failure
    }

    /// Reaches a process that somebody else runs.
    ///
    /// # Errors
    /// It cannot be reached, or the dialect has no such thing.
    async fn attach(
        &self,
        other: &Reattach,
        newborn: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure>;
}

/// What is awaited of a process that was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It says on its standard output where it listens.
    Handshake,
    /// It says so at a socket of ours.
    Registration,
}

impl Arrival {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Registration => "registration",
        }
    }
}

/// One phase of an attempt.
#[derive(Debug)]
pub struct PhaseKind {
    pub name: PhaseName,
    /// What goes on until it is reached: `waiting for its handshake line`.
    pub until: &'static str,
}

/// What is ready for a process that is about to be executed.
pub struct Prepared {
    pub environment: Environment,
    pub birth: Box<dyn Birth>,
}

/// How a child's environment differs from ours.
#[derive(Debug, Default)]
pub struct Environment {
    /// Variables of ours that it must not have.
    pub without: Vec<OsString>,
    /// What it is given; what an operator has set for this plugin goes before it.
    pub with: Vec<(OsString, OsString)>,
}

/// One process on its way from exec to being called.
#[async_trait]
pub trait Birth: Send {
    /// Waits for the process to say that it is there, reaches it, and has it prove that it works.
    /// May be dropped at any moment: the process is ended then.
    ///
    /// # Errors
    /// What is wrong with it.
    async fn come_up(
        self: Box<Self>,
        newborn: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure>;
}

/// The way to a process that came up. To its dialect it is more than that: the adapter is made of
/// it.
pub trait Link: Any + Debug + Send + Sync {
    /// Cancelled when the process cannot be called any more, which may be before it has ended.
    fn lost(&self) -> CancellationToken;

    /// Cause of the loss, for an incident: the predicate of a sentence about the plugin.
    fn lost_by(&self) -> &'static str {
        "closed its connection"
    }

    /// How the process is asked to end.
    fn farewell(&self) -> Farewell;
}

/// How a process is asked to end. One that does not is killed.
pub enum Farewell {
    /// By SIGTERM.
    Terminate,
    /// By a call. Whatever comes back means that it was asked.
    Call(Pin<Box<dyn Future<Output = ()> + Send>>),
}
