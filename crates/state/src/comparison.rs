//! Compares the state in the backend with the store's record of it: the digest of the text last
//! seen there, and the store's copy.

use super::StateError;
use super::compare::same_content;
use super::record::StateOfRecord;
use sha2::{Digest as _, Sha256};
use statefile::encryption::EncryptionError;
use statefile::{ReadError, StateFile};
use std::sync::Arc;
use store::from_version4;
use store::records::{BackendVersion, State};

/// Result of the comparison of the backend's state with the store's record.
pub(super) enum Comparison {
    /// The state as last seen.
    Unchanged,
    /// Equal to the copy.
    Same,
    /// A different state.
    Other(Box<State>),
    /// No state, and there never was one.
    NeverWritten,
    /// No state, although there was one.
    Deleted,
    /// A partial write.
    Partial,
}

/// Text read from the backend. The text may be large, so its digest is computed once and only if
/// there is a record to compare it with.
pub(super) struct BackendState<'k> {
    pub(super) text: Vec<u8>,
    version: &'k BackendVersion,
    /// `None` if the record is of another location.
    digest: Option<String>,
}

impl<'k> BackendState<'k> {
    pub(super) fn new(text: Vec<u8>, place: &str, known: &'k BackendVersion) -> Self {
        Self {
            digest: (known.place == place).then(|| digest(&text)),
            text,
            version: known,
        }
    }

    /// Digest of the text, to be recorded.
    pub(super) fn digest(&self) -> String {
        let known = self.digest.clone();
        known.unwrap_or_else(|| digest(&self.text))
    }

    /// Is it the text that was last seen?
    pub(super) fn is_unchanged(&self) -> bool {
        self.digest.as_deref() == Some(split_digests(self.version).0)
    }
}

impl StateOfRecord {
    /// Compares the text with the record and the copy.
    pub(super) async fn compare(
        &self,
        written: &str,
        found: BackendState<'_>,
        copy: &State,
    ) -> Result<Comparison, StateError> {
        let as_seen = found.is_unchanged();
        let BackendState {
            text,
            version: known,
            digest,
        } = found;
        let here = digest.is_some();
        // Errors name the file that was read.
        let read_from = self.read_from();
        let place = read_from.as_ref().map(|path| path.display().to_string());
        let place = place.as_deref().unwrap_or(written);
        // Decrypted even if unchanged, because the configured encryption may have changed.
        let text = match self.decrypt(place, text).await {
            // Part of an envelope is not recognized as one.
            Err(StateError::Encrypted {
                source: EncryptionError::Plain,
                ..
            }) if here && known.writing => return Ok(Comparison::Partial),
            opened => opened?,
        };
        let (_, begun) = split_digests(known);
        if as_seen {
            return Ok(Comparison::Unchanged);
        }
        let state = match parsed(place, &text) {
            // No prefix of a state file is valid JSON.
            Err(StateError::Unreadable { ref source, .. })
                if here && known.writing && matches!(**source, ReadError::Json(_)) =>
            {
                return Ok(Comparison::Partial);
            }
            read => read?,
        };
        Ok(match state {
            Some(state) if same_content(&state, copy) => Comparison::Same,
            // An earlier write of this store whose arrival was not confirmed.
            Some(_) if begun.split(' ').any(|one| digest.as_deref() == Some(one)) => {
                Comparison::Unchanged
            }
            Some(state) => Comparison::Other(Box::new(state)),
            // With `-state-out` the file to read may never have existed, so its absence is no loss.
            None if read_from.is_some() && !is_blank(copy) => Comparison::Other(Box::new(State {
                objects: Vec::new(),
                outputs: Vec::new(),
                check_results: None,
                ..copy.clone()
            })),
            // Empty during a recorded write: the write was cut off at its start.
            None if here && known.writing => Comparison::Partial,
            None if here && !is_blank(copy) => Comparison::Deleted,
            None => Comparison::NeverWritten,
        })
    }
}

/// Splits the recorded digest: that of the state last seen, and those of unconfirmed writes.
fn split_digests(known: &BackendVersion) -> (&str, &str) {
    known.digest.split_once(' ').unwrap_or((&known.digest, ""))
}

/// Was a text with this digest written by the store of this record?
pub(super) fn is_own_write(known: &BackendVersion, digest: &str) -> bool {
    known.digest.split(' ').any(|one| one == digest)
}

/// Has the copy changes that the backend lacks? True after a failed write, and for a state that was
/// never written anywhere.
pub(super) fn backend_is_behind(known: &BackendVersion, copy: &State) -> bool {
    if known.place.is_empty() {
        !is_blank(copy)
    } else {
        known.serial != copy.serial
    }
}

pub(super) fn parsed(place: &str, text: &[u8]) -> Result<Option<State>, StateError> {
    let file = StateFile::read(text).map_err(|e| StateError::Unreadable {
        place: place.to_owned(),
        source: Arc::new(e),
    })?;
    let state = file.map(from_version4).transpose();
    state.map_err(|source| StateError::Unusable {
        place: place.to_owned(),
        source,
    })
}

/// Number of unconfirmed writes to remember.
const MAX_UNCONFIRMED: usize = 16;

/// Adds the digest of a write that is not confirmed yet. A server may have stored a text although
/// its answer was lost.
pub(super) fn add_unconfirmed(known: &str, digest: &str) -> String {
    let (seen, begun) = known.split_once(' ').unwrap_or((known, ""));
    let begun: Vec<&str> = begun.split(' ').filter(|one| !one.is_empty()).collect();
    let newest = &begun[begun.len().saturating_sub(MAX_UNCONFIRMED - 1)..];
    let mut all = vec![seen];
    all.extend(newest.iter().filter(|one| **one != digest));
    all.push(digest);
    all.join(" ")
}

/// Digest of a text; empty for an empty text.
pub(super) fn digest(text: &[u8]) -> String {
    if text.is_empty() {
        return String::new();
    }
    hex::encode(Sha256::digest(text))
}

pub(super) fn is_blank(state: &State) -> bool {
    state.objects.is_empty() && state.outputs.is_empty()
}
