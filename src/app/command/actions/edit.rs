//! Opens an editor at a diagnostic or at the block of a row.

use super::shown_diagnostics;
use crate::app::command::Available;
use crate::app::msg::Effect;
use crate::app::state::*;
use model::{Declared, FileLine};
use std::path::Path;

/// Returns the place of the first error of the last staging, if the Stage screen shows it.
fn shown_error(state: &State) -> Option<FileLine> {
    state.view.stage_error.as_ref()?;
    if state.context() != Context::Stage {
        return None;
    }
    let range = shown_diagnostics(state).find_map(|d| d.range.as_ref())?;
    Some(FileLine {
        path: Path::new(&state.place.directory).join(&range.filename),
        line: range.start.line,
    })
}

/// Returns the declaration of the row under the cursor.
fn declared(state: &State) -> Option<Declared> {
    let address = match state.context() {
        Context::Plugins => return state.plugin().map(|p| Declared::Plugin(p.id.clone())),
        Context::Stage => state.change().map(|c| c.address.clone()),
        Context::Deploy => state.operation().map(|o| o.instance().to_owned()),
        _ => super::resource(state),
    };
    address.map(Declared::Resource)
}

/// Requires an error or a row with a block.
pub fn can_edit(state: &State) -> Available {
    match (shown_error(state), declared(state)) {
        (None, None) => Err("no block under the cursor".into()),
        _ => Ok(()),
    }
}

/// Opens the editor at the error, or finds the block first.
pub fn edit(state: &mut State, effects: &mut Vec<Effect>) {
    match (shown_error(state), declared(state)) {
        (Some(place), _) => edit_file(state, effects, place),
        (None, Some(declared)) => effects.push(Effect::FindDeclaration(declared)),
        (None, None) => {}
    }
}

/// Opens the editor, and stages again after it if nothing runs.
pub fn edit_file(state: &mut State, effects: &mut Vec<Effect>, place: FileLine) {
    effects.push(Effect::Edit(place));
    if state.context() == Context::Stage && super::can_stage(state).is_ok() {
        super::stage_again(state, effects);
    }
}
