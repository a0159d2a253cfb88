//! Reasons for refusing a path below a root.

use std::io;
use std::path::{Path, PathBuf};

/// Types of directory entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    SymbolicLink,
    Directory,
    RegularFile,
    NamedPipe,
    Socket,
    Device,
}

impl Kind {
    pub(crate) fn of(mode: rustix::fs::RawMode) -> Self {
        use rustix::fs::FileType;
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::RegularFile,
            FileType::Symlink => Self::SymbolicLink,
            FileType::Directory => Self::Directory,
            FileType::Fifo => Self::NamedPipe,
            FileType::Socket => Self::Socket,
            _ => Self::Device,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::SymbolicLink => "a symbolic link",
            Self::Directory => "a directory",
            Self::RegularFile => "a regular file",
            Self::NamedPipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// Reason why a file or directory below a root was not used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "{} is {}, and flightdeck does not write through links below a workspace; replace the link with its target, or configure the target itself (TF_DATA_DIR for .terraform, `path` of a local backend for the state)",
        path.display(), Kind::SymbolicLink.name()
    )]
    Link { path: PathBuf },
    #[error("{} is {}, not {}; move it away", path.display(), found.name(), wanted.name())]
    Type {
        path: PathBuf,
        found: Kind,
        wanted: Kind,
    },
    #[error(
        "{} has {names} names (hard links), so writing it would change the file under its other names too; make a separate copy: `cp -p {0} {0}.new && mv {0}.new {0}`",
        path.display()
    )]
    HardLinks { path: PathBuf, names: u64 },
    #[error(
        "{} belongs to the user id {owner}, not to you or the owner of the workspace; change its owner, or move it away",
        path.display()
    )]
    Owner { path: PathBuf, owner: u32 },
    #[error("{} leads out of the directory {}", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
}

impl Refusal {
    pub(crate) fn wrong_type(path: &Path, found: Kind, wanted: Kind) -> io::Error {
        let path = path.to_owned();
        io::Error::other(match found {
            Kind::SymbolicLink => Self::Link { path },
            found => Self::Type {
                path,
                found,
                wanted,
            },
        })
    }

    /// Returns the refusal that an error wraps.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
