//! Files with values in them: written with mode 0600, whole.

use crate::cli::exit::CliError;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Writes `text` to `path`, over what is there.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), CliError> {
    let refuse = |e: std::io::Error| {
        CliError::Refused(format!("cannot write {}: {e}; name a file in a directory that exists and may be written", path.display()))
    };
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).map_err(refuse)?;
    let about = file.metadata().map_err(refuse)?;
    // A file that was there may be open to others; a device or pipe is none of our business.
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(refuse)?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(refuse)
}
