//! The local state file, `terraform.tfstate`, as OpenTofu uses it: a system lock on the file
//! itself, lock info beside it, and writes in place, because the lock belongs to the file and not
//! to its name.

use super::error::UnlockError;
use super::file_content::{
    MAX_STATE, content, digest, initial_content, is_initial, on_one_line, write_in_place,
};
use super::lock_info::is_plan;
use super::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use fsroot::{Refusal, RootedPath, is_same_file};
use model::mutex::lock;
use statefile::LockInfo;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Attempts to lock a file whose name another program gives to a new one.
const MAX_ATTEMPTS: u32 = 5;

/// Files of a state, relative to the workspace directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// Locked and written.
    pub path: PathBuf,
    /// Read, if different.
    pub read: Option<PathBuf>,
    pub backup: FileBackup,
}

/// Path of the backup that is written before the first change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileBackup {
    /// `NAME.backup` in the same directory.
    Sibling,
    At(PathBuf),
    NoBackup,
}

impl FilePlace {
    /// One file, with its backup in the same directory.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: None,
            backup: FileBackup::Sibling,
        }
    }
}

/// State manager of a state file.
#[derive(Clone)]
pub(super) struct StateFileManager(Arc<Inner>);

struct Inner {
    /// Path as configured, for messages.
    name: String,
    path: PathBuf,
    state: RootedPath,
    /// `.NAME.lock.info` in the same directory.
    info_path: RootedPath,
    backup: Option<RootedPath>,
    /// File to read the state from, if different.
    read: Option<PathBuf>,
    locks: bool,
    held_lock: Mutex<Option<Held>>,
}

/// The lock, while it is held.
struct Held {
    /// The only open handle: an OFD lock ends when it is closed.
    file: File,
    /// The file was created by this lock.
    created: bool,
    /// Content at the time of the lock, until it is written to the backup.
    backup_content: Option<Vec<u8>>,
    /// Digest of the content as this process last read or wrote it.
    last_digest: [u8; 32],
}

impl StateFileManager {
    /// State file of a workspace directory. Without `locks` neither the lock nor the lock info is
    /// used.
    pub(super) fn in_directory(dir: &Path, place: &FilePlace, locks: bool) -> Self {
        let inner = Inner::new(dir, &place.path);
        Self(Arc::new(Inner {
            read: place.read.as_ref().map(|path| dir.join(path)),
            backup: match &place.backup {
                FileBackup::Sibling => inner.backup,
                FileBackup::At(path) => Some(RootedPath::from_workspace(dir, path)),
                FileBackup::NoBackup => None,
            },
            locks,
            ..inner
        }))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Inner) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, StateError> {
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || job(&inner))
            .await
            .map_err(|e| StateError::Task(Arc::new(e)))?
    }
}

#[async_trait]
impl StateManager for StateFileManager {
    fn place(&self) -> String {
        self.0.name.clone()
    }

    fn layout(&self) -> Spelling {
        Spelling::Indented
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        self.blocking(move |inner| inner.acquire(&info)).await
    }

    async fn unlock(&self) -> Result<(), StateError> {
        self.blocking(Inner::release).await
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        self.blocking(Inner::read).await
    }

    /// Writes the backup.
    async fn prepare_write(&self) -> Result<(), StateError> {
        self.blocking(|inner| inner.write_backup(lock(&inner.held_lock).as_mut()))
            .await
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        self.blocking(move |inner| inner.write(&text)).await
    }

    /// A system lock ends with its process, so there is nothing to remove.
    async fn force_unlock(&self, _: &str) -> Result<(), StateError> {
        let info = LockInfo::default();
        let why = match self.lock(info).await {
            Ok(()) => {
                self.unlock().await?;
                UnlockError::NotLocked
            }
            Err(e @ StateError::Locked { .. }) => UnlockError::OfProcess(e),
            Err(e) => return Err(e),
        };
        Err(StateError::remote("unlock", self.0.name.clone(), why))
    }

    async fn delete(&self) -> Result<(), StateError> {
        self.blocking(|inner| {
            let removed = inner.state.remove_file();
            removed.map_err(StateError::io("remove", &inner.path))
        })
        .await
    }
}

impl Inner {
    fn new(dir: &Path, name: &Path) -> Self {
        let path = dir.join(name);
        let file = name.file_name().unwrap_or_default().to_string_lossy();
        let beside = |file: String| RootedPath::from_workspace(dir, &name.with_file_name(file));
        Self {
            name: name.display().to_string(),
            state: RootedPath::from_workspace(dir, name),
            info_path: beside(format!(
                ".{}.lock.info",
                file.strip_prefix('.').unwrap_or(&file)
            )),
            backup: Some(beside(format!("{file}.backup"))),
            read: None,
            locks: true,
            path,
            held_lock: Mutex::default(),
        }
    }

    fn acquire(&self, info: &LockInfo) -> Result<(), StateError> {
        let mut held = lock(&self.held_lock);
        if held.is_some() {
            return Ok(());
        }
        // Locked before the read, so the content cannot change in between.
        let (mut file, made) = match self.open_locked() {
            // A plan reads only, and without the lock it needs no write access.
            Err(error) if is_plan(info) && error.is_write_denied() => {
                return match self.locks {
                    true => Err(StateError::NotLockable(Box::new(error))),
                    false => Ok(()),
                };
            }
            opened => opened?,
        };
        let before = content(&mut file).map_err(StateError::io("read", &self.path))?;
        // With `-state-out` the file may be any file of the operator's.
        if self.read.is_some() && !is_initial(&before) && on_one_line(&before).is_none() {
            return Err(StateError::Refused(format!(
                "{} is not a state file, so it is not overwritten; name another file for the state",
                self.path.display()
            )));
        }
        if self.locks {
            let word = LockInfo {
                path: self.name.clone(),
                ..info.clone()
            };
            self.info_path
                .replace(word.to_line().as_bytes(), 0o600)
                .map_err(StateError::io("write", &self.info_path.path()))?;
        }
        *held = Some(Held {
            file,
            created: made,
            last_digest: digest(&before),
            backup_content: Some(before).filter(|text| !is_initial(text)),
        });
        Ok(())
    }

    /// Opens or creates the file and locks it; returns true if it was created.
    fn open_locked(&self) -> Result<(File, bool), StateError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        self.state
            .create_parents()
            .map_err(StateError::io("create", folder))?;
        for _ in 0..MAX_ATTEMPTS {
            let opened = self.state.open_in_place().map_err(|e| self.refused(e))?;
            if let Some(file) = opened {
                self.lock_file(&file)?;
                // Another program may have given the name to a new file between open and lock.
                if is_same_file(&file, &self.path) {
                    return Ok((file, false));
                }
                continue;
            }
            // Other programs lock the file itself, so it must exist during a deploy. It appears
            // with a state in it and already locked: a killed process never leaves an empty file,
            // which looks like a lost state.
            let made = self
                .state
                .create_atomic(initial_content().as_bytes(), 0o600, |file| {
                    self.lock_file(file).map_err(std::io::Error::other)
                })
                .map_err(StateError::io("create", &self.path))?;
            if let Some(file) = made {
                return Ok((file, true));
            }
        }
        let changing = std::io::Error::other("other programs keep replacing it");
        Err(StateError::io("lock", &self.path)(changing))
    }

    fn lock_file(&self, file: &File) -> Result<(), StateError> {
        if !self.locks {
            return Ok(());
        }
        // This lock belongs to the open handle, so two engines in one process exclude each other.
        match fsroot::try_lock(file) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let info = self.info_path.read().ok();
                Err(StateError::Locked {
                    place: self.name.clone(),
                    info: info.and_then(|text| LockInfo::read(&text)).map(Box::new),
                })
            }
            Err(e) => Err(StateError::io("lock", &self.path)(e)),
        }
    }

    fn refused(&self, error: std::io::Error) -> StateError {
        match Refusal::of(&error) {
            Some(Refusal::Type { .. }) => StateError::NotAFile {
                path: self.path.clone(),
            },
            _ => StateError::io("open", &self.path)(error),
        }
    }

    fn release(&self) -> Result<(), StateError> {
        let Some(mut held) = lock(&self.held_lock).take() else {
            return Ok(());
        };
        // Removed before the lock ends, so it never names an owner of a later lock.
        let removed = match self.locks {
            true => self.info_path.remove_file(),
            false => Ok(()),
        };
        // Removed while locked, so no other program can have written it.
        if held.created
            && content(&mut held.file)
                .is_ok_and(|text| is_initial(&text) && digest(&text) == held.last_digest)
            && is_same_file(&held.file, &self.path)
            && let Err(error) = self.state.remove_file()
        {
            tracing::warn!(%error, file = %self.path.display(), "cannot remove the new state file");
        }
        removed.map_err(StateError::io("remove", &self.info_path.path()))
    }

    fn read(&self) -> Result<Vec<u8>, StateError> {
        let path = self.read.as_ref().unwrap_or(&self.path);
        let io = StateError::io("read", path);
        // While locked, the open handle is read: the name may belong to another file by now.
        let text = match &mut *lock(&self.held_lock) {
            Some(held) if self.read.is_none() => content(&mut held.file),
            _ => match std::fs::metadata(path) {
                Ok(found) if !found.is_file() => {
                    return Err(StateError::NotAFile { path: path.clone() });
                }
                _ => fsroot::read_at_most(path, MAX_STATE),
            },
        };
        match text {
            // A deploy that was killed before its first write left it; there is no state.
            Ok(text) if is_initial(&text) => Ok(Vec::new()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            text => text.map_err(io),
        }
    }

    /// Writes the content found at the lock to the backup, once, before the first change.
    fn write_backup(&self, held: Option<&mut Held>) -> Result<(), StateError> {
        let Some(held) = held else {
            return Ok(());
        };
        if let (Some(line), Some(backup)) = (
            held.backup_content.as_deref().and_then(on_one_line),
            &self.backup,
        ) {
            // Colleagues who may write the state may write its backup too.
            let state = held.file.metadata().map_or(0o600, |found| found.mode());
            backup
                .replace_shared(line.as_bytes(), state & 0o666)
                .map_err(StateError::io("write", &backup.path()))?;
        }
        held.backup_content = None;
        Ok(())
    }

    fn write(&self, text: &str) -> Result<(), StateError> {
        let mut held = lock(&self.held_lock);
        let Some(held) = &mut *held else {
            let unlocked = std::io::Error::other("the state is not locked");
            return Err(StateError::io("write", &self.path)(unlocked));
        };
        // The lock protects the old file only; a write would go to a file that nobody reads.
        if !is_same_file(&held.file, &self.path) {
            let replaced = std::io::Error::other(
                "another file took its name after it was locked; move the new file away",
            );
            return Err(StateError::io("write", &self.path)(replaced));
        }
        let old = content(&mut held.file).map_err(StateError::io("read", &self.path))?;
        // A program that ignores locks wrote the file. Its state must not be lost.
        if digest(&old) != held.last_digest {
            return Err(StateError::Overwritten {
                place: self.name.clone(),
            });
        }
        self.write_backup(Some(held))?;
        let written = write_in_place(&mut held.file, text.as_bytes());
        if written.is_err() {
            // The old text fits, because its blocks were already allocated.
            drop(write_in_place(&mut held.file, &old));
        } else {
            // The next write must compare with the text that is now partly there.
            held.last_digest = digest(text.as_bytes());
        }
        written.map_err(StateError::io("write", &self.path))
    }
}

/// Lock of a state file, as found without taking it.
pub enum LeftLock {
    /// No lock.
    Nobody,
    /// A process has the lock; with its lock info, if readable.
    Held(Option<Box<LockInfo>>),
    /// No process has the lock, but lock info was left behind.
    Stale {
        info: Option<Box<LockInfo>>,
        /// File with the lock info.
        path: PathBuf,
    },
}

/// Checks who has the lock of a state file, without taking it.
pub fn check_lock(dir: &Path, name: &Path) -> LeftLock {
    let inner = Inner::new(dir, name);
    let text = inner.info_path.read().ok();
    let info = text.as_deref().and_then(LockInfo::read).map(Box::new);
    if inner
        .state
        .open()
        .is_ok_and(|file| fsroot::is_locked(&file))
    {
        LeftLock::Held(info)
    } else if text.is_some() {
        LeftLock::Stale {
            info,
            path: inner.info_path.path(),
        }
    } else {
        LeftLock::Nobody
    }
}
