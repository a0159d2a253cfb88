//! History screen: deploys, and groups of similar failures.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, loading, sentence};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::filter::Field;
use crate::app::format::{count, date_s, duration, elapsed};
use crate::app::list::{Row, ascending, descending};
use crate::app::msg::Effect;
use crate::app::rows::sorted;
use crate::app::state::State;
use model::{DeployOutcome, DeploySummary, FailureGroup};

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
    head: Some(|state, row| deploy(state, row).map_or_else(Line::new, doc::deploy_head)),
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
        deploy(state, row).map_or_else(String::new, |d| d.outcome.label().to_owned())
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
    detail: |state, row| {
        failure(state, row).map_or_else(Doc::new, |g| doc::failure_group(state, g))
    },
    head: Some(|state, row| failure(state, row).map_or_else(Line::new, doc::failure_head)),
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
    number("DONE", 0, 4),
    number("TOOK", 0, 3),
    column("WHO", Width::Content(0), 6),
    column("FAILURE", Width::Flex(20, 3), 5),
];

/// Deploy of a row.
fn deploy<'s>(state: &'s State, row: &Row) -> Option<&'s DeploySummary> {
    state.loaded.history.as_ref()?.get(row.index)
}

/// Group of failures of a row.
fn failure<'s>(state: &'s State, row: &Row) -> Option<&'s FailureGroup> {
    state.loaded.failures.as_ref()?.get(row.index)
}

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
    let Some(d) = deploy(state, row) else {
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
    deploy(state, row).map_or_else(Doc::new, |d| doc::deploy_summary(state, d))
}

/// Cells of a deploy.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(d) = deploy(state, row) else {
        return Vec::new();
    };
    let (symbol, role) = doc::outcome_role(d.outcome);
    let o = doc::operations_now(state, d);
    let all = o.done + o.bad() + o.not_attempted;
    let done = match all {
        0 => Line::new(),
        _ => line(Role::Plain, format!("{}/{all}", o.done)),
    };
    vec![
        line(Role::Strong, d.deploy.to_string()),
        line(Role::Plain, date_s(d.began, state.utc_offset)),
        line(role, format!("{symbol} {}", d.outcome.label())),
        doc::counts(&d.counts),
        done,
        match (d.ended, d.outcome) {
            (Some(e), _) => line(
                Role::Plain,
                duration(u64::try_from(e - d.began).unwrap_or(0)),
            ),
            (None, DeployOutcome::Running) => line(Role::Busy, elapsed(state.now - d.began)),
            (None, _) => Line::new(),
        },
        line(Role::Dim, format!("{}@{}", d.who, d.host)),
        reason(state, d),
    ]
}

/// First failure of a deploy, and the number of the others. Without the failures, their number.
fn reason(state: &State, d: &DeploySummary) -> Line {
    let bad = doc::operations_now(state, d).bad();
    let Some(first) = doc::failures_of(state, d).next().filter(|_| bad > 0) else {
        return match bad {
            0 => Line::new(),
            n => line(Role::Bad, format!("{n} failed")),
        };
    };
    let role = match first.solved_in {
        Some(_) => Role::Dim,
        None => Role::Bad,
    };
    let mut l = vec![
        span(role, format!("{}: ", first.class.label())),
        span(Role::Plain, &first.summary),
    ];
    if let Some(deploy) = first.solved_in {
        l.push(doc::omittable(Role::Ok, format!("  ✓ solved in #{deploy}")));
    }
    if bad > 1 {
        l.push(span(Role::Dim, format!("  {bad} failed")));
    }
    l
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
    column("STATUS", Width::Content(0), 1),
    column("CLASS", Width::Content(0), 2),
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
    let Some(g) = failure(state, row) else {
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

/// Cells of a group of failures.
fn failure_cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(g) = failure(state, row) else {
        return Vec::new();
    };
    let (status, summary) = match g.solved_in {
        Some(_) => (Role::Dim, Role::Dim),
        None => (Role::Bad, Role::Strong),
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
        line(Role::Plain, date_s(g.last, state.utc_offset)),
        doc::failure_status(g),
        line(status, g.class.label()),
        place,
        line(summary, &g.summary),
    ]
}

fn write_failure_subject(state: &State, l: &mut Line) {
    let all = state.loaded.failures.as_deref().unwrap_or_default();
    l.push(span(Role::Strong, "failures"));
    l.push(span(
        Role::Plain,
        format!(" · {}", count(all.len(), "kind")),
    ));
    let unsolved = all.iter().filter(|g| g.solved_in.is_none());
    let (unsolved, open) = (
        unsolved.clone().count(),
        // The status of the others is not known.
        unsolved.filter(|g| !g.addresses.is_empty()).count(),
    );
    if open > 0 {
        l.push(span(Role::Warn, format!(" · {open} open")));
    } else if unsolved == 0 && !all.is_empty() {
        l.push(span(Role::Ok, " · all solved"));
    }
    l.push(span(Role::Dim, " · newest first"));
}
