//! Calls screen: slots and their owners, running times, blockers.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, field_of_address, sentence};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::filter::{Field, text_field};
use crate::app::format::{aligned, count, duration, elapsed};
use crate::app::list::{Row, ascending, descending};
use crate::app::rows::sorted;
use crate::app::state::State;
use model::Latency;
use model::view::{CallView, FinishedCall};

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Calls,
    load: || None,
};

pub(super) const CALLS: ContextInfo = ContextInfo {
    title: "Calls",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Below,
    has_charts: true,
    sorts: &[
        // Without a mark: only the running calls are sorted by it.
        ascending("plugin and slot", ""),
        descending("elapsed", "TIME"),
        ascending("method", "METHOD"),
    ],
    rows: |state| (rows(state), 0),
    text,
    fields: FIELDS,
    field,
    detail,
    head: Some(head),
    write_subject,
    first_keys: |_| &["blocker", "open", "cancel", "pane"],
    empty: |_| {
        sentence(
            Role::Plain,
            "No call is running or waiting. Calls appear here during loading, staging and deploys.",
        )
    },
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    number("SLOT", 0, 4),
    column("PLUGIN", Width::Content(0), 3),
    column("METHOD", Width::Content(0), 2),
    column("RESOURCE", Width::Key(20), 0),
    number("TIME", 6, 0),
    number("USUAL", 0, 4),
    column("STATUS", Width::Flex(16, 4), 1),
];

/// Maximum number of finished calls on the Calls screen.
const MAX_FINISHED_CALLS: usize = 50;

fn rows(state: &State) -> Vec<Row> {
    let all: Vec<_> = state.view.calls.values().collect();
    let mut running: Vec<Row> = all
        .iter()
        .enumerate()
        .filter(|(_, c)| c.started_at.is_some())
        .map(|(i, c)| Row::number(c.call, i))
        .collect();
    // By slot, so that rows keep their places while calls come and go.
    running.sort_by_key(|r| (&all[r.index].plugin, all[r.index].slot));
    let running = sorted(state, running, |by, a, b| {
        let (a, b) = (all[a.index], all[b.index]);
        if by == 1 {
            a.started_at.cmp(&b.started_at)
        } else {
            a.method.cmp(&b.method)
        }
    });
    let waiting: Vec<Row> = all
        .iter()
        .enumerate()
        .filter(|(_, c)| c.started_at.is_none())
        .map(|(i, c)| Row::number(c.call, i))
        .collect();
    let mut rows = running;
    if !waiting.is_empty() {
        // Queued calls have no other order than that of the queue.
        rows.push(Row::heading(format!("waiting ({})", waiting.len())));
        rows.extend(waiting);
    }
    rows.extend(finished_rows(state));
    rows
}

/// Heading and rows of the last finished calls: newest first, or as the operator chose.
fn finished_rows(state: &State) -> Vec<Row> {
    let recent = state.view.finished.len().min(MAX_FINISHED_CALLS);
    if recent == 0 {
        return Vec::new();
    }
    // Indexes of finished calls continue after the open calls.
    let open = state.view.calls.len();
    let all = state.view.finished.iter().enumerate();
    let all = all.skip(state.view.finished.len() - recent).rev();
    let rows = all.map(|(i, f)| Row::number(f.end.call, open + i));
    let rows = sorted(state, rows.collect(), |by, a, b| {
        let end = |row: &Row| &state.view.finished[row.index - open].end;
        if by == 1 {
            end(b).took_ms.cmp(&end(a).took_ms)
        } else {
            end(a).method.cmp(&end(b).method)
        }
    });
    let order = match (state.list().sort, state.list().descending) {
        (0, false) => ", newest first",
        (0, true) => ", oldest first",
        _ => "",
    };
    let heading = Row::heading(format!("finished (last {recent}{order})"));
    std::iter::once(heading).chain(rows).collect()
}

/// Call in a row of the Calls screen.
enum CallRow<'a> {
    Open(&'a CallView),
    Finished(&'a FinishedCall),
}

/// Returns the call of a row.
fn call_row<'a>(state: &'a State, row: &Row) -> Option<CallRow<'a>> {
    if row.heading {
        return None;
    }
    match row.index.checked_sub(state.view.calls.len()) {
        Some(i) => state.view.finished.get(i).map(CallRow::Finished),
        None => state.view.calls.get(&row.key.number()?).map(CallRow::Open),
    }
}

fn text(state: &State, row: &Row) -> String {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => format!(
            "{} {} {}",
            c.plugin,
            c.method,
            c.resource.as_deref().unwrap_or("")
        ),
        Some(CallRow::Finished(f)) => format!(
            "{} {} {}",
            f.end.plugin,
            f.end.method,
            f.end.resource.as_deref().unwrap_or("")
        ),
        None => String::new(),
    }
}

const FIELDS: &[Field] = &[
    text_field("module"),
    text_field("provider"),
    Field {
        name: "state",
        values: &["running", "waiting", "finished"],
    },
    text_field("type"),
];

fn field(state: &State, row: &Row, name: &str) -> String {
    let Some(call) = call_row(state, row) else {
        return String::new();
    };
    let (plugin, resource, word) = match call {
        CallRow::Open(c) if c.started_at.is_none() => (&c.plugin, &c.resource, "waiting"),
        CallRow::Open(c) => (&c.plugin, &c.resource, "running"),
        CallRow::Finished(f) => (&f.end.plugin, &f.end.resource, "finished"),
    };
    match (name, resource) {
        ("provider", _) => plugin.to_string(),
        ("state", _) => word.to_owned(),
        (_, Some(address)) => field_of_address(address, name),
        // A call for no resource belongs to no module.
        (_, None) => String::new(),
    }
}

fn detail(state: &State, row: &Row) -> Doc {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => doc::call(state, c),
        Some(CallRow::Finished(f)) => doc::finished(state, f),
        None => Doc::new(),
    }
}

/// Role of the running time: a warning past the 95th percentile, bad past the deadline.
fn time_role(state: &State, c: &CallView) -> Role {
    let Some(at) = c.started_at else {
        return Role::Warn;
    };
    let ms = u64::try_from(state.now - at).unwrap_or(0);
    if c.deadline_ms.is_some_and(|d| ms > d) {
        Role::Bad
    } else if c.usual.is_some_and(|u| u.count > 0 && ms > u.p95_ms) {
        Role::Warn
    } else {
        Role::Busy
    }
}

/// Cells of a call.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => open(state, c),
        Some(CallRow::Finished(f)) => finished(state, f),
        None => Vec::new(),
    }
}

/// Difference to the usual duration below which no call is slow.
const UNNOTICED_MS: u64 = 100;

/// Returns true if a call took longer than almost all others, and noticeably so.
fn is_slow(took_ms: u64, usual: &Latency) -> bool {
    took_ms > usual.p95_ms && took_ms > usual.p50_ms + UNNOTICED_MS
}

/// The plugin is dim, because it is the same in many rows.
fn finished(state: &State, f: &FinishedCall) -> Vec<Line> {
    let end = &f.end;
    let (sign, word, role) = doc::outcome_sign(end.outcome);
    // A wall of green would hide what runs.
    let shown = if role == Role::Ok { Role::Dim } else { role };
    let mut last = line(shown, format!("{sign} {word}"));
    let mut time = Role::Dim;
    let is_slow = f.usual().is_some_and(|u| is_slow(end.took_ms, &u));
    if is_slow && role == Role::Ok {
        time = Role::Warn;
        last.push(span(time, "  slow"));
    }
    if let Some(again) = &end.again {
        last.push(span(Role::Warn, format!("  {}", again.text(state.now))));
    }
    if let Some(e) = &end.error {
        last.push(span(Role::Plain, format!("  {e}")));
    }
    let slot = f.open.as_ref().and_then(|c| c.slot);
    vec![
        slot.map_or_else(Line::new, |s| line(Role::Dim, s.to_string())),
        line(Role::Dim, &end.plugin.0),
        line(Role::Plain, &*end.method),
        resource(Role::Plain, end.resource.as_deref()),
        line(time, aligned(duration(end.took_ms))),
        usual(f.usual()),
        last,
    ]
}

/// Cell of the median duration of such calls; empty before there was any.
fn usual(latency: Option<Latency>) -> Line {
    let median = latency.map(|l| aligned(duration(l.p50_ms)));
    median.map_or_else(Line::new, |text| line(Role::Dim, text))
}

/// Cell of the resource of a call; empty for a call for none.
fn resource(role: Role, resource: Option<&str>) -> Line {
    resource.map_or_else(Line::new, |r| vec![doc::address(role, r)])
}

/// Number of locks that the plugin holds for the call, and of calls that wait for them.
fn locks_and_waiters(state: &State, c: &CallView) -> Line {
    let held = state.view.locks.values().filter(|l| l.call == Some(c.call));
    let (n, waiters) = held.fold((0, 0), |(n, w), l| (n + 1, w + l.waiters.len()));
    match (n, waiters) {
        (0, _) => Line::new(),
        (n, 0) => line(Role::Plain, format!("holds {} · ", count(n, "lock"))),
        (n, w) => line(
            Role::Warn,
            format!("holds {}, {w} waiting · ", count(n, "lock")),
        ),
    }
}

fn open(state: &State, c: &CallView) -> Vec<Line> {
    let role = time_role(state, c);
    let since = state.now - c.started_at.unwrap_or(c.queued_at);
    let slot = match (c.started_at, c.slot) {
        (None, _) => line(Role::Warn, "waits"),
        (_, Some(s)) => line(Role::Plain, s.to_string()),
        // Calls within this process need no slot.
        (_, None) => Line::new(),
    };
    let mut last = locks_and_waiters(state, c);
    // A queued call has no running time to compare with the usual one.
    if let Some(w) = &c.waits_for {
        last.push(span(Role::Warn, w));
    } else {
        let ms = u64::try_from(since).unwrap_or(0);
        match c.usual.filter(Latency::is_known) {
            Some(u) => {
                last.extend(doc::bar(role, ms, u.p95_ms));
                last.push(doc::omittable(role, " "));
                let over = if ms > u.p95_ms { "over p95 " } else { "p95 " };
                last.push(span(role, over));
                last.push(span(Role::Plain, duration(u.p95_ms)));
            }
            None => {
                last.push(span(role, "◐ "));
                match doc::reported(state, c) {
                    Some(reported) => last.push(span(Role::Plain, reported.short_text())),
                    None => {
                        last.push(span(role, "running"));
                        last.push(doc::omittable(Role::Dim, " · no usual time yet"));
                    }
                }
            }
        }
        // A distant deadline is left to the detail.
        if let Some(d) = c.deadline_ms.filter(|d| ms > d / 2) {
            last.push(span(
                if ms > d { Role::Bad } else { Role::Dim },
                format!(" · deadline {}", duration(d)),
            ));
        }
    }
    vec![
        slot,
        line(Role::Dim, &c.plugin.0),
        line(Role::Plain, &*c.method),
        resource(Role::Strong, c.resource.as_deref()),
        line(role, aligned(elapsed(since))),
        usual(c.usual.filter(Latency::is_known)),
        last,
    ]
}

/// First line of the detail: method, resource and state of a call.
fn head(state: &State, row: &Row) -> Line {
    let (method, resource, state) = match call_row(state, row) {
        Some(CallRow::Open(c)) => (&c.method, c.resource.as_deref(), doc::open_state(state, c)),
        Some(CallRow::Finished(f)) => {
            let resource = f.end.resource.as_deref();
            (&f.end.method, resource, doc::finished_state(f))
        }
        None => return Line::new(),
    };
    let mut l = line(Role::Strong, format!("{method} "));
    l.extend(resource.map(|r| doc::address(Role::Strong, r)));
    l.push(span(Role::Plain, "  "));
    l.extend(state);
    l
}

fn write_subject(state: &State, l: &mut Line) {
    let calls = || state.view.calls.values();
    let running = calls().filter(|c| c.started_at.is_some()).count();
    l.push(span(Role::Strong, "calls"));
    let waiting = state.view.calls.len() - running;
    for (n, word) in [(running, "running"), (waiting, "waiting")] {
        if n > 0 {
            l.push(span(Role::Plain, format!(" · {n} {word}")));
        }
    }
    if let Some(c) = state.view.longest_blocker() {
        let behind = calls().filter(|o| o.blocker == Some(c.call)).count();
        // A long call is a problem only if it is unusual, or if others wait for it.
        let role = match time_role(state, c) {
            Role::Busy if behind == 0 => Role::Plain,
            Role::Busy => Role::Warn,
            role => role,
        };
        let since = elapsed(state.now - c.started_at.unwrap_or(state.now));
        let what = c.resource.as_deref().unwrap_or(&c.plugin.0);
        let text = format!(" · longest: {what} ({}, {since})", c.method);
        l.push(span(role, text));
        if behind > 0 {
            let text = format!(", blocks {}", count(behind, "call"));
            l.push(span(role, text));
        }
    }
}
