//! Reconciliation of the backend block with the backend metadata.

use super::state_location::default_location;
use state::backend::{BackendKind, BackendMetadata, Settings, SettingsError};
use state::{StateError, StatePlace};
use std::path::{Path, PathBuf};

/// Metadata to write and a message about it.
pub(super) type ToRecord = Option<(BackendMetadata, Option<String>)>;

/// Reasons why a backend cannot be used: block and metadata disagree, or one of them is invalid.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackendMismatch {
    #[error(
        "The configuration no longer has the backend {kind:?}, for which this directory was initialized.{}",
        TO_BRING
    )]
    Gone { kind: String },
    #[error("The backend type changed from {from:?} to {to:?}.{}", TO_BRING)]
    OtherKind { from: String, to: String },
    #[error(
        "The backend block changed since this directory was initialized.{}",
        TO_BRING
    )]
    OtherBlock,
    /// The backend metadata cannot be read.
    #[error(transparent)]
    Record(Box<StateError>),
    /// The backend metadata names no usable backend.
    #[error(
        "The backend metadata of this directory is invalid: {0} Run `flightdeck init -reconfigure` to replace it."
    )]
    Recorded(#[source] SettingsError),
    /// A new backend lacks arguments or cannot be opened.
    #[error(
        "This directory is not initialized for the backend {kind:?}: {source}. Pass missing arguments with `flightdeck init -backend-config=…`."
    )]
    Unopened {
        kind: String,
        source: Box<StateError>,
    },
    #[error(
        "This directory is not initialized for the backend {kind:?}, and flightdeck cannot determine where its local state is. Run `flightdeck init`."
    )]
    NoPlace { kind: String },
    /// `file` has a state with objects.
    #[error(
        "This directory is not initialized for the backend {kind:?}, and the local state {} has objects. Run `flightdeck init -migrate-state` to migrate it.", file.display()
    )]
    LeftBehind { kind: String, file: PathBuf },
}

/// Remedy for a changed backend.
const TO_BRING: &str = " Run `flightdeck init -migrate-state` to migrate the state, or `flightdeck init -reconfigure` to use the state at the new location as it is.";

/// Reconciles block and metadata by OpenTofu's rules: an unchanged block means the recorded
/// arguments, which may include `-backend-config` values.
pub(super) fn reconcile(
    dir: &Path,
    named: &str,
    said: Option<Settings>,
    recorded: Option<BackendMetadata>,
) -> Result<(Option<Settings>, ToRecord), BackendMismatch> {
    match (said, recorded) {
        (None, None) => Ok((None, None)),
        (None, Some(record)) => Err(BackendMismatch::Gone { kind: record.kind }),
        // The default local backend needs no metadata.
        (Some(said), None) if said.kind() == BackendKind::Local => Ok((Some(said), None)),
        (Some(said), None) => first(dir, named, said),
        (Some(said), Some(record)) if record.kind != said.kind().name() => {
            Err(BackendMismatch::OtherKind {
                from: record.kind,
                to: said.kind().to_string(),
            })
        }
        (Some(said), Some(record)) => {
            let before = Settings::recorded(&record.kind, &record.config)
                .map_err(BackendMismatch::Recorded)?;
            // The block is unchanged; the recorded arguments may include `-backend-config` values.
            if record.hash == u64::from(said.hash()) {
                Ok((Some(before), None))
            } else if before == said {
                // Only the text of the block changed.
                let hash = said.hash().into();
                Ok((Some(said), Some((BackendMetadata { hash, ..record }, None))))
            } else {
                Err(BackendMismatch::OtherBlock)
            }
        }
    }
}

/// Accepts a new backend if it can be opened as written and no local state would be left behind.
fn first(
    dir: &Path,
    named: &str,
    said: Settings,
) -> Result<(Option<Settings>, ToRecord), BackendMismatch> {
    let kind = said.kind().to_string();
    if let Err(source) = said.open(dir, true) {
        let source = Box::new(source);
        return Err(BackendMismatch::Unopened { kind, source });
    }
    let StatePlace::File(file) = default_location(named).place else {
        return Err(BackendMismatch::NoPlace { kind });
    };
    let text = fsroot::read_regular(dir.join(&file)).unwrap_or_default();
    // A local state would be left behind unnoticed.
    if has_content(&text) {
        return Err(BackendMismatch::LeftBehind { kind, file });
    }
    let record = BackendMetadata::from_settings(&said, said.hash());
    let told = format!(
        "initialized this directory for the backend {kind:?}; the backend metadata is in .terraform/terraform.tfstate"
    );
    Ok((Some(said), Some((record, Some(told)))))
}

/// Returns true if the text is a state with content, or cannot be read.
pub(super) fn has_content(text: &[u8]) -> bool {
    match statefile::StateFile::read(text) {
        Ok(None) => false,
        Ok(Some(state)) => !state.resources.is_empty() || !state.outputs.is_empty(),
        Err(_) => true,
    }
}
