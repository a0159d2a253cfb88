//! File operations of an installation: directory locks that other tools respect, links to packages,
//! and copies of them.

use fsroot::RootedPath;
use plugin::find::HashError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for another process that installs the same package.
const LOCK: Duration = Duration::from_secs(600);
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Locks a package's directory, in a way that other tools respect.
pub(super) async fn lock(to: &RootedPath) -> std::io::Result<File> {
    let mut name = to.name();
    name.push(".lock");
    let file = to.sibling(name).open_or_create(0o644)?;
    let until = tokio::time::Instant::now() + LOCK;
    loop {
        // Polled, because a blocking system call could not be cancelled.
        match fsroot::try_lock(&file) {
            Ok(true) => return Ok(file),
            _ if tokio::time::Instant::now() < until => tokio::time::sleep(LOCK_POLL).await,
            Ok(false) => return Err(rustix::io::Errno::AGAIN.into()),
            Err(e) => return Err(e),
        }
    }
}

/// Reasons why a package in another directory cannot be linked.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Unread(#[from] HashError),
    #[error(
        "the hash of {}, {hash}, is not in the lock file for this version; if you trust this package, remove the provider's block from the lock file and run `flightdeck init`", package.display()
    )]
    Other { package: PathBuf, hash: String },
    #[error(transparent)]
    Link(#[from] std::io::Error),
    /// The task that reads its files failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// Replaces a path with a link to a package.
pub(super) fn replace_with_link(package: &Path, to: &RootedPath) -> std::io::Result<()> {
    to.replace_by_link(&std::path::absolute(package)?)
}

/// Copies a package; links stay links.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Box<std::io::Error>> {
    if std::fs::symlink_metadata(from)?.is_symlink() {
        return Ok(std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?);
    }
    std::fs::create_dir(to)?;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            let inner = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                std::fs::create_dir(to.join(&inner))?;
                folders.push(inner);
            } else if kind.is_symlink() {
                let target = std::fs::read_link(entry.path())?;
                std::os::unix::fs::symlink(target, to.join(&inner))?;
            } else {
                std::fs::copy(entry.path(), to.join(&inner))?;
            }
        }
    }
    Ok(())
}
