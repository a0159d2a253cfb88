//! Locks of whole files that other tools respect: locks of open file descriptions, which belong to
//! one handle and conflict with POSIX locks of other programs. (nix, because rustix has POSIX locks
//! alone.)

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, flock};
use std::fs::File;
use std::io;

/// Locks a file for this handle, until it is closed. Returns false if it is locked already.
///
/// # Errors
/// The file cannot be locked.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file())) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if another handle has locked the file.
#[must_use]
pub fn is_locked(file: &File) -> bool {
    let mut request = whole_file();
    // The kernel returns the first conflicting lock, or F_UNLCK without a conflict.
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut request)).is_ok()
        && request.l_type != libc::F_UNLCK as libc::c_short
}

fn whole_file() -> flock {
    flock {
        l_type: libc::F_WRLCK as _,
        l_whence: libc::SEEK_SET as _,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_excludes_other_handles_until_it_is_closed() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("lock");
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).expect("open")
        };
        let (one, other) = (open(), open());
        assert!(!is_locked(&other));
        assert!(try_lock(&one).expect("locked"));
        assert!(is_locked(&other) && !is_locked(&one));
        assert!(!try_lock(&other).expect("tried"));
        drop(one);
        assert!(try_lock(&other).expect("locked"));
    }
}
