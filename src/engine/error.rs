//! Errors of requests to the engine, with their exit codes.

mod not_there;

pub use not_there::NotFound;

use super::stage::encoding::StageCodecError;
use super::stage::select::SelectError;
use calls::ProviderError;
use lang::addr::AddrError;
use model::{BadSelectionName, BadStageName, Diagnostic, LockHolder, Severity, StageId, moment};
use plugin::PluginError;
use plugin::trust::TrustError;
use state::{Cause, StateError};
use std::sync::Arc;
use store::StoreError;
use trust::commands::CommandError;

/// Reasons why a request to the engine failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// Errors in the configuration, a variable or a plan.
    #[error("{}", first(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// Another process has the workspace lock.
    #[error(
        "the workspace is locked by {} on {} (pid {}, {}) since {}; wait for this process or end it. If it certainly no longer runs, use --force-unlock to release its lock",
        .0.who, .0.host, .0.pid, .0.reason, moment(.0.since)
    )]
    Locked(Box<LockHolder>),
    /// A needed plugin did not register or cannot be used.
    #[error(transparent)]
    Plugin(#[from] PluginProblem),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// The state cannot be locked, read or written in its backend.
    #[error(transparent)]
    State(StateError),
    /// The record of a stage cannot be parsed.
    #[error(
        "the stored stage #{stage} cannot be decoded: {source}; run `flightdeck stage` to create a new stage"
    )]
    Unreadable {
        stage: StageId,
        source: Arc<serde_json::Error>,
    },
    /// The record of a stage cannot be created or does not match the configuration.
    #[error(transparent)]
    Record(#[from] StageCodecError),
    /// A manual change was not recorded.
    #[error("{what} was not written to the state; run the command again")]
    NotRecorded { what: &'static str },
    /// The workspace names a command that is not trusted.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Trust decisions cannot be read or saved.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A task on another thread failed.
    #[error("{what}: {source}")]
    Task {
        what: &'static str,
        source: Arc<tokio::task::JoinError>,
    },
    /// An invalid address.
    #[error(transparent)]
    Address(#[from] AddrError),
    #[error(transparent)]
    StageName(#[from] BadStageName),
    #[error(transparent)]
    SelectionName(#[from] BadSelectionName),
    /// The stage does not match the workspace any more.
    #[error("stage #{stage} is stale: {what}; stage again")]
    Stale { stage: i64, what: String },
    /// An invalid selection.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// There is no such stage, deploy, plugin or resource.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The request was refused, with the refusing layer's error.
    #[error("{}", told(.why, .source))]
    Refused {
        /// Failed action, if the source does not name it.
        why: Option<&'static str>,
        source: Cause,
    },
    /// There are states to migrate, and no confirmation.
    #[error(
        "{from} has a state, but the backend is now {to}; use -migrate-state with -force-copy to copy the state to {to}, or -reconfigure to leave it in {from}"
    )]
    StatesToMigrate { from: String, to: String },
    /// An operator cancelled it.
    #[error("cancelled")]
    Cancelled,
}

/// Problems with a plugin.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PluginProblem {
    /// Not found or not trusted, described.
    #[error("{0}")]
    Missing(String),
    #[error(transparent)]
    Call(#[from] ProviderError),
    /// A command to it failed.
    #[error(transparent)]
    Order(#[from] PluginError),
    /// Several plugins did not register.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and "))]
    Several(Vec<ProviderError>),
}

impl From<StoreError> for EngineError {
    fn from(e: StoreError) -> Self {
        match e {
            // A lock held elsewhere has its own exit code.
            StoreError::Locked(holder) => Self::Locked(holder),
            other => Self::Store(other),
        }
    }
}

impl From<StateError> for EngineError {
    fn from(e: StateError) -> Self {
        match e {
            StateError::Store(e) => e.into(),
            other => Self::State(other),
        }
    }
}

impl From<ProviderError> for EngineError {
    fn from(error: ProviderError) -> Self {
        Self::Plugin(error.into())
    }
}

fn told(why: &Option<&'static str>, source: &Cause) -> String {
    match why {
        Some(why) => format!("{why}: {source}"),
        None => source.to_string(),
    }
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics
        .iter()
        // A message has room for one error; `diagnostics` returns them all.
        .find(|d| d.severity == Severity::Error)
        .map_or_else(|| "failed".to_owned(), |d| d.summary.clone())
}

impl EngineError {
    /// Error of a task on another thread; `what` is the failed action.
    pub(super) fn task(what: &'static str) -> impl FnOnce(tokio::task::JoinError) -> Self {
        move |source| Self::Task {
            what,
            source: Arc::new(source),
        }
    }

    /// Error of another layer.
    pub(super) fn refused(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Refused {
            why: None,
            source: Arc::new(source),
        }
    }

    /// Error of another layer, with the failed action.
    pub(super) fn failed_to<E: std::error::Error + Send + Sync + 'static>(
        why: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Refused {
            why: Some(why),
            source: Arc::new(source),
        }
    }

    /// Error of a stage's record.
    pub(super) fn unreadable(stage: StageId) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Unreadable {
            stage,
            source: Arc::new(source),
        }
    }

    /// Exit code of a command that fails with this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Plugin(_) | Self::Command(_) => 3,
            Self::Locked(_)
            | Self::State(StateError::Locked { .. } | StateError::Abandoned { .. }) => 4,
            Self::Cancelled => 130,
            // The same code as for a plugin without trust.
            other if CommandError::is_cause_of(other) => 3,
            _ => 1,
        }
    }

    /// Diagnostics to display, if there are any.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Diagnostics(all) => all,
            _ => &[],
        }
    }
}
