//! `file` provisioner: copies a file, a directory or a string to a remote machine.

use super::{Fault, RunningProvisioner};
use crate::stage::provision::{Connection, FileCopy, From};
use shell::ssh::Source;
use std::path::{Path, PathBuf};

/// Mode of every copied file, independently of the source.
const MODE: u32 = 0o644;

pub(super) async fn run(
    what: &FileCopy,
    connection: &Connection,
    doing: &RunningProvisioner<'_>,
) -> Result<(), Fault> {
    let source = match &what.from {
        From::Content(text) => Source::Bytes(text.as_bytes()),
        From::Path(text) => Source::Path(
            text,
            local(text, doing.base).map_err(|why| doing.fault(why.to_string()))?,
        ),
    };
    if !what.secret {
        let from = if let From::Path(path) = &what.from {
            format!("{path:?}")
        } else {
            "inline content".to_owned()
        };
        doing.log_output(&format!("copying {from} to {:?}", what.destination));
    }
    // Checked before connecting, to fail early. OpenTofu connects first.
    if let Source::Path(_, path) = &source {
        let found = tokio::fs::metadata(path).await;
        found
            .map_err(|e| doing.fault(format!("Cannot read the source {}: {e}.", path.display())))?;
    }
    let mut remote = doing.connect(&connection.target).await?;
    let done = remote
        .copy(&source, &what.destination, MODE, doing.cancel)
        .await;
    remote.close().await;
    done.map_err(|error| doing.ssh_fault(&error))
}

/// Reason that a local path cannot be resolved.
#[derive(Debug, thiserror::Error)]
enum LocalError {
    #[error(
        "Cannot resolve the source {0:?}: only your own home directory is supported, not another user's."
    )]
    OthersHome(String),
    #[error("Cannot resolve the source {text:?}: {source}.")]
    NoHome {
        text: String,
        source: etcetera::HomeDirError,
    },
}

/// Resolves a path on this machine; `~` is the operator's home directory.
fn local(text: &str, base: &Path) -> Result<PathBuf, LocalError> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(base.join(text));
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(LocalError::OthersHome(text.to_owned()));
    }
    let home = etcetera::home_dir().map_err(|source| LocalError::NoHome {
        text: text.to_owned(),
        source,
    })?;
    Ok(home.join(rest.trim_start_matches('/')))
}
