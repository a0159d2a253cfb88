//! Converts a state to and from its text in the backend: serialization and encryption.

use super::comparison::{digest, parsed};
use super::record::StateOfRecord;
use super::{Spelling, StateError, StateManager};
use statefile::encryption::{Encryption, EncryptionError};
use std::borrow::Cow;
use std::sync::Arc;
use store::records::State;
use store::version4;

impl StateOfRecord {
    /// Decrypts a text, if it is encrypted.
    pub(super) async fn decrypt(&self, place: &str, text: Vec<u8>) -> Result<Vec<u8>, StateError> {
        if text.is_empty() {
            return Ok(text);
        }
        let encryption = self.encryption();
        // Key derivation is slow.
        let opened = tokio::task::spawn_blocking(move || {
            let inside = match encryption.open(&text)? {
                Cow::Owned(inside) => Some(inside),
                Cow::Borrowed(_) => None,
            };
            Ok(inside.unwrap_or(text))
        });
        opened
            .await
            .map_err(|e| StateError::Task(Arc::new(e)))?
            .map_err(|source| StateError::Encrypted {
                place: place.to_owned(),
                source,
            })
    }

    /// Parses a state, encrypted or plain; `None` for an empty text.
    ///
    /// # Errors
    /// The text is not a state, or is encrypted in another way than configured.
    pub async fn parse_text(&self, from: &str, text: Vec<u8>) -> Result<Option<State>, StateError> {
        let text = match statefile::encryption::is_encrypted(&text) {
            true => self.decrypt(from, text).await?,
            false => text,
        };
        parsed(from, &text)
    }

    /// Serializes and encrypts a state.
    pub(super) async fn serialize_encrypted(
        &self,
        state: State,
        home: &dyn StateManager,
    ) -> Result<SerializedState, StateError> {
        let (encryption, spelling) = (self.encryption(), home.layout());
        let spelt = tokio::task::spawn_blocking(move || {
            let text = match encryption.encrypts() {
                true => encrypt_state(&state, spelling, &encryption)?,
                false => serialize(&state, spelling),
            };
            Ok(SerializedState {
                digest: digest(text.as_bytes()),
                serial: state.serial,
                text,
            })
        });
        spelt
            .await
            .map_err(|e| StateError::Task(Arc::new(e)))?
            .map_err(|source| StateError::Encrypted {
                place: home.place(),
                source,
            })
    }
}

/// Serialized state, encrypted if configured.
pub(super) struct SerializedState {
    pub(super) text: String,
    pub(super) digest: String,
    pub(super) serial: i64,
}

/// Converts a state's text to another layout. Text that is not a state is unchanged.
pub fn convert_layout(text: &[u8], spelling: Spelling) -> String {
    if statefile::encryption::is_encrypted(text) {
        let line = statefile::compact(&String::from_utf8_lossy(text));
        return match spelling {
            Spelling::Indented => statefile::indented(&line) + "\n",
            Spelling::Line => line + "\n",
        };
    }
    match (statefile::StateFile::read(text), spelling) {
        (Ok(Some(file)), Spelling::Indented) => file.to_local(),
        (Ok(Some(file)), Spelling::Line) => file.to_line(),
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}

fn encrypt_state(
    state: &State,
    spelling: Spelling,
    encryption: &Encryption,
) -> Result<String, EncryptionError> {
    let serial = u64::try_from(state.serial).unwrap_or_default();
    let sealed = encryption.encrypt(serialize(state, Spelling::Line), serial, &state.lineage)?;
    Ok(match spelling {
        Spelling::Indented => statefile::indented(&sealed) + "\n",
        Spelling::Line => sealed,
    })
}

pub(super) fn serialize(state: &State, spelling: Spelling) -> String {
    let file = version4(state);
    match spelling {
        Spelling::Indented => file.to_local(),
        Spelling::Line => file.to_line(),
    }
}
