//! File of cached digests in the user's cache directory: JSON, read whole and replaced whole.
//! Several processes may add to it at a time; an entry that is lost that way is computed again.

use super::CACHED;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Layout of the file. One of another layout is ignored.
const LAYOUT: u32 = 1;
/// Largest file that is read, in bytes: more than all entries take.
const LARGEST: u64 = 1 << 20;

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

    /// The entries; none where the file is absent, damaged, or not this user's alone to write.
    pub(super) fn read(&self) -> BTreeMap<String, String> {
        self.contents().unwrap_or_default()
    }

    fn contents(&self) -> Option<BTreeMap<String, String>> {
        // Opening a pipe would wait for its other end.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)
            .ok()?;
        let meta = file.metadata().ok()?;
        // An entry decides what is launched without another look at the file's contents.
        let is_ours = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0;
        if !meta.is_file() || !is_ours {
            return None;
        }
        let mut text = Vec::new();
        file.take(LARGEST).read_to_end(&mut text).ok()?;
        let contents: Contents = serde_json::from_slice(&text).ok()?;
        let is_digest = |text: &String| {
            text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_sound = contents.layout == LAYOUT && contents.digests.values().all(is_digest);
        is_sound.then_some(contents.digests)
    }

    /// Adds an entry to what the file has by now.
    pub(super) fn add(&self, version: String, digest: &str) -> io::Result<()> {
        let mut digests = self.read();
        if digests.len() >= CACHED {
            digests.clear();
        }
        digests.insert(version, digest.to_owned());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Of mode 0600 from the beginning, and in its place whole or not at all.
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
