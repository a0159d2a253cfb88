//! Trust in workspace plugins, by the digest of their files. Without trust they are not launched.

use crate::find::{Found, HashCache, Places, is_shipped};
use model::WorkspacePlugin;
use std::path::{Path, PathBuf};
use trust::file::{Known, TrustFile, TrustFileError};

/// Reasons why trust cannot be checked or saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read the files of the provider {address} in the workspace: {executable}")]
    Files { address: String, executable: String },
    #[error(transparent)]
    File(#[from] TrustFileError),
}

/// Trust status of a found plugin.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Not a workspace plugin.
    NotShipped,
    /// A trusted workspace plugin.
    Trusted { digest: String },
    /// A workspace plugin without trust.
    Lacking(WorkspacePlugin),
}

/// Trust decisions of this user.
#[derive(Debug, Clone)]
pub struct Trust {
    file: TrustFile,
}

impl Trust {
    /// Uses the decisions in this file, which must be outside of the workspace, because a clone
    /// must not bring its own trust.
    pub fn new(file: Option<PathBuf>, workspace: &Path) -> Self {
        Self {
            file: TrustFile::new(file, workspace),
        }
    }

    /// Checks whether a found plugin may be launched.
    ///
    /// # Errors
    /// Its files or the trust decisions cannot be read.
    pub fn verify(
        &self,
        found: &Found,
        places: &Places,
        cache: &HashCache,
    ) -> Result<Verdict, TrustError> {
        // A plugin outside of the workspace was installed by the user.
        if !is_shipped(found, places, cache) {
            return Ok(Verdict::NotShipped);
        }
        let executable = found
            .executable()
            .map(|p| p.display().to_string())
            .unwrap_or_default();
        // Without a digest no decision can be bound to the files.
        let Some(digest) = found.digest(cache) else {
            return Err(TrustError::Files {
                address: found.address.to_string(),
                executable,
            });
        };
        let address = found.address.to_string();
        let known = self
            .file
            .look_up(&digest, &entry_name(&address, &executable))?;
        if known == Known::Trusted {
            return Ok(Verdict::Trusted { digest });
        }
        Ok(Verdict::Lacking(WorkspacePlugin {
            address,
            executable,
            digest,
            changed: known == Known::Changed,
        }))
    }

    /// Trusts exactly these files.
    ///
    /// # Errors
    /// The decision cannot be saved.
    pub fn trust(&self, plugin: &WorkspacePlugin) -> Result<(), TrustError> {
        let name = entry_name(&plugin.address, &plugin.executable);
        Ok(self.file.add(&plugin.digest, &name)?)
    }
}

fn entry_name(address: &str, executable: &str) -> String {
    format!("{address} {executable}")
}
