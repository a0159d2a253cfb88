//! JSON file shared by several processes and the operator. A change holds the lock (a file next to
//! it) and replaces the file atomically, so readers never see a partial file, and killed writers
//! never leave one. Keeps nothing in memory between calls.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::LabError;

/// Maximum wait for the lock.
pub(super) const LOCK_DEADLINE: Duration = Duration::from_secs(60);
/// First and maximum pause between two attempts to lock.
const LOCK_RETRY: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// Small JSON file that several processes change; always read and written as a whole.
#[derive(Clone, Debug)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// Creates the handle of the file at a path; the file need not exist.
    pub fn new(path: impl Into<PathBuf>) -> SharedFile {
        SharedFile { path: path.into() }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; returns the default value if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the expected content.
    pub fn load<T: Default + DeserializeOwned>(&self) -> Result<T, LabError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
            Err(source) => {
                return Err(LabError::Io {
                    doing: "read",
                    path: self.path.clone(),
                    source,
                });
            }
        };
        serde_json::from_slice(&bytes).map_err(|source| LabError::Unreadable {
            path: self.path.clone(),
            source,
        })
    }

    /// Changes the file under its lock. Nothing is written if `change` fails or changes nothing.
    ///
    /// # Errors
    /// The file cannot be locked, read or written, or `change` fails.
    pub fn update<T, R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Default + DeserializeOwned + Serialize + Clone + PartialEq,
        E: From<LabError>,
    {
        // A separate lock file, because the file itself is replaced.
        let _lock = self.lock()?;
        let before: T = self.load()?;
        // A copy, to write the file only if `change` changed something.
        let mut after = before.clone();
        let result = change(&mut after)?;
        if after != before {
            self.replace(&after)?;
        }
        Ok(result)
    }

    /// Returns the path of an auxiliary file beside this one.
    pub(super) fn sibling_path(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }

    /// Locks the file until the returned handle is dropped.
    pub(super) fn lock(&self) -> Result<File, LabError> {
        let path = self.sibling_path(".lock");
        let failed = |source| LabError::Io {
            doing: "lock",
            path: path.clone(),
            source,
        };
        let open = || {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(&path)
        };
        let file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The directory is created on first use.
                fs::create_dir_all(path.parent().unwrap_or(&path))
                    .and_then(|()| open())
                    .map_err(failed)?
            }
            opened => opened.map_err(failed)?,
        };
        let deadline = Instant::now() + LOCK_DEADLINE;
        let (mut retry, longest) = LOCK_RETRY;
        // Polls with a deadline, because a blocking system lock cannot time out.
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
                Err(fs::TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(LabError::Locked {
                        path,
                        waited_s: LOCK_DEADLINE.as_secs(),
                    });
                }
                Err(fs::TryLockError::WouldBlock) => {
                    std::thread::sleep(retry);
                    retry = longest.min(retry * 2);
                }
            }
        }
    }

    /// Replaces the file atomically; must be called under its lock. Returns the written bytes.
    pub(super) fn replace<T: Serialize>(&self, content: &T) -> Result<Vec<u8>, LabError> {
        // Left by a killed writer; the lock guarantees that no other writer is active.
        let temporary = self.sibling_path(".unfinished");
        let _nothing_there = fs::remove_file(&temporary);
        let mut bytes =
            serde_json::to_vec_pretty(content).map_err(|source| LabError::Unreadable {
                path: self.path.clone(),
                source,
            })?;
        bytes.push(b'\n');
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .open(&temporary)?;
            file.write_all(&bytes)?;
            // The contents must be on disk before the rename makes them the file.
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        };
        write().map_err(|source| {
            let _nothing_was_made = fs::remove_file(&temporary);
            LabError::Io {
                doing: "write",
                path: self.path.clone(),
                source,
            }
        })?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(file: &SharedFile, next: impl FnOnce(u32) -> u32) {
        let change = |count: &mut u32| -> Result<(), LabError> {
            *count = next(*count);
            Ok(())
        };
        file.update(change).unwrap();
    }

    #[test]
    fn concurrent_writers_lose_no_update() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/count");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let file = SharedFile::new(&path);
                scope.spawn(move || {
                    for _ in 0..20 {
                        set(&file, |count| count + 1);
                    }
                });
            }
        });
        assert_eq!(SharedFile::new(&path).load::<u32>().unwrap(), 160);
        let left: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(
            left.len(),
            2,
            "only the file and its lock are left: {left:?}"
        );
    }

    #[test]
    fn failed_update_leaves_the_file_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedFile::new(dir.path().join("count"));
        set(&file, |_| 7);
        let before = fs::read(file.path()).unwrap();
        let refused = file.update(|count: &mut u32| {
            *count = 8;
            Err::<(), _>(LabError::Locked {
                path: PathBuf::new(),
                waited_s: 0,
            })
        });
        assert!(refused.is_err());
        assert_eq!(fs::read(file.path()).unwrap(), before);
    }

    #[test]
    fn leftover_unfinished_file_does_not_block_the_next_writer() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedFile::new(dir.path().join("count"));
        fs::write(file.sibling_path(".unfinished"), "half of someth").unwrap();
        set(&file, |_| 7);
        assert_eq!(file.load::<u32>().unwrap(), 7);
        assert!(!file.sibling_path(".unfinished").exists());
    }
}
