//! Contents of the detail pane for a row, one function for each context (screen or view).

use crate::app::doc::{self, Doc};
use crate::app::list::Row;
use crate::app::rows::{CallRow, call_row, drift_row, output_row};
use crate::app::state::{PluginTab, State};
use crate::engine::model::StageMode;

pub(super) fn empty_detail(_: &State, _: &Row) -> Doc {
    Doc::new()
}

pub(super) fn plugins(state: &State, _: &Row) -> Doc {
    let Some(p) = state.plugin() else {
        return Doc::new();
    };
    match state.filters.plugin_tab {
        PluginTab::Attempts => doc::attempts(state, p),
        PluginTab::Schema => {
            doc::schema_text(p, state.loaded.schemas.get(&p.id).map(Vec::as_slice))
        }
        PluginTab::Calls => doc::calls(state, p),
        PluginTab::Logs => doc::logs(state, p),
        PluginTab::About => doc::found(state, p),
    }
}

pub(super) fn calls(state: &State, row: &Row) -> Doc {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => doc::call(state, c),
        Some(CallRow::Finished(f)) => doc::finished(state, f),
        None => Doc::new(),
    }
}

pub(super) fn stage(state: &State, row: &Row) -> Doc {
    match (
        state.change(),
        output_row(state, row),
        drift_row(state, row),
    ) {
        (Some(c), ..) => doc::change(c, state.unknown_of(&c.address), state.list().zoom),
        (_, Some(o), _) => doc::output(o),
        (_, _, Some(d)) => doc::drift(
            d,
            state
                .view
                .stage
                .as_ref()
                .map_or(StageMode::Normal, |s| s.mode),
        ),
        _ => Doc::new(),
    }
}

pub(super) fn deploy(state: &State, _: &Row) -> Doc {
    match (state.operation(), state.shown_deploy()) {
        (Some(op), Some((_, now))) => doc::operation(state, op, now),
        _ => Doc::new(),
    }
}

pub(super) fn history(state: &State, row: &Row) -> Doc {
    state
        .loaded
        .history
        .as_ref()
        .and_then(|h| h.get(row.index))
        .map(|d| doc::deploy_summary(state, d))
        .unwrap_or_default()
}

pub(super) fn failures(state: &State, row: &Row) -> Doc {
    state
        .loaded
        .failures
        .as_ref()
        .and_then(|f| f.get(row.index))
        .map(|g| doc::failure_group(state, g))
        .unwrap_or_default()
}

pub(super) fn resources(state: &State, row: &Row) -> Doc {
    state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
        .map(|r| doc::state_row(state, r))
        .unwrap_or_default()
}

pub(super) fn logs(state: &State, row: &Row) -> Doc {
    state
        .log
        .get(row.index)
        .map(|e| doc::log_line(state, e))
        .unwrap_or_default()
}
