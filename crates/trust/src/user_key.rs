//! Key of the user, in a file of the user's state directory. It marks stores and signs plan files.

use crate::file::is_outside;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Returns the file of the key. `None` if the user has no state directory, or if it is in the
/// workspace: a clone must not bring its own key.
pub(crate) fn file(workspace: &Path, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |text: String| Some(PathBuf::from(text)).filter(|p| p.is_absolute());
    let state = variable("XDG_STATE_HOME").and_then(absolute).or_else(|| {
        let home = variable("HOME").and_then(absolute)?;
        Some(home.join(".local/state"))
    })?;
    let file = state.join("flightdeck").join("store-key");
    is_outside(&file, workspace).then_some(file)
}

/// Reads the key.
///
/// # Errors
/// The file does not exist, cannot be read or is empty.
pub(crate) fn read(file: &Path) -> io::Result<String> {
    let text = fsroot::read_regular(file)?;
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    match text.is_empty() {
        true => Err(io::Error::other("the key is empty; delete the file")),
        false => Ok(text),
    }
}

/// Creates the file of the key; another process may be faster.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn create(file: &Path) -> io::Result<String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let random = || uuid::Uuid::new_v4().simple().to_string();
    let key = format!("{}{}", random(), random());
    // Complete before it has its name, so that nobody reads a part of it.
    let partial = file.with_extension(random());
    let mut made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&partial)?;
    made.write_all(format!("{key}\n").as_bytes())?;
    made.sync_all()?;
    let linked = std::fs::hard_link(&partial, file);
    std::fs::remove_file(&partial)?;
    match linked {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => read(file),
    }
}
