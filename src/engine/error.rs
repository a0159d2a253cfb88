//! What can go wrong between a question to the engine and its answer, with the exit code that each
//! deserves.

mod not_there;

pub use not_there::NotThere;

use super::calls::ProviderError;
use super::plugin::PluginError;
use super::stage::keep::KeepError;
use super::stage::select::SelectError;
use super::state::{Cause, HomeError};
use super::store::StoreError;
use super::trust::TrustError;
use super::trusted_commands::CommandError;
use super::words::{BadStageName, Diagnostic, LockHolder, Severity, StageId, moment};
use lang::addr::AddrError;
use std::sync::Arc;

/// Why the engine could not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The configuration, a variable or a plan is in error; the diagnostics say where.
    #[error("{}", first(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// Somebody else works on the workspace.
    #[error(
        "the workspace is held by {} on {} (pid {}, {}) since {}; wait for it or end it. Where it is certainly gone, --force-unlock takes the lock from it",
        .0.who, .0.host, .0.pid, .0.reason, moment(.0.since)
    )]
    Locked(Box<LockHolder>),
    /// A plugin that is needed did not register, or cannot be used.
    #[error(transparent)]
    Plugin(#[from] PluginTrouble),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// The state cannot be locked, read or written where it lives.
    #[error(transparent)]
    Home(HomeError),
    /// The record of a stage cannot be read.
    #[error("stage #{stage} cannot be read: {source}")]
    Unreadable {
        stage: StageId,
        source: Arc<serde_json::Error>,
    },
    /// The record of a stage cannot be made, or fits nothing that is here now.
    #[error(transparent)]
    Record(#[from] KeepError),
    /// What was changed by hand is not on record.
    #[error("{what} was not kept")]
    Unkept { what: &'static str },
    /// Whether a plugin is trusted cannot be read or kept.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A piece of work on another thread came to no end.
    #[error("{what}: {source}")]
    Task {
        what: &'static str,
        source: Arc<tokio::task::JoinError>,
    },
    /// An address that cannot be read.
    #[error(transparent)]
    Address(#[from] AddrError),
    #[error(transparent)]
    StageName(#[from] BadStageName),
    /// The stage does not fit the workspace any more.
    #[error("stage #{stage} is stale: {what}; stage again")]
    Stale { stage: i64, what: String },
    /// There is nothing to take or to leave.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// There is no such stage, deploy, plugin or resource.
    #[error(transparent)]
    NotFound(#[from] NotThere),
    /// The request cannot be carried out as it stands, as whoever says no puts it.
    #[error("{}", told(.why, .source))]
    Because {
        /// What could not be done, where the source does not say so itself.
        why: Option<&'static str>,
        source: Cause,
    },
    /// There are states to bring to another place, and nobody has said yes.
    #[error(
        "there is a state in {from}, and the backend is {to} now; -migrate-state with -force-copy brings it there, -reconfigure leaves it"
    )]
    StatesToBring { from: String, to: String },
    /// An operator asked for the end of it.
    #[error("cancelled")]
    Cancelled,
}

/// What is wrong with a plugin.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PluginTrouble {
    /// It was not found, or has no yes; in words.
    #[error("{0}")]
    Missing(String),
    #[error(transparent)]
    Call(#[from] ProviderError),
    /// An order to it could not be carried out.
    #[error(transparent)]
    Order(#[from] PluginError),
    /// Several did not register.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and "))]
    Several(Vec<ProviderError>),
}

impl From<StoreError> for EngineError {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Held(holder) => Self::Locked(holder),
            other => Self::Store(other),
        }
    }
}

impl From<HomeError> for EngineError {
    fn from(e: HomeError) -> Self {
        match e {
            HomeError::Store(e) => e.into(),
            other => Self::Home(other),
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
        .find(|d| d.severity == Severity::Error)
        .map_or_else(|| "failed".to_owned(), |d| d.summary.clone())
}

impl EngineError {
    /// For a piece of work on another thread, `what` of which could not be done.
    pub(super) fn task(what: &'static str) -> impl FnOnce(tokio::task::JoinError) -> Self {
        move |source| Self::Task {
            what,
            source: Arc::new(source),
        }
    }

    /// For a request that somebody else says no to.
    pub(super) fn because(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Because {
            why: None,
            source: Arc::new(source),
        }
    }

    /// The same with what could not be done.
    pub(super) fn unable<E: std::error::Error + Send + Sync + 'static>(
        why: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Because {
            why: Some(why),
            source: Arc::new(source),
        }
    }

    /// For the record of a stage.
    pub(super) fn unreadable(stage: StageId) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Unreadable {
            stage,
            source: Arc::new(source),
        }
    }

    /// The exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Plugin(_) => 3,
            Self::Locked(_) | Self::Home(HomeError::Locked { .. }) => 4,
            Self::Cancelled => 130,
            // As for a plugin without trust.
            other if CommandError::is_cause_of(other) => 3,
            _ => 1,
        }
    }

    /// The diagnostics to show, where there are any.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Diagnostics(all) => all,
            _ => &[],
        }
    }
}
