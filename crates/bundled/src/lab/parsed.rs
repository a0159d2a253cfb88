//! Cached contents of a file, valid while the file is unchanged. Two changes within one tick of the
//! file system's clock have the same time, so the bytes of a recently changed file are compared.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;

use super::LabError;

/// Longer than a tick of any file system clock (at most 10 ms).
const TICK: Duration = Duration::from_millis(20);

/// Parsed contents of a file, with the identity that validates them.
#[derive(Debug)]
pub(super) struct Parsed<T> {
    pub(super) content: T,
    /// `None` if the file did not exist.
    identity: Option<Identity>,
    /// Bytes of a file that changed too recently to be recognized by its identity.
    recent_bytes: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    /// Status change time, seconds and nanoseconds. Unlike the modification time, programs cannot
    /// set it.
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns true if a change now would get a different time. Must be called before the file is
    /// read.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (seconds, nanos) = self.changed;
        let changed = Duration::new(
            seconds.try_into().unwrap_or(0),
            nanos.try_into().unwrap_or(0),
        );
        now.checked_sub(changed).is_some_and(|age| age > TICK)
    }
}

/// Reads a file with its identity, and whether the identity is conclusive; `None` if the file does
/// not exist.
fn read(path: &Path) -> Result<Option<(Identity, bool, Vec<u8>)>, LabError> {
    let reading = || -> std::io::Result<_> {
        let mut file = File::open(path)?;
        let identity = Identity::of(&file.metadata()?);
        // Before the read: a change during it then has another time, or the bytes are compared.
        let settled = identity.is_settled();
        let mut bytes = Vec::with_capacity(usize::try_from(identity.length).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes)?;
        Ok((identity, settled, bytes))
    };
    match reading() {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LabError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        }),
    }
}

fn identity(path: &Path) -> Result<Option<Identity>, LabError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(Identity::of(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LabError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        }),
    }
}

impl<T: Default + DeserializeOwned> Parsed<T> {
    /// Reads and parses a file; the default value if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the expected content.
    pub(super) fn read(path: &Path) -> Result<Parsed<T>, LabError> {
        let Some((identity, settled, bytes)) = read(path)? else {
            return Ok(Parsed {
                content: T::default(),
                identity: None,
                recent_bytes: None,
            });
        };
        let content = serde_json::from_slice(&bytes).map_err(|source| LabError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Ok(Parsed {
            content,
            identity: Some(identity),
            recent_bytes: (!settled).then_some(bytes),
        })
    }
}

impl<T> Parsed<T> {
    /// Returns true if the file is unchanged.
    ///
    /// # Errors
    /// The file cannot be examined.
    pub(super) fn is_current(&mut self, path: &Path) -> Result<bool, LabError> {
        // A `stat` decides the usual case without reading the file.
        if identity(path)? != self.identity {
            return Ok(false);
        }
        let Some(young) = &self.recent_bytes else {
            return Ok(true);
        };
        match read(path)? {
            Some((identity, settled, bytes)) if bytes == *young => {
                // Once the time is conclusive, the bytes are no longer needed.
                self.identity = Some(identity);
                if settled {
                    self.recent_bytes = None;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Records that the file was replaced by these bytes, which match the content.
    pub(super) fn record_replaced(&mut self, path: &Path, bytes: Vec<u8>) {
        // A file that cannot be examined counts as changed, and is read again.
        self.identity = identity(path).ok().flatten();
        self.recent_bytes = Some(bytes);
    }

    /// Returns the length of the file in bytes.
    pub(super) fn length(&self) -> u64 {
        self.identity.map_or(0, |identity| identity.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_length_rewrite_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut parsed: Parsed<u32> = Parsed::read(&path).unwrap();
        for number in 100..400 {
            fs::write(&path, format!("{number}")).unwrap();
            assert!(!parsed.is_current(&path).unwrap(), "{number}");
            parsed = Parsed::read(&path).unwrap();
            assert_eq!(parsed.content, number);
            assert!(parsed.is_current(&path).unwrap());
        }
    }

    #[test]
    fn unchanged_file_is_current_and_removed_file_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "1").unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        let mut parsed: Parsed<u32> = Parsed::read(&path).unwrap();
        while parsed.recent_bytes.is_some() {
            assert!(parsed.is_current(&path).unwrap() && std::time::Instant::now() < deadline);
        }
        fs::remove_file(&path).unwrap();
        assert!(!parsed.is_current(&path).unwrap());
        assert_eq!(Parsed::<u32>::read(&path).unwrap().content, 0);
    }
}
