//! Texts of messages and errors about the reconciliation of the backend's state with the store's
//! copy.

use super::StateError;
use super::compare::summarize_differences;
use std::path::Path;
use store::records::{BackendVersion, State};

pub(super) fn conflict_error(place: String, home: &State, copy: &State) -> StateError {
    StateError::Conflict {
        place,
        theirs: home.serial,
        ours: copy.serial,
        differ: summarize_differences(home, copy),
    }
}

pub(super) fn deleted_error(place: String, copy: &State) -> StateError {
    StateError::Deleted {
        place,
        objects: copy.objects.len(),
    }
}

pub(super) fn migrated_message(place: &str, copy: &State, first: bool) -> String {
    let (serial, objects) = (copy.serial, count_text(copy.objects.len()));
    if first {
        format!(
            "the state of this workspace (serial {serial}, {objects}) was written to {place}, where it is stored from now on; a copy stays in the store"
        )
    } else {
        format!(
            "the state (serial {serial}, {objects}) had not been written to {place} when flightdeck ended; it was written now"
        )
    }
}

/// Message about a state found in the backend.
pub(super) fn found_state_message(place: &str, state: &State, known: &BackendVersion) -> String {
    let (serial, objects) = (state.serial, count_text(state.objects.len()));
    if known.digest.is_empty() {
        return format!(
            "flightdeck now has a copy of the state in {place} (serial {serial}, {objects}) in its store; the state stays in {place}"
        );
    }
    format!(
        "the state in {place} was changed by another program (serial {}, now {serial}, {objects}); flightdeck's store now has the new state",
        known.serial
    )
}

pub(super) fn read_place_message(path: &Path, place: &str, state: &State) -> String {
    format!(
        "the state is read from {} ({}) and written to {place}",
        path.display(),
        count_text(state.objects.len())
    )
}

fn count_text(objects: usize) -> String {
    match objects {
        1 => "1 object".to_owned(),
        n => format!("{n} objects"),
    }
}
