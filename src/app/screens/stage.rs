//! Stage screen: changes and their selection, outputs and drift.

mod applied;
mod notes;
mod opened;
mod outside;

use super::{
    Body, Context, ContextInfo, DetailPlace, ScreenInfo, TreeInfo, field_of_address, nodes,
    push_keys,
};
use crate::app::column::{Column, Width, column};
use crate::app::doc::{self, Doc, Line, Role, counts, diagnostics, drift_role, line, mode, span};
use crate::app::filter::{Field, text_field};
use crate::app::format::count;
use crate::app::layout;
use crate::app::list::{Row, ascending};
use crate::app::rows::sorted;
use crate::app::state::State;
use model::{
    Action, Counts, DriftKind, DriftView, OutputView, Severity, StageMode, StageSummary,
    natural_cmp,
};

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Stage,
    load: || None,
};

pub(super) const STAGE: ContextInfo = ContextInfo {
    title: "Stage",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Beside,
    checkbox: Some((0, "select")),
    sorts: &[
        ascending("dependency", ""),
        ascending("action", "ACTION"),
        ascending("address", "RESOURCE"),
    ],
    rows: |state| (rows(state), 0),
    tree: Some(TreeInfo {
        addresses,
        sorts: &[0, 2],
        cells: nodes::stage_cells,
        summary: 4,
        detail_cells: 4,
    }),
    text,
    fields: FIELDS,
    field,
    detail,
    head: Some(head),
    write_detail_title,
    write_subject,
    write_filters,
    first_keys: |_| &["apply", "select", "diff", "why"],
    empty: |state| Some(empty(state)),
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("", Width::Content(0), 0),
    column("", Width::Content(0), 0),
    column("RESOURCE", Width::Key(16), 0),
    column("ACTION", Width::Content(0), 1),
    column("NOTE", Width::Flex(12, 3), 2),
];

const FIELDS: &[Field] = &[
    Field {
        name: "action",
        values: &[
            "create", "update", "replace", "destroy", "read", "forget", "import", "move", "no-op",
        ],
    },
    text_field("module"),
    text_field("provider"),
    text_field("type"),
];

/// Addresses of the changes that can be on the screen.
fn addresses(state: &State) -> Vec<(usize, &str)> {
    let changes = state.view.stage.iter().flat_map(|s| &s.changes);
    changes
        .enumerate()
        .filter(|(_, c)| state.filters.unchanged || c.has_effect())
        .map(|(i, c)| (i, c.address.as_str()))
        .collect()
}

fn rows(state: &State) -> Vec<Row> {
    // The screen shows the errors instead of the former stage.
    if state.view.stage_error.is_some() {
        return Vec::new();
    }
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    let rows = stage
        .changes
        .iter()
        .enumerate()
        .filter(|(_, c)| state.filters.unchanged || c.has_effect())
        .map(|(i, c)| Row::text(c.address.as_str(), i))
        .collect();
    let mut rows = sorted(state, rows, |by, a, b| {
        let (a, b) = (&stage.changes[a.index], &stage.changes[b.index]);
        if by == 1 {
            // A move is no operation, but more than an unchanged resource.
            (a.action, a.label()).cmp(&(b.action, b.label()))
        } else {
            natural_cmp(&a.address, &b.address)
        }
    });
    // Outputs and drift can need a deploy without any changed resource. Their indexes continue
    // after the changes.
    let outputs = stage
        .outputs
        .iter()
        .enumerate()
        .filter(|(_, o)| o.action != Action::NoOp);
    let mut outputs = outputs
        .map(|(i, o)| Row::text(format!("output {}", o.name), stage.changes.len() + i))
        .peekable();
    if outputs.peek().is_some() {
        rows.push(Row::heading("outputs"));
        rows.extend(outputs);
    }
    let after = stage.changes.len() + stage.outputs.len();
    let mut drift = stage
        .drift
        .iter()
        .enumerate()
        .map(|(i, d)| Row::text(format!("drift of {}", d.address), after + i))
        .peekable();
    if drift.peek().is_some() {
        rows.push(Row::heading("drift"));
        rows.extend(drift);
    }
    rows.extend(outside::edit_rows(stage));
    rows
}

/// Returns the output of a row on the Stage screen.
fn output_row<'a>(state: &'a State, row: &Row) -> Option<&'a OutputView> {
    let stage = state.view.stage.as_ref().filter(|_| !row.heading)?;
    stage
        .outputs
        .get(row.index.checked_sub(stage.changes.len())?)
}

/// Returns the drift of a row on the Stage screen.
fn drift_row<'a>(state: &'a State, row: &Row) -> Option<&'a DriftView> {
    let stage = state.view.stage.as_ref().filter(|_| !row.heading)?;
    stage.drift.get(
        row.index
            .checked_sub(stage.changes.len() + stage.outputs.len())?,
    )
}

fn text(state: &State, row: &Row) -> String {
    let change = state
        .view
        .stage
        .as_ref()
        .and_then(|s| s.changes.get(row.index));
    change.map_or_else(
        || row.key.text().unwrap_or_default().to_owned(),
        |c| {
            format!(
                "{} {} {}",
                row.key.text().unwrap_or_default(),
                c.label(),
                c.why
            )
        },
    )
}

fn field(state: &State, row: &Row, name: &str) -> String {
    let stage = state.view.stage.as_ref();
    let change = stage.and_then(|s| s.changes.get(row.index));
    match (change, output_row(state, row)) {
        (Some(c), _) => match name {
            "action" => c.label().to_owned(),
            "provider" => c.provider.clone(),
            _ => field_of_address(&c.address, name),
        },
        // Outputs of the root module have no other field.
        (None, Some(o)) if name == "action" => o.action.label().to_owned(),
        (None, None) if name == "action" => {
            outside::edit_row(state, row).map_or_else(String::new, |e| e.what.label().to_owned())
        }
        _ => drift_row(state, row).map_or_else(String::new, |d| field_of_address(&d.address, name)),
    }
}

fn detail(state: &State, row: &Row) -> Doc {
    let extent = state.extent();
    match (
        state.change(),
        output_row(state, row),
        drift_row(state, row),
    ) {
        (Some(c), ..) => {
            let change = doc::change(c, state.unknown_of(&c.address), extent);
            let all = state.view.stage.as_ref().map_or(&[][..], |s| &s.changes);
            let cells = layout::detail_size(state).0;
            doc::beside(change, doc::neighbours(c, all), cells)
        }
        (_, Some(o), _) => doc::output(o, extent),
        (_, _, Some(d)) => doc::drift(
            d,
            state
                .view
                .stage
                .as_ref()
                .map_or(StageMode::Normal, |s| s.mode),
            extent,
        ),
        _ => outside::edit_row(state, row).map_or_else(Doc::new, outside::edit_detail),
    }
}

/// First line of the detail.
fn head(state: &State, row: &Row) -> Line {
    match (
        state.change(),
        output_row(state, row),
        drift_row(state, row),
    ) {
        (Some(c), ..) => {
            let mut head = doc::change_head(c);
            if state.view.left.contains(&c.address) {
                // Nothing happens to it, so the colour of its action would be wrong.
                head.iter_mut().for_each(|s| s.role = Role::Dim);
                head.push(span(Role::Warn, "  not selected"));
            }
            head
        }
        (_, Some(o), _) => doc::output_head(o),
        (_, _, Some(d)) => doc::drift_head(d),
        _ => outside::edit_row(state, row).map_or_else(Line::new, outside::edit_head),
    }
}

/// Cells of a change.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(cells) = nodes::node_cells(state, row) {
        return cells;
    }
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    let Some(c) = stage.changes.get(row.index) else {
        return outside::cells(state, row);
    };
    if let Some(deploy) = state.deploy_of_stage() {
        return applied::cells(state, deploy, c, row);
    }
    let left = state.view.left.contains(&c.address);
    let mark = match (c.is_selectable(), left) {
        (false, _) => Line::new(),
        (_, true) => line(Role::Dim, "[ ]"),
        (_, false) => vec![
            span(Role::Dim, "["),
            span(Role::Ok, "x"),
            span(Role::Dim, "]"),
        ],
    };
    let role = if left || !c.has_effect() {
        Role::Dim
    } else {
        Role::Plain
    };
    vec![
        mark,
        match left {
            true => line(Role::Dim, c.sign()),
            false => doc::change_sign(c),
        },
        doc::row_label(role, row),
        match left {
            true => line(Role::Dim, c.label()),
            false => line(doc::change_role(c), c.label()),
        },
        notes::change_note(state, c, left),
    ]
}

fn write_subject(state: &State, l: &mut Line) {
    if let Some(s) = &state.view.staging {
        doc::write_staging(state, s, l);
        return;
    }
    if state.view.stage_error.is_some() {
        l.push(span(Role::Bad, "✗ staging failed"));
        if let Some(s) = &state.view.stage {
            l.push(span(
                Role::Dim,
                format!(" · stage #{} is still available: s stages again", s.stage),
            ));
        }
        return;
    }
    let Some(s) = &state.view.stage else {
        l.push(span(Role::Strong, "stage"));
        return;
    };
    l.push(span(Role::Strong, format!("stage #{}", s.stage)));
    if let Some(deploy) = s.configuration_of {
        let text = format!(" · configuration of deploy #{deploy}");
        l.push(span(Role::Warn, text));
    }
    if let Some(deploy) = state.deploy_of_stage() {
        applied::write_subject(state, deploy, l);
        return;
    }
    opened::write_outdated(state, l);
    if destroys_everything(state, s) {
        l.push(span(Role::Bad, " · everything is to be destroyed"));
    } else if s.mode != StageMode::Normal {
        l.push(span(Role::Warn, format!(" ({})", mode(s.mode))));
    }
    // Such a stage has drift and no changes to count.
    if s.mode == StageMode::RefreshOnly {
        if s.drift.is_empty() {
            l.push(span(Role::Ok, " · no drift"));
        }
        l.extend(diagnostics_counts(state));
    } else {
        let all = s.changes.iter().filter(|c| c.is_selectable()).count();
        if all > 0 {
            let selected = state.selected_changes().count();
            l.push(span(
                Role::Plain,
                format!(" · {selected} of {all} selected"),
            ));
        }
        l.extend(diagnostics_counts(state));
        selected_counts(state, s, l);
    }
    drifted(s, l);
    add_other_counts(state, s, l);
    opened::write_saves(state, l);
    l.extend(opened::age(state, s).map(|age| span(Role::Dim, format!(" · {age}"))));
}

/// Adds the counts of the selected changes by action, and those of all changes if they differ.
fn selected_counts(state: &State, s: &StageSummary, l: &mut Line) {
    let mut selected = Counts::default();
    state
        .selected_changes()
        .for_each(|c| selected.add_change(c));
    let (selected, all) = (counts(&selected), counts(&s.counts));
    if all.is_empty() {
        return;
    }
    l.push(span(Role::Plain, " · "));
    if selected != all {
        let total = format!(" of {}", doc::plain(&all));
        if selected.is_empty() {
            l.push(span(Role::Dim, "0"));
        }
        l.extend(selected);
        l.push(span(Role::Dim, total));
    } else {
        l.extend(all);
    }
}

/// Returns true if the selected changes destroy all objects of the state.
fn destroys_everything(state: &State, s: &StageSummary) -> bool {
    let Some(rows) = &state.loaded.state_rows else {
        return false;
    };
    // Targets can narrow a destroy stage, so the objects are counted.
    let objects = rows.iter().filter(|r| !r.data).count();
    let selected = state.selected_changes();
    let destroyed = selected.filter(|c| c.action == Action::Destroy).count();
    s.mode == StageMode::Destroy && objects > 0 && destroyed == objects
}

/// Adds the counts of drifted objects.
fn drifted(s: &StageSummary, l: &mut Line) {
    let mut found = [DriftKind::Gone, DriftKind::Changed, DriftKind::Moved]
        .map(|what| (what, s.drifted(what)))
        .to_vec();
    found.retain(|(_, n)| *n > 0);
    for (i, (what, n)) in found.iter().enumerate() {
        l.push(span(
            drift_role(*what),
            format!(
                "{}{n} {}",
                if i == 0 { " · drift: " } else { ", " },
                what.label()
            ),
        ));
    }
}

/// Adds the counts of outputs that change with the selection, and of moved objects.
fn add_other_counts(state: &State, s: &StageSummary, l: &mut Line) {
    let outputs = || s.outputs.iter().filter(|o| o.action != Action::NoOp);
    let is_kept = |o: &&OutputView| o.is_unchanged_without(&state.view.left);
    let (all, kept) = (outputs().count(), outputs().filter(is_kept).count());
    if kept > 0 {
        let text = format!(" · {} of {}", all - kept, count(all, "output"));
        l.push(span(Role::Plain, text));
    } else if all > 0 {
        l.push(span(Role::Plain, format!(" · {}", count(all, "output"))));
    }
    let (moved, edited) = (s.moves().count(), s.state_edit_count());
    if moved > 0 {
        l.push(span(Role::Plain, format!(" · {moved} moved")));
    }
    if edited > 0 {
        let text = format!(" · {}", count(edited, "state edit"));
        l.push(span(Role::Plain, text));
    }
    for planned in &s.groups {
        let text = format!(" · group {}: {}", planned.group, planned.plan);
        l.push(span(Role::Plain, text));
    }
}

/// Returns the counts of errors and warnings, with the key that lists them.
fn diagnostics_counts(state: &State) -> Line {
    let of = |severity| {
        state
            .view
            .diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    };
    let (errors, warnings, key) = (
        of(Severity::Error),
        of(Severity::Warning),
        state.options.keys.first("stage-diagnostics"),
    );
    let mut l = Line::new();
    for (n, one, role) in [
        (errors, "error", Role::Bad),
        (warnings, "warning", Role::Warn),
    ] {
        if n > 0 {
            l.push(span(role, format!(" · {} ({key})", count(n, one))));
        }
    }
    l
}

fn write_detail_title(state: &State, l: &mut Line) {
    super::write_head(state, l);
    if state.selected().is_some_and(|row| row.node().is_none()) {
        l.push(span(Role::Dim, format!("── {} ", shown_attributes(state))));
    }
}

/// Names the shown part of the detail, and the key for the other one.
fn shown_attributes(state: &State) -> String {
    let key = state.options.keys.first("all-attributes");
    if state.filters.all_attributes {
        format!("all ({key}: changed only)")
    } else {
        format!("changed only ({key}: all)")
    }
}

fn write_filters(state: &State, l: &mut Line) {
    super::write_range(state, l);
    // Beside the list, the detail has no title of its own.
    if state.list().zoom {
        l.push(span(Role::Dim, format!("   {}", shown_attributes(state))));
    }
}

/// Explains an empty list: errors, no changes, or no stage.
fn empty(state: &State) -> Doc {
    if let Some(s) = &state.view.staging {
        return doc::staging(state, s);
    }
    if let Some(error) = &state.view.stage_error {
        return diagnostics(error, state.view.diagnostics.iter());
    }
    let mut doc = Doc::new();
    match &state.view.stage {
        Some(s) => {
            if let Some(deploy) = state.applied() {
                return applied::explain_empty(deploy);
            }
            let said = if s.mode == StageMode::RefreshOnly {
                "No drift: the real objects match the state."
            } else {
                "No changes. Your infrastructure matches the configuration."
            };
            doc.push(line(Role::Ok, format!("✓ {said}")));
            push_keys(
                &mut doc,
                &[
                    ("o", "shows unchanged resources"),
                    ("s", "stages again"),
                    ("D", "stages the destruction of everything"),
                ],
            );
        }
        None => match &state.loaded.load_error {
            Some(e) => {
                super::explain_load_error(e, &mut doc);
                push_keys(&mut doc, &[("s", "reads it again, and stages the changes")]);
            }
            None => no_stage(&mut doc),
        },
    }
    doc
}

fn no_stage(doc: &mut Doc) {
    doc.push(line(Role::Heading, "No stage yet"));
    doc.push(line(
        Role::Plain,
        "Staging reads the configuration, asks the plugins and shows the planned changes. It changes nothing.",
    ));
    push_keys(
        doc,
        &[
            ("s", "stages the changes"),
            (
                "F",
                "stages a refresh: compares the state with the real objects",
            ),
            ("D", "stages the destruction of everything"),
        ],
    );
}
