//! Screens with tables, one file each: columns, and the cells of a row.

mod calls;
mod deploy;
mod history;
mod plugins;
mod stage;
mod state;

pub use calls::charts;

use super::paint::Brush;
use super::table::{Column, Table};
use crate::app::doc::Line;
use crate::app::layout::{Areas, pinned};
use crate::app::list::{Pane, Row};
use crate::app::state::{Context, State};

/// Draws the list of the current context.
pub fn table(state: &State, a: &Areas, brush: &mut Brush<'_>) {
    let (columns, cells): (&[Column], fn(&State, &Row) -> Vec<Line>) = match state.context() {
        Context::Plugins => (plugins::COLUMNS, plugins::cells),
        Context::Schema => (plugins::SCHEMA, plugins::schema_cells),
        Context::Calls => (calls::COLUMNS, calls::cells),
        Context::Stage => (stage::COLUMNS, stage::cells),
        Context::Deploy | Context::Replay => (deploy::COLUMNS, deploy::cells),
        Context::History => (history::COLUMNS, history::cells),
        Context::Failures => (history::FAILURES, history::failure_cells),
        Context::State => (state::COLUMNS, state::cells),
        // Their lines are no tables; `log_view` draws them.
        Context::Logs | Context::Tracing => return,
    };
    let list = state.list();
    let find = list.find.to_lowercase();
    Table {
        columns,
        rows: &state.frame.rows,
        index: list.index,
        offset: list.offset,
        pinned: pinned(state, usize::from(a.list.height)),
        // The focus may still be on a detail that the screen has no space for.
        has_keys: list.focus == Pane::List || a.detail.height == 0,
        indent: if state.context() == Context::State {
            4
        } else {
            0
        },
        find: &find,
    }
    .draw(a.columns, a.list, brush, |row| cells(state, row));
}
