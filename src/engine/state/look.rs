//! What is at home, held against what is known of it.

use super::HomeError;
use super::compare::same;
use super::record::StateOfRecord;
use crate::engine::store::from_version4;
use crate::engine::store::model::{HomeRecord, State};
use sha2::{Digest as _, Sha256};
use statefile::encryption::EncryptionError;
use statefile::{ReadError, StateFile};
use std::sync::Arc;

/// What a look at home shows, against what is known of it.
pub(super) enum Look {
    /// What was seen there last.
    Unchanged,
    /// What the copy says.
    Same,
    /// Another state.
    Other(Box<State>),
    /// Nothing, and there was nothing.
    Nothing,
    /// Nothing, where there was something.
    Gone,
    /// Half of what was being written.
    Half,
}

/// What was read at home, which may be large: its digest is worked out once, and only where
/// something is known that it can be held against.
pub(super) struct AtHome<'k> {
    pub(super) text: Vec<u8>,
    known: &'k HomeRecord,
    /// Where what is known is of another place, or of none: none.
    digest: Option<String>,
}

impl<'k> AtHome<'k> {
    pub(super) fn new(text: Vec<u8>, place: &str, known: &'k HomeRecord) -> Self {
        Self {
            digest: (known.place == place).then(|| digest(&text)),
            text,
            known,
        }
    }

    /// Its digest, to be noted.
    pub(super) fn digest(&self) -> String {
        let known = self.digest.clone();
        known.unwrap_or_else(|| digest(&self.text))
    }

    /// Whether it is what was seen there last.
    pub(super) fn is_as_seen(&self) -> bool {
        self.digest.as_deref() == Some(seen_and_begun(self.known).0)
    }
}

impl StateOfRecord {
    /// Compares what is at home with what is known of it.
    pub(super) async fn look(
        &self,
        written: &str,
        found: AtHome<'_>,
        copy: &State,
    ) -> Result<Look, HomeError> {
        let as_seen = found.is_as_seen();
        let AtHome {
            text,
            known,
            digest,
        } = found;
        let here = digest.is_some();
        // Errors name the file that was read.
        let read_from = self.read_from();
        let place = read_from.as_ref().map(|path| path.display().to_string());
        let place = place.as_deref().unwrap_or(written);
        // Also where nothing has changed there: how it may be read has, perhaps.
        let text = match self.opened(place, text).await {
            // Half of an envelope is none.
            Err(HomeError::Encrypted {
                source: EncryptionError::Plain,
                ..
            }) if here && known.writing => return Ok(Look::Half),
            opened => opened?,
        };
        let (_, begun) = seen_and_begun(known);
        if as_seen {
            return Ok(Look::Unchanged);
        }
        let state = match parsed(place, &text) {
            // No beginning of a state file is one.
            Err(HomeError::Unreadable { ref source, .. })
                if here && known.writing && matches!(**source, ReadError::Json(_)) =>
            {
                return Ok(Look::Half);
            }
            read => read?,
        };
        Ok(match state {
            Some(state) if same(&state, copy) => Look::Same,
            // An earlier one of ours, of which it was not known whether it had arrived.
            Some(_) if begun.split(' ').any(|one| digest.as_deref() == Some(one)) => {
                Look::Unchanged
            }
            Some(state) => Look::Other(Box::new(state)),
            // With `-state-out` the file that is read may never have existed: it is no loss.
            None if read_from.is_some() && !is_blank(copy) => Look::Other(Box::new(State {
                objects: Vec::new(),
                outputs: Vec::new(),
                check_results: None,
                ..copy.clone()
            })),
            None if here && known.writing => Look::Half,
            None if here && !is_blank(copy) => Look::Gone,
            None => Look::Nothing,
        })
    }
}

/// The digest of what was seen at home last, and those of what was sent there since.
fn seen_and_begun(known: &HomeRecord) -> (&str, &str) {
    known.digest.split_once(' ').unwrap_or((&known.digest, ""))
}

/// Whether a text with this digest was written there by the store that `known` is of.
pub(super) fn is_own(known: &HomeRecord, digest: &str) -> bool {
    known.digest.split(' ').any(|one| one == digest)
}

/// Whether home lacks something that the copy has: what was worked out and could not be brought
/// there, or a state that has never been anywhere else.
pub(super) fn is_behind(known: &HomeRecord, copy: &State) -> bool {
    if known.place.is_empty() {
        !is_blank(copy)
    } else {
        known.serial != copy.serial
    }
}

pub(super) fn parsed(place: &str, text: &[u8]) -> Result<Option<State>, HomeError> {
    let file = StateFile::read(text).map_err(|e| HomeError::Unreadable {
        place: place.to_owned(),
        source: Arc::new(e),
    })?;
    let state = file.map(from_version4).transpose();
    state.map_err(|source| HomeError::Unusable {
        place: place.to_owned(),
        source,
    })
}

/// How many writes are remembered of which it is not known whether they arrived.
const BEGUN: usize = 16;

/// The digests of what was seen at home last, and of what was sent there since without an answer: a
/// server may have taken what it did not say it had.
pub(super) fn with_begun(known: &str, digest: &str) -> String {
    let (seen, begun) = known.split_once(' ').unwrap_or((known, ""));
    let begun: Vec<&str> = begun.split(' ').filter(|one| !one.is_empty()).collect();
    let newest = &begun[begun.len().saturating_sub(BEGUN - 1)..];
    let mut all = vec![seen];
    all.extend(newest.iter().filter(|one| **one != digest));
    all.push(digest);
    all.join(" ")
}

/// Of what is there; nothing for nothing.
pub(super) fn digest(text: &[u8]) -> String {
    if text.is_empty() {
        return String::new();
    }
    fetch::hex(&Sha256::digest(text))
}

pub(super) fn is_blank(state: &State) -> bool {
    state.objects.is_empty() && state.outputs.is_empty()
}
