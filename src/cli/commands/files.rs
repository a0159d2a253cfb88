//! Files with values in them: written with mode 0600, whole, and never over what flightdeck keeps
//! itself.

use crate::cli::exit::CliError;
use crate::cli::safe::safe_path;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Refuses a file of the store, by whatever name it goes.
fn not_ours(path: &Path) -> Result<(), CliError> {
    let store = Path::new(STORE);
    let refuse = || {
        Err(CliError::Refused(format!(
            "{} belongs to what flightdeck keeps in {STORE}, and is not written over; name a file elsewhere",
            safe_path(path)
        )))
    };
    let parent = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if let (Ok(kept), Ok(parent)) = (store.canonicalize(), parent.canonicalize())
        && parent.starts_with(kept)
    {
        return refuse();
    }
    // A link, symbolic or hard, leads to the same file.
    let Ok(there) = std::fs::metadata(path) else {
        return Ok(());
    };
    let same = |entry: std::fs::DirEntry| {
        entry
            .metadata()
            .is_ok_and(|m| (m.dev(), m.ino()) == (there.dev(), there.ino()))
    };
    let kept = std::fs::read_dir(store).into_iter().flatten().flatten();
    if kept.into_iter().any(same) {
        refuse()
    } else {
        Ok(())
    }
}

/// Where the store of this directory lies.
const STORE: &str = ".flightdeck";

/// Writes `text` to `path`, over what is there.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), CliError> {
    not_ours(path)?;
    let refuse = |e: std::io::Error| {
        CliError::Refused(format!(
            "cannot write {}: {e}; name a file in a directory that exists and may be written",
            safe_path(path)
        ))
    };
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(refuse)?;
    let about = file.metadata().map_err(refuse)?;
    // A file that was there may be open to others; a device or pipe is none of our business.
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
            .map_err(refuse)?;
    }
    file.write_all(text.as_bytes()).map_err(refuse)?;
    // A full disk may show only here.
    if about.is_file() {
        file.sync_all().map_err(refuse)
    } else {
        Ok(())
    }
}
