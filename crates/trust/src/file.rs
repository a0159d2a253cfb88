//! File of the user's trust decisions: one line each, a digest followed by a name. It is in the
//! user's data directory; a file inside a workspace is ignored.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reasons why trust decisions cannot be read or saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TrustFileError {
    #[error("cannot read the trust decisions in {}: {source}", file.display())]
    Unreadable {
        file: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error(
        "cannot save trust decisions: there is no data directory outside of the workspace; set XDG_DATA_HOME to one"
    )]
    NoPlace,
    #[error("cannot save the trust decision in {}: {source}", file.display())]
    Unsaved {
        file: PathBuf,
        source: Arc<std::io::Error>,
    },
}

/// Trust decisions of this user.
#[derive(Debug, Clone)]
pub struct TrustFile {
    /// `None` if the user has no data directory; then nothing is trusted.
    file: Option<PathBuf>,
}

/// Is a file, existing or not, outside of the workspace? A file from a clone must not decide about
/// trust.
pub fn is_outside(file: &Path, workspace: &Path) -> bool {
    // A file that does not exist is judged by its nearest existing directory.
    let real = file.ancestors().find_map(|part| part.canonicalize().ok());
    let workspace = workspace.canonicalize();
    workspace.is_ok_and(|workspace| real.is_some_and(|real| !real.starts_with(workspace)))
}

/// Status of a digest in the trust decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Trusted,
    /// Another digest under the same name is trusted.
    Changed,
    Unknown,
}

impl TrustFile {
    /// Ignores a file inside the workspace: a clone must not bring its own trust.
    pub fn new(file: Option<PathBuf>, workspace: &Path) -> Self {
        Self {
            file: file.filter(|file| is_outside(file, workspace)),
        }
    }

    /// The default file, in the data directory of the environment.
    pub fn default_file(variable: impl Fn(&str) -> Option<String>, workspace: &Path) -> Self {
        // The XDG specification ignores relative paths.
        let absolute = |text: String| Some(PathBuf::from(text)).filter(|p| p.is_absolute());
        let data = variable("XDG_DATA_HOME").and_then(absolute).or_else(|| {
            let home = variable("HOME").and_then(absolute)?;
            Some(home.join(".local/share"))
        });
        let file = data.map(|data| data.join("flightdeck").join("trusted-plugins"));
        Self::new(file, workspace)
    }

    /// Looks up a digest with its name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn look_up(&self, digest: &str, name: &str) -> Result<Known, TrustFileError> {
        let lines = self.lines()?;
        let mut all = lines
            .lines()
            .map(|line| line.split_once(' ').unwrap_or((line, "")));
        if all.clone().any(|(known, _)| known == digest) {
            return Ok(Known::Trusted);
        }
        let name = one_line(name);
        Ok(match all.any(|(_, rest)| rest == name) {
            true => Known::Changed,
            false => Known::Unknown,
        })
    }

    fn lines(&self) -> Result<String, TrustFileError> {
        let Some(file) = &self.file else {
            return Ok(String::new());
        };
        match fsroot::read_regular(file) {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(e) => Err(TrustFileError::Unreadable {
                file: file.clone(),
                source: Arc::new(e),
            }),
        }
    }

    /// Saves trust in a digest with its name.
    ///
    /// # Errors
    /// The decision cannot be saved.
    pub fn add(&self, digest: &str, name: &str) -> Result<(), TrustFileError> {
        let Some(file) = &self.file else {
            return Err(TrustFileError::NoPlace);
        };
        let line = format!("{digest} {}\n", one_line(name));
        let save = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("/"));
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            // One write of one line, since other processes may append at the same time.
            let mut saved = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(file)?;
            saved.write_all(line.as_bytes())?;
            saved.sync_all()
        };
        save().map_err(|e| TrustFileError::Unsaved {
            file: file.clone(),
            source: Arc::new(e),
        })
    }
}

fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], "?")
}
