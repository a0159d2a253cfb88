//! Rows of the Plugins screen: each plugin with its idle, starting and draining processes below it,
//! then the orphaned processes.

use super::sorted;
use crate::app::doc;
use crate::app::list::Row;
use crate::app::state::State;

pub(in crate::app) fn plugins(state: &State) -> Vec<Row> {
    let all: Vec<_> = state.view.plugins.values().collect();
    let rows = all
        .iter()
        .enumerate()
        .map(|(i, p)| Row::text(&*p.id.0, i))
        .collect();
    let rows = sorted(state, rows, |by, a, b| {
        let (a, b) = (all[a.index], all[b.index]);
        let p95 = |id| state.view.p95_ms(id);
        match by {
            1 => a.state.label().cmp(b.state.label()),
            2 => a
                .usage
                .map(|u| u.rss_bytes)
                .cmp(&b.usage.map(|u| u.rss_bytes)),
            3 => a
                .usage
                .map_or(0.0, |u| u.cpu_percent)
                .total_cmp(&b.usage.map_or(0.0, |u| u.cpu_percent)),
            _ => p95(&a.id).cmp(&p95(&b.id)),
        }
    });
    // Draining, idle and renewed processes are headings below their plugin.
    let below = |row: Row| {
        let said = doc::processes(state, all[row.index]);
        let left: Vec<Row> = said
            .iter()
            .map(|text| Row::heading(format!("  └ {text}")))
            .collect();
        std::iter::once(row).chain(left)
    };
    let mut rows: Vec<Row> = rows.into_iter().flat_map(below).collect();
    let orphans = &state.view.orphans;
    if !orphans.is_empty() {
        let key = state.keys.first("orphans");
        let head = format!("orphaned processes ({}); {key} ends them", orphans.len());
        // Orphans are headings, because commands of a plugin do not apply to them.
        rows.push(Row::heading(head));
        let each = orphans.iter().map(|o| doc::orphan(state, o));
        rows.extend(each.map(|text| Row::heading(format!("  {text}"))));
    }
    rows
}
