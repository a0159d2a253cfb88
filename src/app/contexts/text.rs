//! Text of a row that searches and filters look at, one function for each context (screen or view).

use crate::app::list::Row;
use crate::app::rows::{CallRow, call_row};
use crate::app::state::State;

fn key(row: &Row) -> &str {
    row.key.text().unwrap_or_default()
}

pub(super) fn empty_text(_: &State, _: &Row) -> String {
    String::new()
}

pub(super) fn plugins(state: &State, row: &Row) -> String {
    let Some(p) = state.view.plugins.values().nth(row.index) else {
        return String::new();
    };
    let found = p.found.as_ref();
    let transform = found.and_then(|f| f.transform.as_deref());
    format!(
        "{} {} {} {}",
        key(row),
        p.state.label(),
        found.map_or("", |f| f.address.as_str()),
        transform.unwrap_or_default()
    )
}

pub(super) fn schema(state: &State, row: &Row) -> String {
    let all = state.plugin().and_then(|p| state.loaded.schemas.get(&p.id));
    all.and_then(|s| s.get(row.index))
        .map(|r| format!("{} {} {}", r.path, r.kind, r.flags.join(" ")))
        .unwrap_or_default()
}

pub(super) fn calls(state: &State, row: &Row) -> String {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => format!(
            "{} {} {}",
            c.plugin,
            c.method,
            c.resource.as_deref().unwrap_or("")
        ),
        Some(CallRow::Finished(f)) => format!(
            "{} {} {}",
            f.plugin,
            f.method,
            f.resource.as_deref().unwrap_or("")
        ),
        None => String::new(),
    }
}

pub(super) fn stage(state: &State, row: &Row) -> String {
    let change = state
        .view
        .stage
        .as_ref()
        .and_then(|s| s.changes.get(row.index));
    change.map_or_else(
        || key(row).to_owned(),
        |c| format!("{} {} {}", key(row), c.action.label(), c.why),
    )
}

pub(super) fn deploy(state: &State, row: &Row) -> String {
    let Some(o) = state
        .shown_deploy()
        .and_then(|(d, _)| d.operations.get(row.index))
    else {
        return String::new();
    };
    let failure = o.failure.as_ref().map_or("", |f| f.summary.as_str());
    format!(
        "{} {} {} {failure}",
        key(row),
        o.action.operation_word(),
        o.state.label()
    )
}

pub(super) fn history(state: &State, row: &Row) -> String {
    let Some(d) = state.loaded.history.as_ref().and_then(|h| h.get(row.index)) else {
        return String::new();
    };
    format!(
        "#{} {} {} {} {}",
        d.deploy,
        d.who,
        d.host,
        d.outcome.label(),
        d.config_digest
    )
}

pub(super) fn failures(state: &State, row: &Row) -> String {
    let Some(g) = state
        .loaded
        .failures
        .as_ref()
        .and_then(|f| f.get(row.index))
    else {
        return String::new();
    };
    let plugin = g.plugin.as_ref().map_or("", |p| &*p.0);
    format!(
        "{} {} {} {plugin}",
        g.class.label(),
        g.summary,
        g.addresses.join(" ")
    )
}

pub(super) fn resources(state: &State, row: &Row) -> String {
    let Some(r) = state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
    else {
        return String::new();
    };
    format!(
        "{} {} {}",
        key(row),
        r.provider,
        if r.tainted { "tainted" } else { "" }
    )
}

pub(super) fn logs(state: &State, row: &Row) -> String {
    let Some(e) = state.log.get(row.index) else {
        return String::new();
    };
    format!("{} {} {}", e.line.plugin, e.line.level.label(), e.line.text)
}
