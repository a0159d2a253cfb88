//! Files of the user for the console: keys and themes in the configuration directory, choices in
//! the state directory.

use super::escape::safe_path;
use super::exit::CliError;
use crate::app::choices::ChoicesFile;
use crate::app::theme::{self, ColorTheme};
use etcetera::BaseStrategy;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Path of a file in the user's configuration directory.
pub(super) fn configuration_file(name: &str) -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("flightdeck").join(name))
}

/// Reads a file that may be missing.
fn read(path: &Path) -> Result<Option<String>, String> {
    match fsroot::read_named(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("cannot read {}: {e}", safe_path(path))),
    }
}

/// Reads the operator's `keys.toml`: `command = ["key", …]`. A missing file is no error, an
/// unreadable one is.
pub(super) fn keys() -> Result<BTreeMap<String, Vec<String>>, CliError> {
    let Some(path) = configuration_file("keys.toml") else {
        return Ok(BTreeMap::new());
    };
    let Some(text) = read(&path).map_err(CliError::io)? else {
        return Ok(BTreeMap::new());
    };
    toml::from_str(&text).map_err(|e| {
        CliError::setting(format!("{}: {}", safe_path(&path), e.message()))
            .hint("write command = [\"key\"]")
    })
}

/// Reads the user's `themes.toml`. Returns the valid themes, and one message for each problem.
pub(super) fn themes() -> (Vec<ColorTheme>, Vec<String>) {
    let Some(path) = configuration_file("themes.toml") else {
        return (Vec::new(), Vec::new());
    };
    match read(&path) {
        Ok(text) => theme::parse(&safe_path(&path), &text.unwrap_or_default()),
        Err(why) => (Vec::new(), vec![why]),
    }
}

/// Returns the user's state directory; `None` without `HOME`.
pub(super) fn state_directory() -> Option<PathBuf> {
    let directory = etcetera::choose_base_strategy().ok()?.state_dir()?;
    Some(directory).filter(|dir| dir.is_absolute())
}

/// Returns the file of the choices; `None` if the user has no directory for it.
pub(super) fn choices() -> Option<ChoicesFile> {
    let directory = state_directory()?;
    Some(ChoicesFile::new(
        directory.join("flightdeck").join("console.toml"),
    ))
}
