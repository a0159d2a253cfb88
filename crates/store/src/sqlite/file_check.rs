//! Check that the store's files are still those that were opened. Writes to a removed, replaced or
//! truncated store succeed and are lost.

use crate::error::StoreError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The database and its log as last seen.
pub(super) struct Anchor {
    path: PathBuf,
    database: FileState,
    /// Set from the first write on.
    log: Option<FileState>,
    /// The first problem found. It is kept, because later writes may hide it.
    problem: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
}

impl FileState {
    fn is_same(self, other: Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

fn file_state(path: &Path) -> Option<FileState> {
    let about = std::fs::symlink_metadata(path).ok()?;
    Some(FileState {
        device: about.dev(),
        inode: about.ino(),
        size: about.size(),
    })
}

impl Anchor {
    /// Anchor of the open database at `path`.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(Self {
            path: path.to_owned(),
            database: file_state(path)?,
            log: None,
            problem: None,
        })
    }

    /// Checks the files again.
    ///
    /// # Errors
    /// [`StoreError::Vanished`] with the reason.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        self.problem = self.problem.or_else(|| self.find_problem());
        match self.problem {
            Some(why) => Err(StoreError::Vanished {
                path: self.path.clone(),
                why,
            }),
            None => Ok(()),
        }
    }

    fn find_problem(&mut self) -> Option<&'static str> {
        let Some(now) = file_state(&self.path) else {
            return Some("it was removed");
        };
        if !now.is_same(self.database) {
            return Some("another file is in its place");
        }
        // Both files only grow while this process has them open.
        if now.size < self.database.size {
            return Some("it was truncated");
        }
        self.database = now;
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        let log = file_state(Path::new(&name));
        match (self.log, log) {
            (Some(_), None) => return Some("its log was removed"),
            (Some(before), Some(now)) if !now.is_same(before) => {
                return Some("another file is in its log's place");
            }
            (Some(before), Some(now)) if now.size < before.size => {
                return Some("its log was truncated");
            }
            _ => self.log = log,
        }
        None
    }
}
