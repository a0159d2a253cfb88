//! Commands of the Start screen.

use crate::app::list::RowKey;
use crate::app::msg::Effect;
use crate::app::popups::UnknownOutcomes;
use crate::app::state::*;
use crate::app::unsettled::{Target, unsettled};

/// Leads to the thing under the cursor.
pub fn open_unsettled(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(row) = state.selected().map(|r| r.index) else {
        return;
    };
    let Some(u) = unsettled(state).into_iter().nth(row) else {
        return;
    };
    match u.target {
        Target::Deploy => super::go_to(state, effects, Screen::Deploy),
        Target::Unknown(selected) => state.open(UnknownOutcomes {
            selected,
            refused: false,
        }),
        Target::Plugin(plugin) => {
            super::go_to_plugin(state, effects, &plugin, PluginTab::Attempts);
        }
        Target::Stage => super::go_to(state, effects, Screen::Stage),
        Target::StageRow(key) => {
            super::go_to(state, effects, Screen::Stage);
            // A filter could hide the row.
            super::search::clear_search(state);
            state.list_mut().key = Some(RowKey::Text(key));
        }
        Target::State => super::go_to(state, effects, Screen::State),
        Target::Diagnostics => super::show_diagnostics(state, effects),
        Target::Install => run("init", state, effects),
        Target::Orphans => run("orphans", state, effects),
        Target::Load => run("plugins-load", state, effects),
    }
}

/// Runs a command with the check of its availability.
fn run(name: &str, state: &mut State, effects: &mut Vec<Effect>) {
    let command = crate::app::command::COMMANDS
        .iter()
        .find(|c| c.name == name);
    if let Some(c) = command {
        crate::app::command::run(c, state, effects);
    }
}
