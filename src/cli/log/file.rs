//! The file that `TF_LOG_PATH` names, opened to be appended to. Below the workspace no link is
//! followed, and nothing that flightdeck needs is written to.

use crate::cli::commands::files;
use crate::cli::exit::CliError;
use crate::cli::safe::safe_path;
use fsroot::Below;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The value of `TF_LOG_PATH` as a path that stays the same in another directory.
pub(in crate::cli) fn absolute_path() -> Option<PathBuf> {
    let path = std::env::var_os("TF_LOG_PATH").filter(|path| !path.is_empty())?;
    Some(std::path::absolute(&path).unwrap_or_else(|_| path.into()))
}

/// Opens it below the current directory, or wherever else the operator has it.
pub(super) fn open(path: &Path) -> Result<Box<dyn Write + Send>, CliError> {
    // Links to pipes and terminals that no file stands behind.
    match path.to_str() {
        Some("/dev/stderr") => return Ok(Box::new(std::io::stderr())),
        Some("/dev/stdout") => return Ok(Box::new(std::io::stdout())),
        Some("/dev/null") => return Ok(Box::new(std::io::sink())),
        _ => {}
    }
    files::check(path)?;
    let opened = std::env::current_dir()
        .and_then(|here| Below::named(&here, path).open_or_create(0o600))
        .and_then(appended);
    match opened {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(CliError::Refused(format!(
            "TF_LOG_PATH {}: {error}",
            safe_path(path)
        ))),
    }
}

/// Several processes may write to it at once.
fn appended(file: File) -> std::io::Result<File> {
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags | OFlags::APPEND)?;
    Ok(file)
}
