//! The `h1:` hash of a package: over its files' names and contents, as lock files have it. Hashing
//! hundreds of megabytes takes seconds, so results are kept as long as no file of the package has
//! changed.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Results that are kept; beyond, all are dropped and made again when they are needed.
const KEPT: usize = 1_000;

/// Why a package has no hash.
#[derive(Debug, Error)]
#[error("the package {} cannot be hashed: {source}", .path.display())]
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

fn sha256(path: &Path) -> Result<String, HashError> {
    fetch::file_digest(path).map_err(HashError::of(path))
}

/// The `h1:` hash of a directory; see [`fetch::h1`].
///
/// # Errors
/// A file cannot be read.
pub fn h1(root: &Path) -> Result<String, HashError> {
    fetch::h1(root).map_err(HashError::of(root))
}

/// What a package or file looks like from outside: its files, with device, inode, size and times of
/// each.
fn fingerprint(root: &Path) -> io::Result<String> {
    let root = root.canonicalize()?;
    let mut print = Sha256::new();
    let all = if root.is_dir() {
        fetch::files(&root)?
    } else {
        BTreeMap::from([(String::new(), root)])
    };
    for (path, file) in all {
        let meta = std::fs::metadata(file)?;
        let of = [meta.dev(), meta.ino(), meta.size()];
        let times = [
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ];
        print.update(format!("{path}\n{of:?} {times:?}\n"));
    }
    Ok(fetch::hex(&print.finalize()))
}

/// Hashes by fingerprint, in memory and (where it has a place) in a file between sessions.
#[derive(Debug, Default)]
pub struct HashCache {
    file: Option<PathBuf>,
    kept: Mutex<BTreeMap<String, String>>,
}

impl HashCache {
    /// A cache for this session alone.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A cache that is kept in a file. One that cannot be read is made anew: nothing but time is
    /// lost with it.
    #[must_use]
    pub fn open(file: PathBuf) -> Self {
        let kept = std::fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        Self {
            file: Some(file),
            kept: Mutex::new(kept),
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The `h1:` hash of a package's directory. Reads every byte of it if it is not known yet.
    ///
    /// # Errors
    /// As [`h1`].
    pub fn package(&self, root: &Path) -> Result<String, HashError> {
        self.remember(root, h1)
    }

    /// The SHA-256 of a single file, in hex.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn file(&self, path: &Path) -> Result<String, HashError> {
        self.remember(path, sha256)
    }

    fn remember(
        &self,
        path: &Path,
        make: impl Fn(&Path) -> Result<String, HashError>,
    ) -> Result<String, HashError> {
        let look = || fingerprint(path).map_err(HashError::of(path));
        let before = look()?;
        if let Some(hash) = self.kept().get(&before) {
            return Ok(hash.clone());
        }
        let hash = make(path)?;
        // Only what stood still meanwhile is remembered.
        if look()? == before {
            let mut kept = self.kept();
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.insert(before, hash.clone());
            self.save(&kept);
        }
        Ok(hash)
    }

    fn save(&self, kept: &BTreeMap<String, String>) {
        let Some(file) = &self.file else { return };
        let write = || -> io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut temporary, kept)?;
            temporary.persist(file)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::warn!(
                "hashes of provider packages are not kept: {}: {error}",
                file.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    fn package(folder: &Path) {
        std::fs::create_dir(folder.join("sub")).expect("made");
        std::fs::write(folder.join("b"), "two").expect("written");
        std::fs::write(folder.join("sub/a"), "one").expect("written");
        std::fs::write(folder.join("a-"), "").expect("written");
    }

    #[test]
    fn the_hash_is_over_sorted_lines() {
        let folder = tempfile::tempdir().expect("folder");
        package(folder.path());
        // Made by hand: sha256 of "", "two" and "one", one line each, in the order of the paths.
        let lines = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a-\n\
                     3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  b\n\
                     7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  sub/a\n";
        let expected = format!("h1:{}", STANDARD.encode(Sha256::digest(lines)));
        assert_eq!(h1(folder.path()).expect("hash"), expected);
        let link = folder.path().with_extension("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("linked");
        assert_eq!(
            h1(&link).expect("hash"),
            expected,
            "a package may be a link to one"
        );
        std::fs::remove_file(link).expect("removed");
    }

    #[test]
    fn a_change_of_a_file_is_noticed() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("package");
        std::fs::create_dir(&root).expect("made");
        package(&root);
        let file = folder.path().join("cache/hashes.json");
        let cache = HashCache::open(file.clone());
        let first = cache.package(&root).expect("hash");
        let key = fingerprint(&root).expect("fingerprint");
        // What the cache says is taken as long as nothing changed: also in the next session.
        std::fs::write(
            &file,
            serde_json::json!({ key: "h1:remembered" }).to_string(),
        )
        .expect("written");
        assert_eq!(
            HashCache::open(file.clone()).package(&root).expect("hash"),
            "h1:remembered"
        );
        assert_eq!(cache.package(&root).expect("hash"), first);
        std::fs::write(root.join("b"), "TWO").expect("written");
        let second = HashCache::open(file).package(&root).expect("hash");
        assert!(second != first && second != "h1:remembered");
        assert_eq!(cache.file(&root.join("b")).expect("hash").len(), 64);
        assert!(cache.package(&folder.path().join("none")).is_err());
    }
}
