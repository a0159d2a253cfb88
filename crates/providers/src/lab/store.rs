//! A JSON file that several processes and the operator share. A change holds the lock beside the
//! file and replaces the file in one step, so that no reader sees half of one and no killed writer
//! leaves it. Owns no memory between calls: the file is the truth.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::LabError;

/// How long a process waits for another one's change of the file.
pub(super) const LOCK_DEADLINE: Duration = Duration::from_secs(60);
/// How long it waits before it tries again: at first, and at most.
const LOCK_RETRY: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// A JSON file that several processes change; a small one, since it is read and written as a whole.
#[derive(Clone, Debug)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// The file at a path; it need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> SharedFile {
        SharedFile { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds now; the default where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not the JSON that is expected.
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

    /// Changes the file under its lock. Nothing is written when `change` fails or changes nothing.
    ///
    /// # Errors
    /// When the file cannot be locked, read or written, or when `change` fails.
    pub fn update<T, R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Default + DeserializeOwned + Serialize + Clone + PartialEq,
        E: From<LabError>,
    {
        let _lock = self.lock()?;
        let before: T = self.load()?;
        let mut after = before.clone();
        let result = change(&mut after)?;
        if after != before {
            self.replace(&after)?;
        }
        Ok(result)
    }

    /// The path of what belongs to the file and lies beside it.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }

    /// Locks the file for as long as the answer lives.
    pub(super) fn lock(&self) -> Result<File, LabError> {
        let path = self.beside(".lock");
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
                fs::create_dir_all(path.parent().unwrap_or(&path))
                    .and_then(|()| open())
                    .map_err(failed)?
            }
            opened => opened.map_err(failed)?,
        };
        let deadline = Instant::now() + LOCK_DEADLINE;
        let (mut retry, longest) = LOCK_RETRY;
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

    /// Writes the file anew, in one step; to be called under its lock. The answer is what was
    /// written.
    pub(super) fn replace<T: Serialize>(&self, content: &T) -> Result<Vec<u8>, LabError> {
        // Another writer's, who was killed: under the lock there is only one.
        let temporary = self.beside(".unfinished");
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
    fn writers_at_the_same_time_lose_nothing() {
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
    fn a_change_that_fails_leaves_the_file_as_it_was() {
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
    fn what_a_killed_writer_left_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedFile::new(dir.path().join("count"));
        fs::write(file.beside(".unfinished"), "half of someth").unwrap();
        set(&file, |_| 7);
        assert_eq!(file.load::<u32>().unwrap(), 7);
        assert!(!file.beside(".unfinished").exists());
    }
}
