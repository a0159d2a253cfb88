//! Errors of the store.

use model::LockHolder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Evidence of a damaged store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Damage {
    #[error("it is empty")]
    Empty,
    #[error("it is truncated")]
    CutOff,
    /// Missing table or index, described.
    #[error("{0} is missing")]
    MissingPart(String),
    #[error(transparent)]
    Sqlite(Arc<rusqlite::Error>),
}

/// Reasons why a file is not a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAStore {
    #[error("it is not a SQLite file")]
    NoDatabase,
    #[error("it is another program's SQLite file")]
    OfAnother,
}

/// Signs that another user or program placed the store's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignFile {
    /// Kind of file in the place of a directory or plain file.
    #[error("it is {0}")]
    Is(&'static str),
    #[error("it has other names (hard links), and a write would change those files too")]
    HardLinks,
    /// Unexpected trigger or view, described.
    #[error("it contains {0}, which flightdeck did not create")]
    Object(String),
}

/// Source of a refused write.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteDenied {
    #[error(transparent)]
    System(Arc<std::io::Error>),
    #[error(transparent)]
    Sqlite(Arc<rusqlite::Error>),
}

/// Reasons why the store cannot be opened, read or written. Cheap to clone, because one failed
/// commit answers many waiting writers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("cannot write in {}: {source}; give yourself write permission there, work on a copy, or set FLIGHTDECK_DATA_DIR to a directory for the store", path.display())]
    ReadOnlyDirectory { path: PathBuf, source: WriteDenied },
    #[error("cannot read {}: {source}; it belongs to another user: run flightdeck as its owner, or ask the owner for permission", path.display())]
    Unreadable {
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error("no space left on the disk that holds {}; nothing of this step was saved: free some space and try again", path.display())]
    DiskFull { path: PathBuf },
    #[error(
        "{} cannot be read or written ({source}); nothing of this step was saved: check the disk (`dmesg`), quotas and `ulimit -f`, and try again",
        path.display()
    )]
    Disk {
        path: PathBuf,
        source: Arc<rusqlite::Error>,
    },
    #[error("a record for the store {} is larger than a gigabyte; split the configuration into smaller ones", path.display())]
    TooBig { path: PathBuf },
    #[error("{} has been locked by another program for more than {waited_s} s; wait for it to end, or find it with `fuser {}`", path.display(), path.display())]
    Busy { path: PathBuf, waited_s: u64 },
    #[error(
        "the store {} was lost while it was open: {why}. No further operations are started, because flightdeck cannot record them",
        path.display()
    )]
    Vanished { path: PathBuf, why: &'static str },
    #[error(
        "the store {} has no records, but the rescue file {} has the state of the last deploy, which could no longer write to its store; replace the store with the rescue file ({}), or move the rescue file away to start without a state",
        path.display(), rescue.display(), super::rescue_instructions(path, rescue)
    )]
    Rescued { path: PathBuf, rescue: PathBuf },
    #[error("{} is damaged ({source}); move it away together with its -wal and -shm files, and restore a copy or import the resources again", path.display())]
    Damaged { path: PathBuf, source: Damage },
    #[error(
        "{} was written by a newer flightdeck (its schema version is {theirs}, this flightdeck supports up to {ours}); use that newer flightdeck, or move the file away to start without its state",
        path.display()
    )]
    Newer {
        path: PathBuf,
        theirs: i64,
        ours: i64,
    },
    #[error("flightdeck does not use {}: {source}; it was not changed: check where it comes from, and move it away", path.display())]
    Foreign { path: PathBuf, source: ForeignFile },
    /// Users by number.
    #[error(
        "flightdeck does not use {}: it belongs to the user id {owner}, but flightdeck runs as the user id {me}; it was not changed: run flightdeck as its owner, or change the owner with `chown -R`",
        path.display()
    )]
    NotYours { path: PathBuf, owner: u32, me: u32 },
    #[error("{} is not a flightdeck store ({source}); it was not changed: move it away", path.display())]
    NotOurs { path: PathBuf, source: NotAStore },
    #[error("the workspace is locked by {} on {} (pid {}) since {}: {}", .0.who, .0.host, .0.pid, when(.0.since), .0.reason)]
    Locked(Box<LockHolder>),
    #[error(
        "this flightdeck process no longer has the workspace lock: another flightdeck process has acquired it, or the lock was released; run the command again when no other flightdeck uses the workspace"
    )]
    LockLost,
    /// `owner` is empty if no process leads.
    #[error(
        "this flightdeck process no longer leads the reconcile loop{}; it starts nothing more",
        if owner.is_empty() { String::new() } else { format!(", which is led by {owner}") }
    )]
    NotLeader { owner: String },
    #[error("the store is open read-only, so {what} cannot be written")]
    ReadOnly { what: &'static str },
    #[error(
        "{to} is already in the state, so {from} cannot be moved there; move or forget {to} first"
    )]
    Occupied { from: String, to: String },
    #[error("{what} {id} was not found")]
    Missing { what: &'static str, id: String },
    #[error(
        "the store's writer thread has ended, so nothing more can be written; start flightdeck again"
    )]
    Closed,
    #[error("a record in {} cannot be read: {what}: {source}", path.display())]
    Record {
        path: PathBuf,
        what: &'static str,
        source: Arc<serde_json::Error>,
    },
    #[error("{what}: {source}")]
    Io {
        what: String,
        source: Arc<std::io::Error>,
    },
    #[error("the store {} failed: {source}", path.display())]
    Sqlite {
        path: PathBuf,
        source: Arc<rusqlite::Error>,
    },
}

fn when(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(
        |_| at.to_string(),
        |t| t.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
    )
}

/// Seconds that a connection waits for another program's lock.
pub(super) const BUSY_SECONDS: u64 = 5;

impl StoreError {
    /// Is this user denied access, with the store itself intact?
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::ReadOnlyDirectory { .. }
                | Self::Unreadable { .. }
                | Self::NotYours { .. }
                | Self::Foreign {
                    source: ForeignFile::Is(_),
                    ..
                }
        )
    }

    /// Error of a file that cannot be read.
    pub(super) fn unreadable(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Unreadable {
                path: path.to_owned(),
                source: Arc::new(source),
            },
            _ => Self::io(path, "read", source),
        }
    }

    /// Error of a directory above the store that is refused.
    pub(super) fn unchecked(path: &Path, source: std::io::Error) -> Self {
        match fsroot::Refusal::of(&source) {
            Some(fsroot::Refusal::Link { path }) => Self::Foreign {
                path: path.clone(),
                source: ForeignFile::Is("a symbolic link"),
            },
            _ => Self::io(path, "open", source),
        }
    }

    pub(super) fn io(path: &Path, what: &str, source: std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        match source.kind() {
            K::PermissionDenied | K::ReadOnlyFilesystem => Self::ReadOnlyDirectory {
                path: path.to_owned(),
                source: WriteDenied::System(Arc::new(source)),
            },
            K::StorageFull | K::QuotaExceeded => Self::DiskFull {
                path: path.to_owned(),
            },
            _ => Self::Io {
                what: format!("cannot {what} {}", path.display()),
                source: Arc::new(source),
            },
        }
    }
}
