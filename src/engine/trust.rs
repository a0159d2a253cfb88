//! Plugins that came with a workspace's own files, and the yes that each needs before it is
//! launched: by the digest of its files.

use super::plugin::find::{Found, HashCache, Places, is_brought};
use super::trust_file::{Known, TrustFile, TrustFileError};
use super::words::WorkspacePlugin;
use std::path::{Path, PathBuf};

/// Why it cannot be told, or kept, that a plugin is trusted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TrustError {
    #[error("the files of the provider {address} in the workspace cannot be read: {executable}")]
    Files { address: String, executable: String },
    #[error(transparent)]
    File(#[from] TrustFileError),
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
    file: TrustFile,
}

impl Trust {
    /// Those that are kept in this file, which counts only where it lies outside of the workspace:
    /// a clone gives no yes.
    pub fn new(file: Option<PathBuf>, workspace: &Path) -> Self {
        Self {
            file: TrustFile::new(file, workspace),
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
        cache: &HashCache,
    ) -> Result<Verdict, TrustError> {
        if !is_brought(found, places, cache) {
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
        let address = found.address.to_string();
        let known = self.file.look_up(&digest, &named(&address, &executable))?;
        if known == Known::Trusted {
            return Ok(Verdict::Given { digest });
        }
        Ok(Verdict::Lacking(WorkspacePlugin {
            address,
            executable,
            digest,
            changed: known == Known::Changed,
        }))
    }

    /// Keeps a yes for these very files.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub fn give(&self, plugin: &WorkspacePlugin) -> Result<(), TrustError> {
        let name = named(&plugin.address, &plugin.executable);
        Ok(self.file.add(&plugin.digest, &name)?)
    }
}

fn named(address: &str, executable: &str) -> String {
    format!("{address} {executable}")
}
