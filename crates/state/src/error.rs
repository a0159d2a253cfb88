//! Errors of the state of record.

use super::backend::{self, BackendKind};
use statefile::encryption::EncryptionError;
use statefile::{LockInfo, ReadError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{StoreError, Version4Error};

/// Cause from one kind of backend. Callers display it and do not match on it.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Reasons why the state cannot be locked, read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another lock owner has the lock.
    #[error("the state in {place} is locked{}; wait until the lock is released, and try again{}", holder(.info.as_deref()), way_out(.info.as_deref()))]
    Locked {
        place: String,
        info: Option<Box<LockInfo>>,
    },
    #[error(
        "the record of this workspace has nothing that the state in {place} lacks, so it cannot replace it; nothing was changed. `flightdeck state list` shows the state that is used"
    )]
    NoConflict { place: String },
    /// The lock owner ended on this machine, and another store has the records of what it did.
    #[error("the state in {place} is locked{}. The process that acquired the lock has ended, and this workspace has no record of what that process did: objects that it created may be missing in the state. Run flightdeck in the workspace where it ran; it takes the lock over and writes the outcomes. Without that workspace, look for such objects first, and then run `flightdeck force-unlock {}`", holder(Some(.info)), .info.id)]
    Abandoned { place: String, info: Box<LockInfo> },
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error(
        "the state cannot be locked: {0}; give yourself write permission, or plan with -lock=false"
    )]
    NotLockable(#[source] Box<Self>),
    #[error("{} is not a regular file, so it cannot have a state; move it away, or set another path in a backend block", path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "the state in {place} cannot be read: {source}. It was not changed; an earlier version may be in {place}.backup"
    )]
    Unreadable {
        place: String,
        source: Arc<ReadError>,
    },
    #[error("the state in {place} cannot be used: {source}")]
    Unusable {
        place: String,
        source: Version4Error,
    },
    /// The text is plain or encrypted in another way than the configuration says.
    #[error("the state in {place} cannot be decrypted: {source}")]
    Encrypted {
        place: String,
        source: EncryptionError,
    },
    /// Backend and copy were both changed since they were equal.
    #[error(
        "the state in {place} (serial {theirs}) and the copy in the store (serial {ours}) were changed independently: {differ}. Both are unchanged. Run `flightdeck state use backend` to continue with the state in {place}, or `flightdeck state use record` to continue with the copy; the other one is saved in a file"
    )]
    Conflict {
        place: String,
        theirs: i64,
        ours: i64,
        /// Summary of the differences.
        differ: String,
    },
    /// The backend has an older version of the state than this workspace wrote.
    #[error(
        "the state in {place} has the serial {theirs}, but this workspace has already written serial {ours}, so an older state was put in its place. Nothing was planned, because objects that the older state lacks would be created again. Run `flightdeck state use record` to write the newer copy in the store back. To continue with the older state, run `flightdeck state use backend`, or add --accept-older-state {theirs}"
    )]
    Older {
        place: String,
        theirs: i64,
        ours: i64,
    },
    /// Another program wrote the state in spite of the lock.
    #[error(
        "another program wrote the state in {place} after flightdeck locked it. It was not overwritten, and the state of this run is in the store. Run `flightdeck state use backend` to continue with the state in {place}, or `flightdeck state use record` to continue with the copy in the store; the other one is saved in a file"
    )]
    Overwritten { place: String },
    /// The state was deleted from the backend.
    #[error(
        "the state in {place} no longer exists, but the store has a copy with {objects} objects. Run `flightdeck state use record` to write the copy back, or `flightdeck state use backend` to start with an empty state; the copy is then saved in a file"
    )]
    Deleted { place: String, objects: usize },
    /// The configuration names another location than before.
    #[error(
        "the store has the copy of the state in {from}, but the configuration names {to}; nothing was read from that copy or written. Run the command again, with the variables that the backend needs as -var; in the console, start it again"
    )]
    Moved { from: String, to: String },
    #[error(
        "the copy in the store has the lineage {ours}, but the state in {place} has the lineage {theirs}, so they are unrelated. Nothing was changed. Run `flightdeck state use backend` to continue with the state in {place}, or `flightdeck state use record --force` to replace it with the copy; the other one is saved in a file"
    )]
    OtherRecord {
        place: String,
        ours: String,
        theirs: String,
    },
    #[error("the pushed file is empty, so it is not a state; nothing was changed")]
    NothingPushed,
    #[error(
        "the pushed state has the lineage {pushed}, but the current state has the lineage {there}, so they are unrelated. Nothing was changed; use --force to push it anyway"
    )]
    OtherLineage { pushed: String, there: String },
    #[error(
        "the pushed state has the serial {pushed}, but the current state has the serial {there}, so the current state is newer. Nothing was changed; use --force to push it anyway"
    )]
    OlderSerial { pushed: i64, there: i64 },
    /// A request to the backend failed.
    #[error("cannot {what} the state in {place}: {source}{}", stays_locked(.left.as_deref()))]
    Remote {
        what: &'static str,
        place: String,
        source: Cause,
        /// Id of a lock that was not released.
        left: Option<String>,
    },
    /// A lock that could not be released at the end of a command.
    #[error(
        "the state in {place} may still be locked: {why}. When no program uses it any more, run `flightdeck force-unlock {id}`"
    )]
    LockLeftBehind {
        place: String,
        id: String,
        why: String,
    },
    /// The command was cancelled before its request was answered.
    #[error(
        "the state was not written to {place}: the command was stopped before the server answered"
    )]
    Stopped { place: String },
    #[error("{place} already has another state{}, so the state was not copied there", apart(.differ.as_deref()))]
    Occupied {
        place: String,
        /// Summary of the differences.
        differ: Option<String>,
    },
    #[error("the state file {} cannot be emptied: {source}", path.display())]
    NotEmptied {
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    /// Configuration and backend metadata disagree, or cannot be used.
    #[error("{0}")]
    Refused(String),
    #[error("the {kind} backend cannot be used as configured: {source}")]
    Backend { kind: BackendKind, source: Cause },
    #[error(
        "the {kind} backend supports only the default workspace, but {named:?} is selected; run `flightdeck workspace select default`, or unset TF_WORKSPACE"
    )]
    NoWorkspaces { kind: &'static str, named: String },
    #[error(
        "the backend metadata in {} cannot be used: {why}; run `flightdeck init -reconfigure` to write it again", path.display()
    )]
    Record { path: PathBuf, why: String },
    /// A task on another thread failed.
    #[error("an internal task that uses the state failed: {0}")]
    Task(Arc<tokio::task::JoinError>),
}

impl StateError {
    /// Failed request to a backend.
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
    pub(super) fn may_have_locked(&self) -> bool {
        let Self::Remote { source, .. } = self else {
            return false;
        };
        backend::may_have_succeeded(&**source)
    }

    /// The reason without the location.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Remote { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Combines the result of work under a lock with that of the unlock. If both failed, the error
    /// of the work also names the lock left behind.
    pub fn combine_with_unlock<T>(
        done: Result<T, Self>,
        unlocked: Result<(), Self>,
    ) -> Result<T, Self> {
        match (done, unlocked) {
            (Err(error), Err(Self::Remote { left: Some(id), .. })) => Err(error.with_lock_id(&id)),
            (done, unlocked) => {
                let done = done?;
                unlocked.map(|()| done)
            }
        }
    }

    /// Adds the id of a lock left behind, for the remedy.
    pub(super) fn with_lock_id(mut self, id: &str) -> Self {
        if let Self::Remote { left, .. } = &mut self {
            *left = Some(id.to_owned());
        }
        self
    }

    /// Does the file system or a permission forbid writes there?
    pub(super) fn is_write_denied(&self) -> bool {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
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

/// Reasons why a lock cannot be removed.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnlockError {
    #[error("the state is not locked")]
    NotLocked,
    #[error("the lock has the id {id}, not {asked:?}")]
    OtherId { id: String, asked: String },
    /// The lock is a system lock on a file.
    #[error("{0}. The lock on a file ends with the process that has it: end that process")]
    OfProcess(#[source] StateError),
}

fn apart(differ: Option<&str>) -> String {
    differ.map_or_else(String::new, |differ| format!(" ({differ})"))
}

fn stays_locked(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| {
        format!(". The state stays locked; run `flightdeck force-unlock {id}` to remove the lock")
    })
}

fn way_out(info: Option<&LockInfo>) -> String {
    match info {
        Some(info) if !info.id.is_empty() => format!(
            "; if its owner cannot release it any more, run `flightdeck force-unlock {}`",
            info.id
        ),
        _ => String::new(),
    }
}

fn holder(info: Option<&LockInfo>) -> String {
    let Some(info) = info else {
        return " by another process, which left no lock information".to_owned();
    };
    let id = &info.id;
    format!(
        " by {} ({}, version {}) since {}, lock {id}",
        info.who, info.operation, info.version, info.created
    )
}
