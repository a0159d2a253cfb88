//! Digests of plugin files by contents: the `h1:` hash of a package, the SHA-256 of a file. Hashing
//! hundreds of megabytes takes seconds, so digests are cached in memory and, between commands, in a
//! file of the user's cache directory.

mod cache_file;

use cache_file::CacheFile;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// Maximum number of cached digests. Beyond it, all are dropped and computed again on demand.
const CACHED: usize = 1_000;
/// Minimum size for the cache file, in bytes; smaller files are hashed quickly.
const MIN_CACHED_SIZE: u64 = 1 << 20;
/// Time after a change during which a file is hashed again. Change times have steps of some
/// milliseconds, or whole seconds on some file systems, so two writes may have the same times.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// Error of a package that cannot be hashed.
#[derive(Debug, Error)]
#[error("cannot compute the hash of the package {}: {source}", .path.display())]
pub struct HashError {
    path: PathBuf,
    source: io::Error,
}

impl HashError {
    fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// Identifies one version of a file's contents without reading them: device, inode, size,
/// modification time and change time. Programs cannot set the change time back.
fn version_of(meta: &Metadata) -> String {
    format!(
        "{}:{}:{}:{}.{:09}:{}.{:09}",
        meta.dev(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    )
}

/// Cache of file digests.
#[derive(Debug)]
pub struct HashCache {
    file: Option<CacheFile>,
    cached: Mutex<BTreeMap<String, String>>,
    settled_after: Duration,
}

impl Default for HashCache {
    fn default() -> Self {
        Self {
            file: None,
            cached: Mutex::default(),
            settled_after: TIMESTAMP_GRANULARITY,
        }
    }
}

impl HashCache {
    /// Creates a cache for this process alone.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Opens a cache that is saved in a file. The caller guarantees that the file is outside any
    /// workspace. A file that is unreadable or writable by others is ignored and replaced.
    #[must_use]
    pub fn open(file: PathBuf) -> Self {
        let file = CacheFile::at(file);
        Self {
            cached: Mutex::new(file.read()),
            file: Some(file),
            ..Self::default()
        }
    }

    fn cached(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the digest of a plugin's files: [`package`](Self::package) for a directory,
    /// `sha256:` and [`file`](Self::file) for a single file.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn digest(&self, root: &Path) -> Result<String, HashError> {
        if root.is_dir() {
            self.package(root)
        } else {
            Ok(format!("sha256:{}", self.file(root)?))
        }
    }

    /// Returns true if a plugin's files have this digest; false if they cannot be read.
    #[must_use]
    pub fn matches_digest(&self, root: &Path, digest: &str) -> bool {
        self.digest(root).is_ok_and(|now| now == digest)
    }

    /// Returns the `h1:` hash of a package's directory, as in lock files; see [`fetch::h1`]. Reads
    /// the contents of the files whose digests are not cached.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn package(&self, root: &Path) -> Result<String, HashError> {
        fetch::h1_with(root, |file| self.sha256(file)).map_err(HashError::of(root))
    }

    /// Returns the `h1:` hash of the package in a zip archive.
    ///
    /// # Errors
    /// It cannot be read or unpacked.
    pub fn archive(&self, path: &Path) -> Result<String, HashError> {
        let key = std::fs::metadata(path)
            .map(|meta| (self.is_settled(&meta), format!("zip {}", version_of(&meta))))
            .map_err(HashError::of(path))?;
        if let (true, key) = &key
            && let Some(hash) = self.cached().get(key)
        {
            return Ok(hash.clone());
        }
        let unpacked = || -> io::Result<String> {
            let folder = tempfile::tempdir()?;
            fetch::unpack(path, fetch::ArchiveKind::Zip, folder.path())
                .map_err(io::Error::other)?;
            fetch::h1(folder.path())
        };
        // The hash is of the contents, so the archive must be unpacked.
        let hash = unpacked().map_err(HashError::of(path))?;
        if let (true, key) = key {
            self.insert(key, &hash, false);
        }
        Ok(hash)
    }

    /// Returns the SHA-256 of a single file, in hex.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn file(&self, path: &Path) -> Result<String, HashError> {
        self.sha256(path).map_err(HashError::of(path))
    }

    fn sha256(&self, path: &Path) -> io::Result<String> {
        // NONBLOCK: opening a named pipe would wait for its writer.
        let mut file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)?;
        let before = file.metadata()?;
        if !before.is_file() {
            return Err(io::Error::other(format!(
                "{} is not a regular file",
                path.display()
            )));
        }
        let version = version_of(&before);
        let settled = self.is_settled(&before);
        if settled && let Some(digest) = self.cached().get(&version) {
            return Ok(digest.clone());
        }
        let digest = fetch::content_digest(&mut file)?;
        // A file that changed while it was read has no digest worth caching.
        if settled && version_of(&file.metadata()?) == version {
            self.insert(version, &digest, before.size() >= MIN_CACHED_SIZE);
        }
        Ok(digest)
    }

    fn is_settled(&self, meta: &Metadata) -> bool {
        let (Ok(secs), Ok(nanos)) = (meta.ctime().try_into(), meta.ctime_nsec().try_into()) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(secs, nanos);
        // A change time in the future means a clock that cannot be relied on.
        let age = SystemTime::now().duration_since(changed);
        age.is_ok_and(|age| age >= self.settled_after)
    }

    fn insert(&self, version: String, digest: &str, save: bool) {
        let mut cached = self.cached();
        if cached.len() >= CACHED {
            cached.clear();
        }
        cached.insert(version.clone(), digest.to_owned());
        // The file is written without the lock, because that may be slow.
        drop(cached);
        if let Some(file) = self.file.as_ref().filter(|_| save)
            && let Err(error) = file.add(version, digest)
        {
            tracing::warn!("failed to cache the digests of plugins: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
