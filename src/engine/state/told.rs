//! Texts of messages and errors about the reconciliation of the backend's state with the store's
//! copy.

use super::HomeError;
use super::compare::differ;
use crate::engine::store::model::{HomeRecord, State};
use std::path::Path;

pub(super) fn apart(place: String, home: &State, copy: &State) -> HomeError {
    HomeError::Apart {
        place,
        theirs: home.serial,
        ours: copy.serial,
        differ: differ(home, copy),
    }
}

pub(super) fn gone(place: String, copy: &State) -> HomeError {
    HomeError::Gone {
        place,
        objects: copy.objects.len(),
    }
}

pub(super) fn brought(place: &str, copy: &State, first: bool) -> String {
    let (serial, objects) = (copy.serial, counted(copy.objects.len()));
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
pub(super) fn taken_over(place: &str, state: &State, known: &HomeRecord) -> String {
    let (serial, objects) = (state.serial, counted(state.objects.len()));
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

pub(super) fn read_elsewhere(path: &Path, place: &str, state: &State) -> String {
    format!(
        "the state is read from {} ({}) and written to {place}",
        path.display(),
        counted(state.objects.len())
    )
}

fn counted(objects: usize) -> String {
    match objects {
        1 => "1 object".to_owned(),
        n => format!("{n} objects"),
    }
}
