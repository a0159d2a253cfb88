//! What can go wrong between a question to the engine and its answer, with the exit code that each deserves.

use super::event::{Diagnostic, LockHolder, Severity};

/// Why the engine could not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The configuration, a variable or a plan is in error; the diagnostics say where.
    #[error("{}", first(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// Somebody else works on the workspace.
    #[error(
        "the workspace is held by {} on {} (pid {}, {}) since {}; wait for it or end it. Where it is certainly gone, --force-unlock takes the lock from it",
        .0.who, .0.host, .0.pid, .0.reason, time(.0.since)
    )]
    Locked(Box<LockHolder>),
    /// A plugin that is needed did not register.
    #[error("{0}")]
    Plugin(String),
    /// The store cannot be read or written.
    #[error("{0}")]
    Store(String),
    /// The stage does not fit the workspace any more.
    #[error("stage #{stage} is stale: {what}; stage again")]
    Stale { stage: i64, what: String },
    /// There is no such stage, deploy, plugin or resource.
    #[error("{0}")]
    NotFound(String),
    /// The request cannot be carried out as it stands.
    #[error("{0}")]
    Refused(String),
    /// An operator asked for the end of it.
    #[error("cancelled")]
    Cancelled,
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().find(|d| d.severity == Severity::Error).map_or_else(|| "failed".to_owned(), |d| d.summary.clone())
}

/// A time as people write it, UTC.
fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

impl EngineError {
    /// The exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Plugin(_) => 3,
            Self::Locked(_) => 4,
            Self::Cancelled => 130,
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
