//! The lock that the system holds for us: on the workspace's directory and on a file of the store.
//! It ends with the process, whatever becomes of it, and is seen from every namespace of the
//! machine; the one on the directory outlives a store that is taken away. Beside it there is a
//! record, which says who it is.

use super::{ByNumber, Judge};
use crate::engine::words::LockHolder;
use rustix::fs::{FsWord, OFlags};
use std::cell::OnceCell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file beside the store.
const FILE: &str = "lock";
/// A look whether somebody holds it takes it for a moment: it is tried again that often before it
/// counts as held.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(20);

/// Held as long as it lives.
#[derive(Debug)]
pub(in crate::engine) struct Lease {
    _locked: Vec<File>,
    /// Whether nobody else can have it: the file system is this machine's own, and knows such
    /// locks.
    pub(in crate::engine) certain: bool,
}

/// What a look at it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Look {
    /// A process that runs has it.
    Held,
    /// Nobody has it.
    Free,
    /// The file system cannot tell, or the file is not there.
    Unclear,
}

/// Takes the lock for the store in `dir` (`…/.flightdeck`); `None` where somebody else has it.
/// Blocks for a fifth of a second at most.
pub(in crate::engine) fn take(dir: &Path) -> io::Result<Option<Lease>> {
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
        // A directory that cannot be opened, or cannot be locked (network file systems), costs only
        // the second line of defence.
        let Ok(handle) = handle else { continue };
        match wait_for(&handle) {
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

/// Whether somebody has it now.
pub(in crate::engine) fn look(dir: &Path) -> Look {
    let Ok(file) = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow())
        .open(dir.join(FILE))
    else {
        return Look::Unclear;
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Look::Held,
        // Closing gives it back.
        Ok(()) if is_local(&file) => Look::Free,
        _ => Look::Unclear,
    }
}

/// The process that holds the lock of the workspace of the store in `dir`, as far as it has a
/// number here.
pub(in crate::engine) fn holder(dir: &Path) -> Option<u32> {
    let about = workspace(dir).ok()?.metadata().ok()?;
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

fn wait_for(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Whether the file lies on this machine's own disk: over a network, or through a program, a lock
/// may mean nothing to others.
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

/// By the system's lock on the store, where the holder has it; by its number where that cannot
/// tell.
pub(in crate::engine) struct ByLease {
    dir: PathBuf,
    look: OnceCell<Look>,
}

impl ByLease {
    /// For the store whose database is `path`; the lock is looked at once, when first asked about.
    pub(in crate::engine) fn of(path: &Path) -> Self {
        Self {
            dir: path.parent().unwrap_or(path).to_owned(),
            look: OnceCell::new(),
        }
    }

    /// For whoever has the lock: nobody else can have it.
    pub(in crate::engine) fn held(certain: bool) -> Self {
        Self {
            dir: PathBuf::new(),
            look: OnceCell::from(if certain { Look::Free } else { Look::Unclear }),
        }
    }
}

impl Judge for ByLease {
    fn is_alive(&self, holder: &LockHolder) -> bool {
        if holder.leased {
            match self.look.get_or_init(|| look(&self.dir)) {
                Look::Held => return true,
                Look::Free => return false,
                Look::Unclear => {}
            }
        }
        ByNumber.is_alive(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_others_see_that_and_it_ends_with_its_holder() {
        let workspace = tempfile::tempdir().unwrap();
        let dir = workspace.path().join(".flightdeck");
        std::fs::create_dir(&dir).unwrap();
        assert_eq!(look(&dir), Look::Unclear, "there is no file yet");
        let lease = take(&dir).unwrap().unwrap();
        assert!(
            lease.certain,
            "the temporary directory is on a disk of this machine"
        );
        assert_eq!(
            (look(&dir), take(&dir).unwrap().is_none()),
            (Look::Held, true)
        );
        assert_eq!(holder(&dir), Some(std::process::id()));
        // The store is taken away: whoever makes a new one still meets the lock.
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::create_dir(&dir).unwrap();
        assert!(take(&dir).unwrap().is_none());
        drop(lease);
        assert!(take(&dir).unwrap().is_some());
        assert_eq!(look(&dir), Look::Free);
    }
}
