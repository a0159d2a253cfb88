//! Log file of `TF_LOG_PATH`, opened for appending. Below the workspace, links are not followed and
//! flightdeck's own files are refused.

use crate::cli::commands::files;
use crate::cli::escape::safe_path;
use crate::cli::exit::CliError;
use fsroot::RootedPath;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Value of `TF_LOG_PATH` as an absolute path, so that `-C` does not change it.
pub(in crate::cli) fn absolute_path() -> Option<PathBuf> {
    let path = std::env::var_os("TF_LOG_PATH").filter(|path| !path.is_empty())?;
    Some(std::path::absolute(&path).unwrap_or_else(|_| path.into()))
}

/// Opens the log file, below or outside of the current directory.
pub(super) fn open(path: &Path) -> Result<Box<dyn Write + Send>, CliError> {
    // These links may point to pipes and terminals, which cannot be opened as files.
    match path.to_str() {
        Some("/dev/stderr") => return Ok(Box::new(std::io::stderr())),
        Some("/dev/stdout") => return Ok(Box::new(std::io::stdout())),
        Some("/dev/null") => return Ok(Box::new(std::io::sink())),
        _ => {}
    }
    files::check(path)?;
    let opened = std::env::current_dir()
        .and_then(|here| RootedPath::from_workspace(&here, path).open_or_create(0o600))
        .and_then(appended);
    match opened {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(CliError::setting(format!(
            "TF_LOG_PATH {}: {error}",
            safe_path(path)
        ))),
    }
}

/// Sets `O_APPEND`, because several processes may write to the file.
fn appended(file: File) -> std::io::Result<File> {
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags | OFlags::APPEND)?;
    Ok(file)
}
