//! File locks (`flock`) on the workspace's directory and on a file of the store. The system
//! releases them when the process ends, and they are visible in every namespace of the machine. The
//! lock on the directory still protects a workspace whose store was removed. The store's lock
//! record names the owner.

use super::{LivenessCheck, ProcessCheck};
use crate::LockHolder;
use rustix::fs::{FsWord, OFlags};
use std::cell::OnceCell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lock file in the store's directory.
const FILE: &str = "lock";
/// Attempts before the lock counts as held, because a check by another process takes it briefly.
const MAX_ATTEMPTS: u32 = 10;
/// Pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Lock lease, released when dropped.
#[derive(Debug)]
pub struct Lease {
    _locked: Vec<File>,
    /// True if no other process can have the lock: the file system is local and supports such
    /// locks.
    pub certain: bool,
}

/// Result of a check of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseStatus {
    /// A running process has it.
    Held,
    /// No process has it.
    Free,
    /// Unknown: the file system does not support it, or the file does not exist.
    Unclear,
}

/// Takes the lock for the store in `dir` (`…/.flightdeck`); `None` if another process has it.
/// Blocks for at most a fifth of a second per lock.
pub fn try_acquire(dir: &Path) -> io::Result<Option<Lease>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_follow())
        .open(dir.join(FILE))?;
    let mut locked = Vec::new();
    let mut certain = is_local(&file);
    for (handle, decides) in [(workspace(dir), false), (Ok(file), true)] {
        // If the directory cannot be opened or locked (network file systems), the lock on the file
        // still protects the store.
        let Ok(handle) = handle else { continue };
        match lock_with_retry(&handle) {
            Ok(true) => locked.push(handle),
            Ok(false) => return Ok(None),
            Err(_) if !decides => {}
            Err(_) => certain = false,
        }
    }
    Ok(Some(Lease {
        _locked: locked,
        certain,
    }))
}

/// Checks the lock without taking it for longer than a moment.
pub(crate) fn status(dir: &Path) -> LeaseStatus {
    let Ok(file) = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow())
        .open(dir.join(FILE))
    else {
        return LeaseStatus::Unclear;
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => LeaseStatus::Held,
        // Closing the file releases the shared lock.
        Ok(()) if is_local(&file) => LeaseStatus::Free,
        _ => LeaseStatus::Unclear,
    }
}

/// Returns the process that holds the lock on the workspace of the store in `dir`, if it has a pid
/// in this namespace.
pub fn owner_pid(dir: &Path) -> Option<u32> {
    let about = workspace(dir).ok()?.metadata().ok()?;
    // `/proc/locks` names files by device and inode.
    let place = format!(
        "{:02x}:{:02x}:{}",
        rustix::fs::major(about.dev()),
        rustix::fs::minor(about.dev()),
        about.ino()
    );
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let line = locks
        .lines()
        .find(|l| l.contains("FLOCK") && l.contains(&place))?;
    line.split_whitespace().nth(4)?.parse().ok()
}

fn workspace(dir: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::DIRECTORY | OFlags::CLOEXEC).bits()).unwrap_or(0);
    let parent = dir
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(parent)
}

fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).unwrap_or(0)
}

fn lock_with_retry(file: &File) -> io::Result<bool> {
    for _ in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Returns true if the file is on a local disk. On network and FUSE file systems a lock may not be
/// visible to other machines or processes.
fn is_local(file: &File) -> bool {
    /// NFS, SMB, SMB 2, CIFS, 9P, FUSE, AFS, Coda, Ceph: `f_type` in statfs(2).
    const REMOTE: [FsWord; 9] = [
        0x6969,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x0102_1997,
        0x6573_5546,
        0x5346_414f,
        0x7375_7245,
        0x00c3_6400,
    ];
    rustix::fs::fstatfs(file).is_ok_and(|about| !REMOTE.contains(&about.f_type))
}

/// Checks lock owners by the file lock if the owner has one, otherwise by pid.
pub struct LeaseCheck {
    dir: PathBuf,
    status: OnceCell<LeaseStatus>,
}

impl LeaseCheck {
    /// Creates the check for the store whose database is `path`. The lock is checked once, on first
    /// use.
    pub fn for_store(path: &Path) -> Self {
        Self {
            dir: path.parent().unwrap_or(path).to_owned(),
            status: OnceCell::new(),
        }
    }

    /// Creates the check for a process that has the lock itself, so that no other process has it.
    pub fn held_by_caller(certain: bool) -> Self {
        Self {
            dir: PathBuf::new(),
            status: OnceCell::from(if certain {
                LeaseStatus::Free
            } else {
                LeaseStatus::Unclear
            }),
        }
    }
}

impl LivenessCheck for LeaseCheck {
    fn is_alive(&self, holder: &LockHolder) -> bool {
        // Owners recorded by processes without a file lock are checked by pid alone.
        if holder.leased {
            match self.status.get_or_init(|| status(&self.dir)) {
                LeaseStatus::Held => return true,
                LeaseStatus::Free => return false,
                LeaseStatus::Unclear => {}
            }
        }
        ProcessCheck.is_alive(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_excludes_others_and_ends_with_its_owner() {
        let workspace = tempfile::tempdir().unwrap();
        let dir = workspace.path().join(".flightdeck");
        std::fs::create_dir(&dir).unwrap();
        assert_eq!(status(&dir), LeaseStatus::Unclear, "there is no file yet");
        let lease = try_acquire(&dir).unwrap().unwrap();
        assert!(
            lease.certain,
            "the temporary directory is on a disk of this machine"
        );
        assert_eq!(
            (status(&dir), try_acquire(&dir).unwrap().is_none()),
            (LeaseStatus::Held, true)
        );
        assert_eq!(owner_pid(&dir), Some(std::process::id()));
        // The store is taken away: whoever makes a new one still meets the lock.
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::create_dir(&dir).unwrap();
        assert!(try_acquire(&dir).unwrap().is_none());
        drop(lease);
        assert!(try_acquire(&dir).unwrap().is_some());
        assert_eq!(status(&dir), LeaseStatus::Free);
    }
}
