//! Opens directories below a root one component at a time, without following links.

use crate::refusal::{Kind, Refusal};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Open directory below a root.
pub(crate) struct Dir {
    pub(crate) fd: OwnedFd,
    pub(crate) path: PathBuf,
    /// Owner of the root directory, who can replace everything in it anyway.
    root_owner: u32,
    /// If true, links on the way, owners and hard links are checked.
    strict: bool,
}

/// Treatment of missing directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Fail,
}

impl Dir {
    /// Opens the root itself. Links in its path are followed, because an operator named it.
    fn root(path: &Path, strict: bool, missing: Missing) -> io::Result<Self> {
        let open = || rustix::fs::openat(CWD, or_current_directory(path), DIRECTORY, Mode::empty());
        let fd = match open() {
            Err(Errno::NOENT) if missing == Missing::Create => {
                std::fs::create_dir_all(path)?;
                open()
            }
            opened => opened,
        }?;
        let root_owner = rustix::fs::fstat(&fd)?.st_uid;
        Ok(Self {
            fd,
            path: path.to_owned(),
            root_owner,
            strict,
        })
    }

    /// Opens the directory `inner` below the root.
    pub(crate) fn below(
        root: &Path,
        inner: &Path,
        strict: bool,
        missing: Missing,
    ) -> io::Result<Self> {
        let mut dir = Self::root(root, strict, missing)?;
        for part in inner.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => dir = dir.child(name, missing)?,
                // `..` and absolute paths leave the root.
                _ => {
                    return Err(io::Error::other(Refusal::Outside {
                        path: inner.to_owned(),
                        root: root.to_owned(),
                    }));
                }
            }
        }
        Ok(dir)
    }

    pub(crate) fn child(&self, name: &OsStr, missing: Missing) -> io::Result<Self> {
        let path = self.path.join(name);
        let open = || {
            // Each component is opened relative to its parent, so a link swapped in meanwhile
            // cannot redirect the rest of the path.
            let no_follow = match self.strict {
                true => OFlags::NOFOLLOW,
                false => OFlags::empty(),
            };
            rustix::fs::openat(&self.fd, name, DIRECTORY | no_follow, Mode::empty())
        };
        let opened = match open() {
            Err(Errno::NOENT) if missing == Missing::Create => {
                match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
                    // Another process may have created it; the second `open` then examines that
                    // directory.
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(e) => return Err(e.into()),
                }
            }
            opened => opened,
        };
        let fd = match opened {
            Ok(fd) => fd,
            Err(e @ (Errno::LOOP | Errno::NOTDIR)) => {
                let found = self.stat(name)?.ok_or(e)?;
                let kind = Kind::of(found.st_mode);
                return Err(Refusal::wrong_type(&path, kind, Kind::Directory));
            }
            Err(e) => return Err(e.into()),
        };
        self.trusted(&path, &rustix::fs::fstat(&fd)?)?;
        Ok(Self {
            fd,
            path,
            root_owner: self.root_owner,
            strict: self.strict,
        })
    }

    /// Examines an entry itself, without following a link.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Refuses an entry that is not a regular file of an accepted owner, or has several hard links.
    pub(crate) fn writable(&self, name: &OsStr, found: &Stat) -> io::Result<()> {
        let path = self.path.join(name);
        let kind = Kind::of(found.st_mode);
        if kind != Kind::RegularFile {
            return Err(Refusal::wrong_type(&path, kind, Kind::RegularFile));
        }
        let names = found.st_nlink;
        if names > 1 && self.strict {
            return Err(io::Error::other(Refusal::HardLinks { path, names }));
        }
        self.trusted(&path, found)
    }

    /// Refuses entries of other users, who could change them at any time. Accepts root, who can do
    /// so anyway, and the owner of the root directory: a container often runs as root on files of a
    /// user.
    fn trusted(&self, path: &Path, found: &Stat) -> io::Result<()> {
        let me = rustix::process::geteuid().as_raw();
        // With sudo, the files usually belong to the user who called it.
        let sudo = || {
            let uid = std::env::var("SUDO_UID").ok()?;
            uid.parse::<u32>().ok()
        };
        let owner = found.st_uid;
        if !self.strict
            || owner == me
            || owner == 0
            || owner == self.root_owner
            || (me == 0 && sudo() == Some(owner))
        {
            return Ok(());
        }
        Err(io::Error::other(Refusal::Owner {
            path: path.to_owned(),
            owner,
        }))
    }

    /// Opens an entry without following a link, and without blocking on a pipe or a device.
    pub(crate) fn open(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self.fd.as_fd(), name, flags, Mode::from_raw_mode(mode));
        Ok(opened?)
    }

    /// Flushes the directory's entries to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // Not every file system supports this for directories.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

fn or_current_directory(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}
