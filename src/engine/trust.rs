//! Plugins that came with a workspace's own files, and the yes that each needs before it is
//! launched: by the digest of its files, kept in the user's own data directory. Owns that file, one
//! line a yes.

use super::plugin::find::{Found, HashCache, Places, is_brought};
use super::words::WorkspacePlugin;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why it cannot be told, or kept, that a plugin is trusted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TrustError {
    #[error("the files of the provider {address} in the workspace cannot be read: {executable}")]
    Files { address: String, executable: String },
    #[error("what plugins are trusted cannot be read: {}: {source}", file.display())]
    Unreadable {
        file: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error(
        "there is no place outside of the workspace to remember trusted plugins in: set XDG_DATA_HOME to one"
    )]
    NoPlace,
    #[error("that a plugin is trusted cannot be kept: {}: {source}", file.display())]
    Unkept {
        file: PathBuf,
        source: Arc<std::io::Error>,
    },
}

/// What is said of a plugin that was found.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// It is not the workspace's own.
    Free,
    /// It is, and there is a yes for it.
    Given { digest: String },
    /// It is, and there is none.
    Lacking(WorkspacePlugin),
}

/// The yeses of this user.
#[derive(Debug, Clone)]
pub struct Trust {
    /// `None` where the user has no directory for it: then there are none, and none can be given.
    file: Option<PathBuf>,
}

impl Trust {
    /// Those that are kept in this file, which counts only where it lies outside of the workspace:
    /// a clone gives no yes.
    pub fn new(file: Option<PathBuf>, workspace: &Path) -> Self {
        let outside = |file: &PathBuf| {
            let real = file.ancestors().find_map(|part| part.canonicalize().ok());
            workspace
                .canonicalize()
                .is_ok_and(|workspace| real.is_some_and(|real| !real.starts_with(workspace)))
        };
        Self {
            file: file.filter(outside),
        }
    }

    /// Whether a plugin that was found may be launched.
    ///
    /// # Errors
    /// Where its files or the yeses cannot be read.
    pub fn judge(
        &self,
        found: &Found,
        places: &Places,
        workspace: &Path,
        cache: &HashCache,
    ) -> Result<Verdict, TrustError> {
        if !is_brought(found, places, workspace) {
            return Ok(Verdict::Free);
        }
        let executable = found
            .executable()
            .map(|p| p.display().to_string())
            .unwrap_or_default();
        let Some(digest) = found.digest(cache) else {
            return Err(TrustError::Files {
                address: found.address.to_string(),
                executable,
            });
        };
        let given = self.given()?;
        if given
            .lines()
            .any(|line| line.split(' ').next() == Some(digest.as_str()))
        {
            return Ok(Verdict::Given { digest });
        }
        let address = found.address.to_string();
        let place = format!("{address} {}", one_line(&executable));
        let changed = given
            .lines()
            .any(|line| line.split_once(' ').is_some_and(|(_, rest)| rest == place));
        Ok(Verdict::Lacking(WorkspacePlugin {
            address,
            executable,
            digest,
            changed,
        }))
    }

    fn given(&self) -> Result<String, TrustError> {
        let Some(file) = &self.file else {
            return Ok(String::new());
        };
        match lang::functions::read_regular(file) {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(e) => Err(TrustError::Unreadable {
                file: file.clone(),
                source: Arc::new(e),
            }),
        }
    }

    /// Keeps a yes for these very files.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub fn give(&self, plugin: &WorkspacePlugin) -> Result<(), TrustError> {
        let Some(file) = &self.file else {
            return Err(TrustError::NoPlace);
        };
        let line = format!(
            "{} {} {}\n",
            plugin.digest,
            plugin.address,
            one_line(&plugin.executable)
        );
        let keep = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("/"));
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            // One write of one line: others may be at it too.
            let mut kept = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(file)?;
            kept.write_all(line.as_bytes())?;
            kept.sync_all()
        };
        keep().map_err(|e| TrustError::Unkept {
            file: file.clone(),
            source: Arc::new(e),
        })
    }
}

fn one_line(path: &str) -> String {
    path.replace(['\n', '\r'], "?")
}
