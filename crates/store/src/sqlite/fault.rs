//! Errors of a database job, and their translation to [`StoreError`].

use crate::error::{BUSY_SECONDS, Damage, NotAStore, StoreError, WriteDenied};
use rusqlite::ErrorCode;
use std::path::Path;
use std::sync::Arc;

/// Error of a job, before the file is added.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Json(&'static str, serde_json::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sqlite(e)
    }
}

impl From<StoreError> for Fault {
    fn from(e: StoreError) -> Self {
        Self::Store(e)
    }
}

impl Fault {
    /// Adds the file and classifies the error.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Store(e) => e,
            Self::Json(what, source) => StoreError::Record {
                path,
                what,
                source: Arc::new(source),
            },
            // The file is shorter than its header says.
            Self::Sqlite(e)
                if e.sqlite_error()
                    .is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ) =>
            {
                StoreError::Damaged {
                    path,
                    source: Damage::CutOff,
                }
            }
            // The shared-memory file of the readers cannot grow.
            Self::Sqlite(e)
                if e.sqlite_error()
                    .is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE) =>
            {
                StoreError::DiskFull { path }
            }
            // The column's value cannot have been written by this store.
            Self::Sqlite(
                e @ (rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..)),
            ) => StoreError::Damaged {
                path,
                source: Damage::Sqlite(Arc::new(e)),
            },
            Self::Sqlite(e) => match e.sqlite_error_code() {
                Some(ErrorCode::SystemIoFailure) => StoreError::Disk {
                    path,
                    source: Arc::new(e),
                },
                Some(ErrorCode::TooBig) => StoreError::TooBig { path },
                Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
                    path,
                    waited_s: BUSY_SECONDS,
                },
                Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
                    path,
                    source: Damage::Sqlite(Arc::new(e)),
                },
                Some(ErrorCode::NotADatabase) => StoreError::NotOurs {
                    path,
                    source: NotAStore::NoDatabase,
                },
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    StoreError::ReadOnlyDirectory {
                        path,
                        source: WriteDenied::Sqlite(Arc::new(e)),
                    }
                }
                _ => StoreError::Sqlite {
                    path,
                    source: Arc::new(e),
                },
            },
        }
    }
}

pub(crate) type Job<T> = Result<T, Fault>;
