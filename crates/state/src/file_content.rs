//! Content of a state file: bounded reads, writes in place, and the initial state.

use super::Spelling;
use super::encryption::serialize;
use sha2::{Digest as _, Sha256};
use statefile::StateFile;
use statefile::encryption::is_encrypted;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use store::records::State;

/// Maximum size of a state, in bytes.
pub(super) const MAX_STATE: u64 = 1 << 30;
/// Maximum size of an initial state, in bytes.
const MAX_INITIAL: usize = 1 << 10;

/// Content of a new state file: a state without objects and with serial 0, which no written state
/// has.
pub(super) fn initial_content() -> String {
    let state = State {
        lineage: uuid::Uuid::new_v4().to_string(),
        ..State::default()
    };
    serialize(&state, Spelling::Indented)
}

/// Is the text an initial state, or empty as other programs leave it?
pub(super) fn is_initial(text: &[u8]) -> bool {
    if text.is_empty() {
        return true;
    }
    text.len() < MAX_INITIAL
        && matches!(StateFile::read(text), Ok(Some(state))
            if state.serial == 0
                && !state.lineage.is_empty()
                && state.resources.is_empty()
                && state.outputs.is_empty()
                && state.to_local().as_bytes() == text)
}

/// The text of a state file for a backup; `None` if it is not a state file.
pub(super) fn on_one_line(text: &[u8]) -> Option<String> {
    if is_encrypted(text) {
        let text = std::str::from_utf8(text).ok()?;
        return Some(statefile::compact(text) + "\n");
    }
    StateFile::read_on_one_line(text).ok()?
}

pub(super) fn content(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.take(MAX_STATE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_STATE {
        return Err(std::io::Error::other("it is larger than 1 GiB"));
    }
    Ok(text)
}

/// Writes a text in place. The first byte stays invalid until the rest is complete. So a killed
/// process leaves neither an empty file, which looks like a missing state, nor a readable mixture
/// of two states.
pub(super) fn write_in_place(file: &mut File, text: &[u8]) -> std::io::Result<()> {
    let Some((first, rest)) = text.split_first() else {
        file.set_len(0)?;
        return file.sync_all();
    };
    file.rewind()?;
    file.write_all(b"#")?;
    file.write_all(rest)?;
    file.set_len(text.len() as u64)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&[*first])?;
    file.sync_all()
}

pub(super) fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}
