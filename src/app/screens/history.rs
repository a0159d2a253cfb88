//! History screen: deploys, and groups of similar failures.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, loading, sentence};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::filter::Field;
use crate::app::format::{count, date, duration};
use crate::app::list::{Row, ascending, descending};
use crate::app::msg::Effect;
use crate::app::rows::sorted;
use crate::app::state::State;
use model::DeploySummary;

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current,
    load: || Some(Effect::LoadHistory),
};

pub(super) const HISTORY: ContextInfo = ContextInfo {
    title: "History",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Beside,
    write_detail_title: |state, l| {
        if let Some(deploy) = state.selected().and_then(|r| r.key.number()) {
            l.push(span(Role::Strong, format!(" deploy #{deploy} ")));
        }
    },
    sorts: &[
        descending("newest", "WHEN"),
        ascending("duration", "TOOK"),
        ascending("outcome", "OUTCOME"),
    ],
    rows: |state| (rows(state), 0),
    text,
    fields: &[Field {
        name: "state",
        values: &["running", "succeeded", "failed", "cancelled", "interrupted"],
    }],
    field: |state, row, _| {
        let all = state.loaded.history.as_deref().unwrap_or_default();
        let deploy = all.get(row.index);
        deploy.map_or_else(String::new, |d| d.outcome.label().to_owned())
    },
    detail,
    write_subject,
    empty: |state| match state.loaded.history {
        None => loading(),
        Some(_) => sentence(Role::Plain, "No deploy was made in this workspace yet."),
    },
    ..ContextInfo::DEFAULT
};

pub(super) const FAILURES: ContextInfo = ContextInfo {
    title: "Failures",
    body: Body::Table {
        columns: FAILURE_COLUMNS,
        cells: failure_cells,
    },
    detail_place: DetailPlace::Beside,
    rows: |state| (failure_rows(state), 0),
    text: failure_text,
    detail: failure_detail,
    write_detail_title: write_failure_title,
    write_subject: write_failure_subject,
    empty: |state| match state.loaded.failures {
        None => loading(),
        Some(_) => sentence(Role::Ok, "✓ No failures recorded."),
    },
    ..ContextInfo::DEFAULT
};

fn current(state: &State) -> Context {
    if state.loaded.replay.is_some() {
        Context::Replay
    } else if state.filters.failures {
        Context::Failures
    } else {
        Context::History
    }
}

const COLUMNS: &[Column] = &[
    number("#", 0, 0),
    column("WHEN", Width::Content(0), 1),
    column("OUTCOME", Width::Content(0), 0),
    column("CHANGES", Width::Content(0), 2),
    number("DONE", 0, 5),
    number("FAILED", 0, 4),
    number("NOT ATTEMPTED", 0, 7),
    number("TOOK", 0, 3),
    column("CONFIG", Width::Content(0), 8),
    column("WHO", Width::Flex(8, 2), 6),
];

fn rows(state: &State) -> Vec<Row> {
    let Some(all) = &state.loaded.history else {
        return Vec::new();
    };
    let rows = all
        .iter()
        .enumerate()
        .map(|(i, d)| Row::number(d.deploy.unsigned_abs(), i))
        .collect();
    let took = |d: &DeploySummary| d.ended.map(|e| e - d.began);
    sorted(state, rows, |by, a, b| {
        let (a, b) = (&all[a.index], &all[b.index]);
        if by == 1 {
            took(a).cmp(&took(b))
        } else {
            a.outcome.label().cmp(b.outcome.label())
        }
    })
}

fn text(state: &State, row: &Row) -> String {
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

fn detail(state: &State, row: &Row) -> Doc {
    state
        .loaded
        .history
        .as_ref()
        .and_then(|h| h.get(row.index))
        .map(|d| doc::deploy_summary(state, d))
        .unwrap_or_default()
}

/// Cells of a deploy.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(d) = state.loaded.history.as_ref().and_then(|h| h.get(row.index)) else {
        return Vec::new();
    };
    let (symbol, role) = doc::outcome_role(d.outcome);
    let failed = d.operations.bad();
    vec![
        line(Role::Strong, d.deploy.to_string()),
        line(Role::Plain, date(d.began, state.utc_offset)),
        line(role, format!("{symbol} {}", d.outcome.label())),
        doc::counts(&d.counts),
        doc::nonzero(Role::Plain, d.operations.done as usize),
        doc::nonzero(Role::Bad, failed as usize),
        doc::nonzero(Role::Plain, d.operations.not_attempted as usize),
        d.ended.map_or_else(Line::new, |e| {
            line(
                Role::Plain,
                duration(u64::try_from(e - d.began).unwrap_or(0)),
            )
        }),
        line(
            Role::Dim,
            // A prefix is enough to compare the configurations of two deploys.
            d.config_digest.get(..8).unwrap_or(&d.config_digest),
        ),
        line(Role::Plain, format!("{}@{}", d.who, d.host)),
    ]
}

fn write_subject(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "history"));
    l.push(span(
        Role::Plain,
        format!(
            " · {}",
            count(state.loaded.history.as_ref().map_or(0, Vec::len), "deploy")
        ),
    ));
}

const FAILURE_COLUMNS: &[Column] = &[
    number("SEEN", 0, 0),
    column("LAST", Width::Content(0), 3),
    column("CLASS", Width::Content(0), 1),
    column("WHERE", Width::Key(20), 2),
    column("FAILURE", Width::Flex(26, 5), 0),
];

fn failure_rows(state: &State) -> Vec<Row> {
    state
        .loaded
        .failures
        .iter()
        .flatten()
        .enumerate()
        .map(|(i, g)| Row::text(g.fingerprint.as_str(), i))
        .collect()
}

fn failure_text(state: &State, row: &Row) -> String {
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

fn failure_detail(state: &State, row: &Row) -> Doc {
    state
        .loaded
        .failures
        .as_ref()
        .and_then(|f| f.get(row.index))
        .map(|g| doc::failure_group(state, g))
        .unwrap_or_default()
}

/// Cells of a group of failures.
fn failure_cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(g) = state
        .loaded
        .failures
        .as_ref()
        .and_then(|f| f.get(row.index))
    else {
        return Vec::new();
    };
    // A failure of a launch has a plugin but no resource.
    let place = match g.addresses.as_slice() {
        [] => line(Role::Plain, g.plugin.as_ref().map_or("", |p| &*p.0)),
        [one] => vec![doc::address(Role::Plain, one)],
        [first, rest @ ..] => vec![
            doc::address(Role::Plain, first),
            span(Role::Plain, format!(" +{} more", rest.len())),
        ],
    };
    vec![
        line(
            if g.count > 1 { Role::Warn } else { Role::Plain },
            format!("{}×", g.count),
        ),
        line(Role::Plain, date(g.last, state.utc_offset)),
        line(Role::Bad, g.class.label()),
        place,
        line(Role::Strong, &g.summary),
    ]
}

fn write_failure_title(state: &State, l: &mut Line) {
    let groups = state.loaded.failures.as_deref().unwrap_or_default();
    if let Some(g) = state.selected().and_then(|r| groups.get(r.index)) {
        l.push(span(Role::Bad, format!(" {}: ", g.class.label())));
        l.push(span(Role::Strong, format!("{} ", g.summary)));
    }
}

fn write_failure_subject(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "failures"));
    l.push(span(
        Role::Plain,
        format!(
            " · {} · newest first",
            count(state.loaded.failures.as_ref().map_or(0, Vec::len), "kind")
        ),
    ));
}
