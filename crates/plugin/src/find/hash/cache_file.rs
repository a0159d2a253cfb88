//! File of cached digests in the user's cache directory, in JSON. It is read and replaced as a
//! whole. If several processes add entries at once, a lost entry is computed again.

use super::CACHED;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Layout version of the file. Files of another version are ignored.
const LAYOUT: u32 = 1;
/// Maximum file size to read, in bytes; larger than all entries together.
const MAX_FILE: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Contents {
    layout: u32,
    digests: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct CacheFile {
    path: PathBuf,
}

impl CacheFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the entries; none if the file is absent, damaged, or writable by other users.
    pub(super) fn read(&self) -> BTreeMap<String, String> {
        self.contents().unwrap_or_default()
    }

    fn contents(&self) -> Option<BTreeMap<String, String>> {
        // NONBLOCK: opening a named pipe would wait for its writer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)
            .ok()?;
        let meta = file.metadata().ok()?;
        // An entry decides whether a plugin may be launched, so another user must not be able to
        // add one.
        let is_ours = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0;
        if !meta.is_file() || !is_ours {
            return None;
        }
        let mut text = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut text).ok()?;
        let contents: Contents = serde_json::from_slice(&text).ok()?;
        let is_digest = |text: &String| {
            text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_sound = contents.layout == LAYOUT && contents.digests.values().all(is_digest);
        is_sound.then_some(contents.digests)
    }

    /// Adds an entry to the current contents of the file.
    pub(super) fn add(&self, version: String, digest: &str) -> io::Result<()> {
        let mut digests = self.read();
        // Dropping all entries is simpler than tracking their use, and costs one hashing each.
        if digests.len() >= CACHED {
            digests.clear();
        }
        digests.insert(version, digest.to_owned());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Mode 0600 from the start, and renamed into place so that readers never see a partial
        // file.
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        let contents = Contents {
            layout: LAYOUT,
            digests,
        };
        serde_json::to_writer(&mut temporary, &contents)?;
        temporary.persist(&self.path)?;
        Ok(())
    }
}
