//! Rescue files: if the store is removed or replaced during a deploy, its content is written from
//! memory to a file next to the configuration, or in a temporary directory.

use sha2::{Digest as _, Sha256};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Prefix of the names of rescue files.
const PREFIX: &str = "flightdeck-rescue-";

/// Name of a new rescue file of `store` in `dir`. In a shared directory the name includes a digest
/// of the workspace.
pub(super) fn new_name(dir: &Path, store: &Path) -> String {
    let now = model::now_ms();
    match of_workspace(store) {
        Some(workspace) if is_same_directory(dir, &workspace) => format!("{PREFIX}{now}.db"),
        _ => format!("{PREFIX}{}-{now}.db", digest(store)),
    }
}

/// Newest unused rescue file of a store.
pub fn unused_rescue_file(store: &Path) -> Option<PathBuf> {
    let workspace = of_workspace(store)?;
    // TMPDIR may have been different in the run that wrote the file.
    let mut shared = vec![
        std::env::temp_dir(),
        PathBuf::from("/tmp"),
        PathBuf::from("/var/tmp"),
    ];
    shared.dedup();
    let named = format!("{PREFIX}{}-", digest(store));
    newest_file(&workspace, PREFIX)
        .or_else(|| shared.iter().find_map(|dir| newest_file(dir, &named)))
}

/// Command that puts a rescue file in the place of its store.
pub fn rescue_instructions(store: &Path, rescue: &Path) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let (from, to) = (quoted(rescue), quoted(store));
    format!(
        "`mkdir -p -m 700 {} && rm -f {to} {to}-wal {to}-shm && mv {from} {to}`",
        quoted(store.parent().unwrap_or(store))
    )
}

/// Directory of the workspace that a store, `…/.flightdeck/flightdeck.db`, belongs to.
fn of_workspace(store: &Path) -> Option<PathBuf> {
    let workspace = store.parent()?.parent()?;
    Some(match workspace.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => workspace.to_owned(),
    })
}

/// Sixteen hexadecimal digits derived from a store's place.
fn digest(store: &Path) -> String {
    let workspace = of_workspace(store).unwrap_or_default();
    let whole = workspace.canonicalize().unwrap_or(workspace);
    let hash = Sha256::digest(whole.as_os_str().as_encoded_bytes());
    hex::encode(&hash[..8])
}

fn is_same_directory(dir: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    id(dir).is_some_and(|dir| Some(dir) == id(other))
}

/// Newest matching file of this user. Others are ignored, because everyone may write to a temporary
/// directory.
fn newest_file(dir: &Path, prefix: &str) -> Option<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let names = std::fs::read_dir(dir).ok()?.flatten();
    names
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
        .map(|e| e.path())
        .filter(|path| {
            let found = std::fs::symlink_metadata(path);
            found.is_ok_and(|found| found.is_file() && found.uid() == me)
        })
        // Names end with a time of fixed width, so the newest sorts last.
        .max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn rescue_file_is_found_beside_the_configuration_or_in_a_shared_directory() {
        let (dir, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = dir.path().join(".flightdeck/flightdeck.db");
        let own = new_name(dir.path(), &store);
        let named = new_name(shared.path(), &store);
        assert!(named.len() > own.len(), "{named} names the workspace");
        let prefix = format!("{PREFIX}{}-", digest(&store));
        assert_eq!(newest_file(shared.path(), &prefix), None);
        std::os::unix::fs::symlink("/dev/null", shared.path().join(&named)).unwrap();
        assert_eq!(
            newest_file(shared.path(), &prefix),
            None,
            "a link is no file"
        );
        std::fs::remove_file(shared.path().join(&named)).unwrap();
        std::fs::write(shared.path().join(&named), "").unwrap();
        assert_eq!(
            newest_file(shared.path(), &prefix),
            Some(shared.path().join(&named))
        );
        let other = dir.path().join("other/.flightdeck/flightdeck.db");
        assert_ne!(digest(&other), digest(&store));
        std::fs::write(dir.path().join(&own), "").unwrap();
        assert_eq!(unused_rescue_file(&store), Some(dir.path().join(own)));
    }
}
