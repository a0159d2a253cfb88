//! What can go wrong with the state of record, in words for an operator.

use super::backend;
use crate::engine::store::{StoreError, Version4Error};
use statefile::encryption::EncryptionError;
use statefile::{LockInfo, ReadError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a place of one kind says of why: an error of that kind, which others show and tell no
/// further apart.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why the state cannot be locked, read or written where it lives.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HomeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another program works on it.
    #[error("the state in {place} is locked{}; wait for that to end, and try again", holder(.info.as_deref()))]
    Locked {
        place: String,
        info: Option<Box<LockInfo>>,
    },
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error("{} is no regular file, and a state is kept in one; move it away, or say in a backend block where the state is", path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "the state in {place} cannot be read: {source}. Nothing was done to it; a copy of what it was before may be in {place}.backup"
    )]
    Unreadable {
        place: String,
        source: Arc<ReadError>,
    },
    #[error("the state in {place} cannot be worked with: {source}")]
    Unusable {
        place: String,
        source: Version4Error,
    },
    /// It is encrypted in another way than the configuration says, or not at all.
    #[error("the state in {place} cannot be decrypted: {source}")]
    Encrypted {
        place: String,
        source: EncryptionError,
    },
    /// There and here have changed since they were the same.
    #[error(
        "the state in {place} (serial {theirs}) and the one on record here (serial {ours}) were changed apart: {differ}. Both are kept. `flightdeck state use home` goes on with the one in {place}, `flightdeck state use record` with the one on record; the other is kept in a file"
    )]
    Apart {
        place: String,
        theirs: i64,
        ours: i64,
        /// What differs, in words.
        differ: String,
    },
    /// Another program wrote it although it was locked.
    #[error(
        "another program has written the state in {place} since flightdeck locked it. It is left as it is, and the state of this run is on record here. `flightdeck state use home` continues with the one in {place}, `flightdeck state use record` with the one on record; the other is kept in a file"
    )]
    Overwritten { place: String },
    /// What was there is not there any more.
    #[error(
        "the state that was in {place} is gone, and {objects} objects of it are on record here. `flightdeck state use record` writes it anew, `flightdeck state use home` begins with nothing; what was on record is kept in a file"
    )]
    Gone { place: String, objects: usize },
    /// The configuration says another place than before.
    #[error(
        "the state was kept in {from}, and the configuration says {to} now. `flightdeck state use record` brings it there, `flightdeck state use home` goes on with what is there; the other is kept in a file"
    )]
    Moved { from: String, to: String },
    #[error("what is pushed is empty, and no state; nothing was done")]
    NothingPushed,
    #[error(
        "what is pushed has the lineage {pushed}, and the state that is there {there}: they never were the same. Nothing was done; --force pushes it all the same"
    )]
    OtherLineage { pushed: String, there: String },
    #[error(
        "what is pushed has the serial {pushed}, and the state that is there {there}: it has changed since. Nothing was done; --force pushes it all the same"
    )]
    Older { pushed: i64, there: i64 },
    /// A server that keeps it did not do as it was asked.
    #[error("cannot {what} the state in {place}: {source}{}", stays_locked(.left.as_deref()))]
    Remote {
        what: &'static str,
        place: String,
        source: Cause,
        /// The id of a lock that stays behind.
        left: Option<String>,
    },
    /// A lock that could not be given back at the end of a command.
    #[error(
        "the state in {place} may still be locked: {why}. Once nothing works on it any more, run `flightdeck force-unlock {id}`"
    )]
    LeftLocked {
        place: String,
        id: String,
        why: String,
    },
    /// The command was ended while its request had no answer.
    #[error(
        "the state was not written to {place}: the command was stopped before the server answered"
    )]
    Stopped { place: String },
    #[error("there is another state in {place} already{}; nothing was brought there", apart(.differ.as_deref()))]
    Taken {
        place: String,
        /// What differs, in words.
        differ: Option<String>,
    },
    #[error("{} cannot be emptied: {source}", path.display())]
    NotEmptied {
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    /// The configuration and the directory do not agree on it, or not on one that can be used.
    #[error("{0}")]
    Refused(String),
    #[error("the {kind} backend cannot be used as it is configured: {source}")]
    Backend { kind: String, source: Cause },
    #[error(
        "the {kind} backend has no workspaces besides the default one, and {named:?} is selected; `flightdeck workspace select default` selects that, or unset TF_WORKSPACE"
    )]
    NoWorkspaces { kind: &'static str, named: String },
    #[error(
        "the record of the backend, {}, cannot be used: {why}; `flightdeck init -reconfigure` writes it anew", path.display()
    )]
    Record { path: PathBuf, why: String },
    /// Work on another thread came to no end.
    #[error("the state could not be looked at: {0}")]
    Task(Arc<tokio::task::JoinError>),
}

impl HomeError {
    /// Of a server that keeps the state.
    pub(super) fn remote(
        what: &'static str,
        place: String,
        why: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Remote {
            what,
            place,
            source: Arc::new(why),
            left: None,
        }
    }

    /// Returns true if a failed request may have taken the lock: only its answer is missing.
    pub(super) fn may_be_done(&self) -> bool {
        let Self::Remote { source, .. } = self else {
            return false;
        };
        backend::may_be_done(&**source)
    }

    /// The reason alone, without the place.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Remote { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// The outcome of work under a lock that was given back afterwards. Where both failed, the lock
    /// that stays behind is named with the failure of the work.
    pub fn with_unlocked<T>(done: Result<T, Self>, unlocked: Result<(), Self>) -> Result<T, Self> {
        match (done, unlocked) {
            (Err(error), Err(Self::Remote { left: Some(id), .. })) => Err(error.left_locked(&id)),
            (done, unlocked) => {
                let done = done?;
                unlocked.map(|()| done)
            }
        }
    }

    /// With what to do where a lock stays behind.
    pub(super) fn left_locked(mut self, id: &str) -> Self {
        if let Self::Remote { left, .. } = &mut self {
            *left = Some(id.to_owned());
        }
        self
    }

    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            what,
            path,
            source: Arc::new(source),
        }
    }
}

/// Why a lock cannot be taken away from who has it.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnlockError {
    #[error("it is not locked")]
    NotLocked,
    #[error("the lock has the id {id}, and not {asked:?}")]
    OtherId { id: String, asked: String },
    /// It is on a file.
    #[error("{0}. The lock on a file goes with the process that has it: end that one")]
    OfProcess(#[source] HomeError),
}

fn apart(differ: Option<&str>) -> String {
    differ.map_or_else(String::new, |differ| format!(" ({differ})"))
}

fn stays_locked(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| {
        format!(". It stays locked; `flightdeck force-unlock {id}` takes the lock away")
    })
}

fn holder(info: Option<&LockInfo>) -> String {
    let Some(info) = info else {
        return " by another process, which left no word of itself".to_owned();
    };
    let id = &info.id;
    format!(
        " by {} ({}, version {}) since {}, lock {id}",
        info.who, info.operation, info.version, info.created
    )
}
