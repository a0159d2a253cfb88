//! The state in a file, `terraform.tfstate`, as OpenTofu keeps it: locked by a lock of the system
//! on the file itself, with a word beside it who has it, and written in place, since the lock hangs
//! on the file and not on its name.

use super::error::UnlockError;
use super::{Home, HomeError, Spelling};
use crate::engine::mutex::lock;
use async_trait::async_trait;
use nix::fcntl::{FcntlArg, fcntl};
use statefile::encryption::is_sealed;
use statefile::{LockInfo, StateFile};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A name that is given to another file while it is locked is looked up again that often.
const TRIES: u32 = 5;

/// A file of a workspace.
#[derive(Clone)]
pub(super) struct InFile(Arc<Inner>);

struct Inner {
    /// As the configuration has it.
    name: String,
    path: PathBuf,
    held: Mutex<Option<Held>>,
}

/// The lock, for as long as it is held.
struct Held {
    /// The one handle: the lock is its own.
    file: File,
    /// Whether it was not there before.
    made: bool,
    /// What was there when it was locked, until that is kept beside it.
    before: Option<Vec<u8>>,
}

impl InFile {
    /// The file of this name, seen from the workspace's directory.
    pub(super) fn new(dir: &Path, name: &Path) -> Self {
        Self(Arc::new(Inner {
            name: name.display().to_string(),
            path: dir.join(name),
            held: Mutex::default(),
        }))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Inner) -> Result<T, HomeError> + Send + 'static,
    ) -> Result<T, HomeError> {
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || job(&inner))
            .await
            .map_err(|e| HomeError::Task(Arc::new(e)))?
    }
}

#[async_trait]
impl Home for InFile {
    fn place(&self) -> String {
        self.0.name.clone()
    }

    fn spelling(&self) -> Spelling {
        Spelling::Indented
    }

    async fn lock(&self, info: LockInfo) -> Result<(), HomeError> {
        self.blocking(move |inner| inner.take(&info)).await
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        self.blocking(Inner::release).await
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        self.blocking(Inner::read).await
    }

    /// Keeps beside it what was there.
    async fn prepare(&self) -> Result<(), HomeError> {
        self.blocking(|inner| inner.keep(lock(&inner.held).as_mut()))
            .await
    }

    async fn write(&self, text: String) -> Result<(), HomeError> {
        self.blocking(move |inner| inner.write(&text)).await
    }

    /// The lock is the system's, and goes with the process that has it.
    async fn force_unlock(&self, _: &str) -> Result<(), HomeError> {
        let info = LockInfo::default();
        let why = match self.lock(info).await {
            Ok(()) => {
                self.unlock().await?;
                UnlockError::NotLocked
            }
            Err(e @ HomeError::Locked { .. }) => UnlockError::OfProcess(e),
            Err(e) => return Err(e),
        };
        Err(HomeError::remote("unlock", self.0.name.clone(), why))
    }

    async fn delete(&self) -> Result<(), HomeError> {
        self.blocking(|inner| {
            let removed = std::fs::remove_file(&inner.path);
            removed.map_err(HomeError::io("remove", &inner.path))
        })
        .await
    }
}

impl Inner {
    /// `.NAME.lock.info` beside the file.
    fn info(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_prefix('.').unwrap_or(&name);
        self.path.with_file_name(format!(".{name}.lock.info"))
    }

    fn backup(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".backup");
        name.into()
    }

    fn take(&self, info: &LockInfo) -> Result<(), HomeError> {
        let mut held = lock(&self.held);
        if held.is_some() {
            return Ok(());
        }
        let (mut file, made) = self.locked()?;
        let before = content(&mut file).map_err(HomeError::io("read", &self.path))?;
        let word = LockInfo {
            path: self.name.clone(),
            ..info.clone()
        };
        let info = self.info();
        private(&info)
            .and_then(|mut file| file.write_all(word.to_line().as_bytes()))
            .map_err(HomeError::io("write", &info))?;
        *held = Some(Held {
            file,
            made,
            before: Some(before).filter(|text| !text.is_empty()),
        });
        Ok(())
    }

    /// The file, locked, and whether it was made for that.
    fn locked(&self) -> Result<(File, bool), HomeError> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(HomeError::io("create", folder))?;
        }
        for _ in 0..TRIES {
            let made = match std::fs::metadata(&self.path) {
                Ok(found) if !found.is_file() => {
                    return Err(HomeError::NotAFile {
                        path: self.path.clone(),
                    });
                }
                Ok(_) => false,
                Err(e) if e.kind() == ErrorKind::NotFound => true,
                Err(e) => return Err(HomeError::io("read", &self.path)(e)),
            };
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&self.path)
                .map_err(HomeError::io("open", &self.path))?;
            match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())) {
                Ok(_) => {}
                Err(nix::Error::EAGAIN | nix::Error::EACCES) => {
                    let info = std::fs::read(self.info()).ok();
                    return Err(HomeError::Locked {
                        place: self.name.clone(),
                        info: info.and_then(|text| LockInfo::read(&text)).map(Box::new),
                    });
                }
                Err(e) => return Err(HomeError::io("lock", &self.path)(e.into())),
            }
            // Whoever gave the name to another file meanwhile left us a lock on the old one.
            if same_file(&file, &self.path) {
                return Ok((file, made));
            }
        }
        let changing = std::io::Error::other("it is replaced by other files all the time");
        Err(HomeError::io("lock", &self.path)(changing))
    }

    fn release(&self) -> Result<(), HomeError> {
        let Some(held) = lock(&self.held).take() else {
            return Ok(());
        };
        let removed = match std::fs::remove_file(self.info()) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        let empty = held.file.metadata().is_ok_and(|found| found.len() == 0);
        if held.made && empty && same_file(&held.file, &self.path) {
            drop(std::fs::remove_file(&self.path));
        }
        removed.map_err(HomeError::io("remove", &self.info()))
    }

    fn read(&self) -> Result<Vec<u8>, HomeError> {
        let io = HomeError::io("read", &self.path);
        if let Some(held) = &mut *lock(&self.held) {
            return content(&mut held.file).map_err(io);
        }
        match std::fs::metadata(&self.path) {
            Ok(found) if !found.is_file() => Err(HomeError::NotAFile {
                path: self.path.clone(),
            }),
            Ok(_) => std::fs::read(&self.path).map_err(io),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(io(e)),
        }
    }

    /// Keeps what was there when it was locked beside it; once, before the first change.
    fn keep(&self, held: Option<&mut Held>) -> Result<(), HomeError> {
        let Some(held) = held else {
            return Ok(());
        };
        if let Some(line) = held.before.as_deref().and_then(on_one_line) {
            let backup = self.backup();
            private(&backup)
                .and_then(|mut to| {
                    to.write_all(line.as_bytes())?;
                    to.sync_all()
                })
                .map_err(HomeError::io("write", &backup))?;
        }
        held.before = None;
        Ok(())
    }

    fn write(&self, text: &str) -> Result<(), HomeError> {
        let mut held = lock(&self.held);
        let Some(held) = &mut *held else {
            let unlocked = std::io::Error::other("it is not locked");
            return Err(HomeError::io("write", &self.path)(unlocked));
        };
        if !same_file(&held.file, &self.path) {
            let replaced = std::io::Error::other(
                "another file has its name since it was locked; move that one away",
            );
            return Err(HomeError::io("write", &self.path)(replaced));
        }
        self.keep(Some(held))?;
        let old = content(&mut held.file).map_err(HomeError::io("read", &self.path))?;
        let written = put(&mut held.file, text.as_bytes());
        if written.is_err() {
            // What was there needs no more room than it had.
            drop(put(&mut held.file, &old));
        }
        written.map_err(HomeError::io("write", &self.path))
    }
}

/// What is left of a lock on a state's file.
pub enum LeftLock {
    /// Nothing.
    Nobody,
    /// A process has it, and says so.
    Held(Option<Box<LockInfo>>),
    /// Nobody has it, and a word of it is left.
    Gone {
        info: Option<Box<LockInfo>>,
        /// The file with that word.
        path: PathBuf,
    },
}

/// Who has the lock on a state's file, without taking it.
pub fn left_lock(path: &Path) -> LeftLock {
    let inner = Inner {
        name: path.display().to_string(),
        path: path.to_owned(),
        held: Mutex::default(),
    };
    let word = inner.info();
    let text = std::fs::read(&word).ok();
    let info = text.as_deref().and_then(LockInfo::read).map(Box::new);
    if File::open(path).is_ok_and(|file| is_locked(&file)) {
        LeftLock::Held(info)
    } else if text.is_some() {
        LeftLock::Gone { info, path: word }
    } else {
        LeftLock::Nobody
    }
}

fn is_locked(file: &File) -> bool {
    let mut request = whole_file();
    // Told is the first lock that would be in the way; its kind is "none" where there is none.
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut request)).is_ok()
        && request.l_type != nix::libc::F_UNLCK as nix::libc::c_short
}

fn whole_file() -> nix::libc::flock {
    nix::libc::flock {
        l_type: nix::libc::F_WRLCK as _,
        l_whence: nix::libc::SEEK_SET as _,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// A state file as it is kept beside another; `None` for what is no state file.
fn on_one_line(text: &[u8]) -> Option<String> {
    if is_sealed(text) {
        let text = std::str::from_utf8(text).ok()?;
        return Some(statefile::compact(text) + "\n");
    }
    StateFile::read_on_one_line(text).ok()?
}

/// A file for its owner alone, emptied.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

fn content(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    Ok(text)
}

fn put(file: &mut File, text: &[u8]) -> std::io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(text)?;
    file.sync_all()
}

fn same_file(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}
