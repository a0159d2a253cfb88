//! State screen: resource instances in the state.

use super::{
    Body, Context, ContextInfo, DetailPlace, ScreenInfo, TreeInfo, field_of_address, loading,
    nodes, sentence,
};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::filter::{Field, text_field};
use crate::app::format::{count, elapsed};
use crate::app::list::{Row, ascending, descending};
use crate::app::msg::Effect;
use crate::app::rows::sorted;
use crate::app::state::State;
use model::{DriftKind, StateRow};

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::State,
    load: || Some(Effect::LoadState),
};

pub(super) const RESOURCES: ContextInfo = ContextInfo {
    title: "State",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Beside,
    sorts: &[
        ascending("module", ""),
        ascending("provider", "PROVIDER"),
        descending("dependents", "NEEDED BY"),
    ],
    rows: |state| (rows(state), 0),
    tree: Some(TreeInfo {
        addresses,
        sorts: &[0],
        cells: nodes::state_cells,
        summary: 0,
        detail_cells: 2,
    }),
    text,
    fields: FIELDS,
    field,
    detail,
    head: Some(head),
    write_subject,
    write_filters: super::write_range,
    first_keys: |_| {
        &[
            "open",
            "state-repair",
            "state-refresh",
            "state-replace",
            "state-taint",
            "state-move",
            "state-forget",
            "state-import",
            "edit",
        ]
    },
    empty: |state| match state.loaded.state_rows {
        None => loading(),
        Some(_) => sentence(
            Role::Plain,
            "The state is empty: nothing was deployed from here yet.",
        ),
    },
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("RESOURCE", Width::Key(20), 0),
    column("STATE", Width::Content(0), 0),
    column("EXISTS", Width::Content(0), 7),
    column("READY", Width::Content(0), 1),
    column("DRIFT", Width::Content(0), 2),
    column("PROVIDER", Width::Content(0), 5),
    number("NEEDS", 0, 4),
    number("NEEDED BY", 0, 6),
    column("VALUES", Width::Flex(16, 3), 3),
];

const FIELDS: &[Field] = &[
    text_field("module"),
    text_field("provider"),
    Field {
        name: "state",
        values: &["known", "data", "deposed", "tainted", "drift", "deleted"],
    },
    text_field("exists"),
    text_field("ready"),
    text_field("drift"),
    text_field("type"),
];

fn field(state: &State, row: &Row, name: &str) -> String {
    let all = state.loaded.state_rows.as_deref().unwrap_or_default();
    let Some(r) = all.get(row.index) else {
        return String::new();
    };
    match name {
        "provider" => r.provider.clone(),
        // Without the sign before the word.
        "state" => match state_word(r) {
            Some((word, _)) => word.rsplit(' ').next().unwrap_or_default().to_owned(),
            None if r.data => "data".to_owned(),
            None => "known".to_owned(),
        },
        "exists" | "ready" | "drift" => fact(r, name),
        _ => field_of_address(&r.address, name),
    }
}

/// Text of a fact from the newest read; empty if it is not known.
fn fact(r: &StateRow, name: &str) -> String {
    let Some(o) = &r.observation else {
        return String::new();
    };
    match name {
        "exists" => if o.exists { "yes" } else { "no" }.to_owned(),
        "ready" => o.readiness.map_or("", |r| r.label()).to_owned(),
        _ => {
            let labels: Vec<&str> = o.drift.iter().map(|aspect| aspect.label()).collect();
            labels.join(" ")
        }
    }
}

fn addresses(state: &State) -> Vec<(usize, &str)> {
    let rows = state.loaded.state_rows.iter().flatten().enumerate();
    rows.map(|(i, r)| (i, r.address.as_str())).collect()
}

fn rows(state: &State) -> Vec<Row> {
    let mut rows = objects(state);
    // Outputs have their own order, and their indexes continue after the objects.
    let first = state.loaded.state_rows.as_ref().map_or(0, Vec::len);
    let outputs = state.loaded.outputs.iter().flatten().enumerate();
    let mut outputs = outputs
        .map(|(i, o)| Row::text(format!("output {}", o.name), first + i))
        .peekable();
    if state.loaded.state_rows.is_some() && outputs.peek().is_some() {
        rows.push(Row::heading("outputs"));
        rows.extend(outputs);
    }
    rows
}

/// Rows of the objects with their headings.
fn objects(state: &State) -> Vec<Row> {
    let Some(all) = &state.loaded.state_rows else {
        return Vec::new();
    };
    // Loaded rows are already in the order of the tree.
    let order = 0..all.len();
    let row = |i: usize| match &all[i].deposed {
        Some(key) => Row::text(format!("{} (deposed {key})", all[i].address), i),
        None => Row::text(all[i].address.as_str(), i),
    };
    if state.list().sort > 0 {
        return sorted(state, order.map(row).collect(), |by, a, b| {
            let (a, b) = (&all[a.index], &all[b.index]);
            if by == 1 {
                a.provider.cmp(&b.provider)
            } else {
                b.dependent_count.cmp(&a.dependent_count)
            }
        });
    }
    let mut rows = Vec::with_capacity(all.len() + 8);
    let mut last: Option<(&str, &str)> = None;
    for i in 0..all.len() {
        let i = if state.list().descending {
            all.len() - 1 - i
        } else {
            i
        };
        let here = (all[i].module.as_str(), all[i].resource_type.as_str());
        // Rows are sorted by module and type, so a change starts a new heading.
        if last.is_none_or(|l| l.0 != here.0) {
            rows.push(Row::heading(if here.0.is_empty() {
                "root module".to_owned()
            } else {
                here.0.to_owned()
            }));
        }
        if last != Some(here) {
            rows.push(Row::heading(format!(
                "  {}{}",
                if all[i].data { "data " } else { "" },
                here.1
            )));
        }
        last = Some(here);
        rows.push(row(i));
    }
    rows
}

fn text(state: &State, row: &Row) -> String {
    let Some(r) = state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
    else {
        return row.key.text().unwrap_or_default().to_owned();
    };
    format!(
        "{} {} {}",
        row.key.text().unwrap_or_default(),
        r.provider,
        if r.tainted { "tainted" } else { "" }
    )
}

fn detail(state: &State, row: &Row) -> Doc {
    if let Some(output) = state.output() {
        return doc::state_output(output);
    }
    state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
        .map(|r| doc::state_row(state, r))
        .unwrap_or_default()
}

/// First line of the detail.
fn head(state: &State, row: &Row) -> Line {
    let mut l = line(Role::Strong, row.key.text().unwrap_or_default());
    let all = state.loaded.state_rows.as_deref().unwrap_or_default();
    if let Some((word, role)) = all.get(row.index).and_then(state_word) {
        l.push(span(role, format!("  {word}")));
    }
    l
}

/// Sign and word of the state of an object: the one that needs attention first. `None` for an
/// object without any, because a word in each row would hide them.
fn state_word(r: &StateRow) -> Option<(&'static str, Role)> {
    if r.deposed.is_some() {
        return Some(("■ deposed", Role::Warn));
    }
    if r.tainted {
        return Some(("✗ tainted", Role::Bad));
    }
    match r.drift {
        Some(DriftKind::Gone) => Some(("✗ deleted", doc::drift_role(DriftKind::Gone))),
        Some(drift) => Some(("~ drift", doc::drift_role(drift))),
        // Found by a read after the newest stage.
        None if r.observation.as_ref().is_some_and(|o| !o.exists) => {
            Some(("✗ deleted", doc::drift_role(DriftKind::Gone)))
        }
        // The address of a data source says its kind.
        None => None,
    }
}

/// Cells of a resource instance.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(cells) = nodes::node_cells(state, row) {
        return cells;
    }
    let Some(r) = state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
    else {
        return output_cells(state, row);
    };
    vec![
        // Without a tree, headings stand above the rows.
        match row.place {
            Some(_) => doc::row_label(Role::Plain, row),
            None => [line(Role::Plain, "    "), doc::row_label(Role::Plain, row)].concat(),
        },
        state_word(r).map_or_else(Line::new, |(word, role)| line(role, word)),
        doc::exists_cell(r.observation.as_ref()),
        doc::ready_cell(r.observation.as_ref()),
        doc::drift_cell(r.observation.as_ref()),
        line(Role::Dim, doc::short_provider(&r.provider)),
        doc::nonzero(Role::Plain, r.dependency_count),
        doc::nonzero(Role::Plain, r.dependent_count),
        doc::telling_values(r),
    ]
}

/// Cells of an output.
fn output_cells(state: &State, row: &Row) -> Vec<Line> {
    let key = row.key.text().unwrap_or_default();
    let output = key
        .strip_prefix("output ")
        .and_then(|name| state.loaded.output(name));
    let value = output.map_or(Line::new(), doc::output_value);
    let mut cells = vec![Line::new(); COLUMNS.len()];
    cells[0] = line(Role::Plain, key);
    if let Some(last) = cells.last_mut() {
        *last = value;
    }
    cells
}

fn write_subject(state: &State, l: &mut Line) {
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    l.push(span(Role::Strong, "state"));
    l.push(span(
        Role::Plain,
        format!(" · {}", count(rows.len(), "object")),
    ));
    let tainted = rows.iter().filter(|r| r.tainted).count();
    if tainted > 0 {
        l.push(span(Role::Bad, format!(" · {tainted} tainted")));
    }
    let outputs = state.loaded.outputs.as_ref().map_or(0, Vec::len);
    if outputs > 0 {
        let outputs = count(outputs, "output");
        l.push(span(Role::Plain, format!(" · {outputs}")));
    }
    write_comparison(state, rows, l);
}

/// Tells when the real objects were compared with the state last, and the drift that was found.
fn write_comparison(state: &State, rows: &[StateRow], l: &mut Line) {
    if rows.is_empty() {
        return;
    }
    let by_look = |r: &&StateRow| {
        let seen = r.observation.as_ref();
        seen.is_some_and(|o| !o.exists || !o.drift.is_empty()) && r.drift.is_none()
    };
    let by_look = rows.iter().filter(by_look).count();
    let drifted = rows.iter().filter(|r| r.drift.is_some()).count() + by_look;
    let (oldest, unread) = doc::oldest_read(rows);
    // A read before the end of the deploy may have missed what the deploy changed elsewhere.
    let ended = state.applied().and_then(|d| d.summary.as_ref()?.ended);
    let read_all = unread == 0 && oldest.is_some_and(|at| ended.is_none_or(|ended| at > ended));
    let key = state.options.keys.first("state-look");
    let unchecked = |since: String| {
        span(
            Role::Busy,
            format!(" · drift not checked {since}: {key} reads all objects"),
        )
    };
    let stage = state
        .view
        .stage
        .as_ref()
        .filter(|_| !state.options.plan.no_refresh);
    let at = stage.map(|s| format!(" in stage #{}, {} ago", s.stage, elapsed(state.now - s.at)));
    l.push(match (drifted, state.applied(), at) {
        (1.., _, at) => {
            // The stage does not know of drift that a later look has found.
            let at = at.filter(|_| by_look == 0).unwrap_or_default();
            span(Role::Warn, format!(" · {drifted} drifted{at}"))
        }
        (0, applied, at) if read_all && (applied.is_some() || at.is_none()) => {
            span(Role::Dim, " · no drift")
        }
        (0, Some(d), _) => unchecked(format!("since deploy #{}", d.deploy)),
        (0, None, None) => unchecked("yet".to_owned()),
        (0, None, Some(at)) => span(Role::Dim, format!(" · no drift{at}")),
    });
    if let Some(at) = oldest {
        let age = elapsed(state.now - at);
        l.push(span(Role::Dim, format!(" · oldest read {age} ago")));
        if unread > 0 {
            l.push(span(Role::Dim, format!(", {unread} never read")));
        }
    }
    let looks = state.view.reconcile.values();
    let next = looks.filter(|run| model::is_look(&run.group) && run.next > state.now);
    if let Some(next) = next.map(|run| run.next).min() {
        let left = elapsed(next - state.now);
        l.push(span(Role::Dim, format!(" · next look in {left}")));
    }
}
