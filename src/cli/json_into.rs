//! Implements `--json-into FILE`: JSON lines in a file, in addition to the text on stdout.

use super::commands::files::{PrivateFile, create_private};
use super::escape::safe_path;
use super::exit::CliError;
use std::path::{Path, PathBuf};

/// File of `--json-into`.
#[derive(Debug)]
pub(super) struct JsonInto {
    path: PathBuf,
    file: PrivateFile,
    /// First write error. The command continues without the file.
    write_error: Option<std::io::Error>,
}

impl JsonInto {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// The path is refused, or the file cannot be created.
    pub(super) fn create(path: &Path) -> Result<Self, CliError> {
        Ok(Self {
            file: create_private(path)?,
            path: path.to_owned(),
            write_error: None,
        })
    }

    pub(super) fn line(&mut self, text: &str) {
        // After an error no further line is written: the file would have a gap.
        if self.write_error.is_none() {
            let text = model::visible::json(text);
            self.write_error = self.file.write(format!("{text}\n").as_bytes()).err();
        }
    }

    /// Closes the file and returns its first write error as a message.
    pub(super) fn finish(mut self) -> Option<String> {
        let error = self.write_error.take().or_else(|| self.file.sync().err())?;
        Some(format!(
            "failed to write {}: {error}; the changes of the command are done and recorded, see `flightdeck history`",
            safe_path(&self.path)
        ))
    }
}
