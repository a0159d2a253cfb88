//! Command that reveals one sensitive value.

use crate::app::command::Available;
use crate::app::msg::Effect;
use crate::app::popups::Reveal;
use crate::app::state::*;
use model::secrets::MASK;
use model::{AttributeChange, SensitivePlace};

/// Requires a sensitive value that is known, in the row under the cursor.
pub fn has_sensitive(state: &State) -> Available {
    super::has_row(state)?;
    if !places(state).is_empty() {
        return Ok(());
    }
    let unknown = state
        .change()
        .is_some_and(|c| c.attributes.iter().any(|a| a.sensitive && a.unknown));
    Err(if unknown {
        "the sensitive values are known after apply".into()
    } else {
        "no sensitive value here".into()
    })
}

/// Asks which sensitive value to show.
pub fn ask_reveal(state: &mut State, _: &mut Vec<Effect>) {
    let places = places(state);
    state.open(Reveal::new(places));
}

/// Sensitive values of the row under the cursor.
fn places(state: &State) -> Vec<SensitivePlace> {
    let Some(row) = state.selected() else {
        return Vec::new();
    };
    if let Some(output) = state.output() {
        let name = output.name.clone();
        return match output.sensitive {
            true => vec![SensitivePlace::StateOutput { name }],
            false => Vec::new(),
        };
    }
    match state.context() {
        Context::Stage => of_stage(state),
        Context::State => of_state(state, row.index),
        _ => Vec::new(),
    }
}

fn of_stage(state: &State) -> Vec<SensitivePlace> {
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    if let Some(c) = state.change() {
        let known = |a: &AttributeChange| a.before.is_some() || a.after.is_some() && !a.unknown;
        let all = c.attributes.iter().enumerate();
        return all
            .filter(|(_, a)| a.sensitive && known(a))
            .map(|(index, a)| SensitivePlace::Change {
                stage: stage.stage,
                address: c.address.clone(),
                index,
                path: a.path.clone(),
            })
            .collect();
    }
    let output = state.planned_output().filter(|o| o.sensitive);
    output
        .map(|o| SensitivePlace::StageOutput {
            stage: stage.stage,
            name: o.name.clone(),
        })
        .into_iter()
        .collect()
}

fn of_state(state: &State, index: usize) -> Vec<SensitivePlace> {
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    let Some(row) = rows.get(index) else {
        return Vec::new();
    };
    // Texts of values are JSON, so no other value is equal to the mask.
    let masked = row.attributes.iter().filter(|(_, text)| text == MASK);
    masked
        .map(|(path, _)| SensitivePlace::State {
            id: row.id(),
            path: path.clone(),
        })
        .collect()
}
