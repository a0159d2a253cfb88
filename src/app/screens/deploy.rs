//! Deploy screen, and the replay of an earlier deploy: operations with their times, blockers and
//! failures.

mod blockers;
mod cells;
mod replay;
mod timeline;
mod title;

pub use blockers::shared_reason;
pub(super) use replay::REPLAY;
pub use timeline::axis_cells;

use super::{
    Body, Context, ContextInfo, DetailPlace, ScreenInfo, TreeInfo, field_of_address, nodes,
    push_keys,
};
use crate::app::column::{Column, Width, column, number};
pub(super) use crate::app::doc::operation_sign as symbol;
use crate::app::doc::{self, Doc, Line, Role, line};
use crate::app::filter::{Field, text_field};
use crate::app::list::{HEADING_NOTE, Row};
use crate::app::progress;
use crate::app::state::State;
use model::view::DeployView;
use model::{Operation, OperationState};
use std::cmp::Reverse;

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Deploy,
    load: || None,
};

pub(super) const DEPLOY: ContextInfo = ContextInfo {
    title: "Deploy",
    body: Body::Table {
        columns: COLUMNS,
        cells: cells::cells,
    },
    detail_place: DetailPlace::Beside,
    rows,
    tree: Some(TreeInfo {
        addresses,
        sorts: &[0],
        cells: nodes::deploy_cells,
        summary: 5,
        detail_cells: 5,
    }),
    text,
    fields: FIELDS,
    field,
    detail,
    head: Some(head),
    write_subject: title::write_subject,
    bar: Some(title::bar),
    last_heading: timeline::heading,
    first_keys: |state| match state.operation().and_then(|o| o.failure.as_ref()) {
        Some(f) if !doc::is_retry_enough(f.class) => {
            &["operation-logs", "retry", "open", "cancel", "operations"]
        }
        _ => &["retry", "operation-logs", "open", "cancel", "operations"],
    },
    empty: |state| Some(empty(state)),
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("", Width::Content(0), 0),
    column("", Width::Content(0), 3),
    column("RESOURCE", Width::Key(15), 0),
    column("STATE", Width::Content(8), 0),
    number("TIME", 6, 1),
    // Bar on the time axis and reason.
    column("NOTE", Width::Flex(16, 5), 2),
];

const FIELDS: &[Field] = &[
    Field {
        name: "action",
        values: &["create", "update", "replace", "destroy", "read", "forget"],
    },
    text_field("module"),
    text_field("provider"),
    Field {
        name: "state",
        values: &[
            "running",
            "queued",
            "waiting",
            "failed",
            "unknown",
            "done",
            "not-attempted",
        ],
    },
    text_field("type"),
];

/// Number of screen lines from which the groups of operations have headings.
const HEADINGS: u16 = 20;

fn rank(s: OperationState) -> u8 {
    match s {
        OperationState::Running => 0,
        OperationState::HalfReplaced => 1,
        OperationState::Failed => 2,
        OperationState::Unknown => 3,
        OperationState::Waiting => 4,
        OperationState::NotAttempted => 5,
        OperationState::Done => 6,
    }
}

fn addresses(state: &State) -> Vec<(usize, &str)> {
    let operations = state.shown_deploy().map(|(d, _)| d.operations.iter());
    let operations = operations.into_iter().flatten().enumerate();
    operations.map(|(i, o)| (i, o.address.as_str())).collect()
}

fn rows(state: &State) -> (Vec<Row>, usize) {
    let Some((d, now)) = state.shown_deploy() else {
        return (Vec::new(), 0);
    };
    let mut all: Vec<_> = d.operations.iter().enumerate().collect();
    // The latest completed operation comes first among the completed ones.
    all.sort_by_key(|(i, o)| {
        let done = o.state == OperationState::Done;
        let ended = if done { o.ended() } else { None };
        (rank(o.state), Reverse(ended), *i)
    });
    raise_newest_done(state, d, &mut all);
    let mut rows = Vec::with_capacity(all.len() + 4);
    let (mut pinned, mut has_done) = (0, false);
    let progress = &state.frame.progress;
    let has_headings = state.frame.size.1 >= HEADINGS;
    // The tree has all that have not begun as one group.
    let is_same = |a: OperationState, b: OperationState| {
        heading(a) == heading(b) || is_pending(a) && is_pending(b)
    };
    for group in all.chunk_by(|(_, a), (_, b)| is_same(a.state, b.state)) {
        let s = group[0].1.state;
        // A single group needs no heading, and its tree has all operations.
        let is_all = group.len() == all.len();
        let is_in_tree = match s {
            s if is_pending(s) => true,
            OperationState::Done => is_all,
            // Visible while their node is folded.
            _ => false,
        };
        let is_titled = has_headings && (!is_all || !is_in_tree);
        let text = match s {
            OperationState::Done if has_done => format!("done earlier ({})", group.len()),
            OperationState::Done => {
                let all = progress.count(OperationState::Done);
                let title = match group.len() {
                    n if n < all => format!("done, newest {n} of {all}"),
                    _ => title(group),
                };
                title + &timeline::concurrency(state, d, now)
            }
            _ => match &state.frame.shared_reason {
                Some(reason) if is_pending(s) => {
                    format!("{}{HEADING_NOTE}all {reason}", title(group))
                }
                _ => title(group),
            },
        };
        has_done |= s == OperationState::Done;
        rows.extend(is_titled.then(|| Row::heading(text)));
        rows.extend(group.iter().map(|(i, o)| {
            let row = Row::text(o.address.as_str(), *i);
            if is_in_tree {
                row
            } else {
                row.outside_of_tree()
            }
        }));
        // Running operations stay visible.
        if s == OperationState::Running {
            pinned = rows.len();
        }
    }
    add_outputs(state, d, &mut rows);
    (rows, pinned)
}

/// Moves the newest completed operations of a running deploy before those that wait, so that its
/// progress is on the screen however many wait.
fn raise_newest_done(state: &State, d: &DeployView, all: &mut [(usize, &Operation)]) {
    if d.summary.is_some() {
        return;
    }
    let first = |s| all.iter().position(|(_, o)| o.state == s);
    let (Some(waiting), Some(done)) = (first(OperationState::Waiting), first(OperationState::Done))
    else {
        return;
    };
    let most = match state.frame.size.1 {
        ..32 => 3,
        32..50 => 7,
        _ => 12,
    };
    let raised = most.min(all.len() - done);
    all[waiting..done + raised].rotate_right(raised);
}

/// Returns true for an operation that has not begun.
fn is_pending(s: OperationState) -> bool {
    matches!(s, OperationState::Waiting | OperationState::NotAttempted)
}

/// Heading of a group of operations, with the number of those of each part.
fn title(group: &[(usize, &Operation)]) -> String {
    let parts = group.chunk_by(|(_, a), (_, b)| heading(a.state) == heading(b.state));
    let parts: Vec<String> = parts
        .map(|part| format!("{} ({})", heading(part[0].1.state), part.len()))
        .collect();
    parts.join(" · ")
}

/// Heading of the operations in a state.
fn heading(s: OperationState) -> &'static str {
    match s {
        OperationState::Running => "running",
        OperationState::HalfReplaced | OperationState::Failed => "failed",
        OperationState::Unknown => "unknown outcome",
        OperationState::Waiting => "waiting",
        OperationState::NotAttempted => "not attempted",
        OperationState::Done => "done, newest first",
    }
}

/// Adds the outputs that an ended deploy changes. Their indexes continue after the operations.
fn add_outputs(state: &State, d: &DeployView, rows: &mut Vec<Row>) {
    let changed = match &state.loaded.deployed_outputs {
        Some((deploy, names)) if *deploy == d.deploy => names,
        _ => return,
    };
    if state.context() != Context::Deploy || d.summary.is_none() || changed.is_empty() {
        return;
    }
    rows.push(Row::heading("outputs"));
    let names = changed.iter().enumerate();
    rows.extend(names.map(|(i, n)| Row::text(format!("output {n}"), d.operations.len() + i)));
}

fn text(state: &State, row: &Row) -> String {
    let Some(o) = state
        .shown_deploy()
        .and_then(|(d, _)| d.operations.get(row.index))
    else {
        return row.key.text().unwrap_or_default().to_owned();
    };
    let failure = o.failure.as_ref().map_or("", |f| f.summary.as_str());
    format!(
        "{} {} {} {failure}",
        row.key.text().unwrap_or_default(),
        o.action.operation_word(),
        o.state.label()
    )
}

fn field(state: &State, row: &Row, name: &str) -> String {
    let deploy = state.shown_deploy().map(|(d, _)| d);
    let Some(o) = deploy.and_then(|d| d.operations.get(row.index)) else {
        return String::new();
    };
    match name {
        "action" => o.action.label().to_owned(),
        "provider" => o
            .plugin
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        "state" => match o.state {
            OperationState::Running if progress::queued(state, o).is_some() => "queued",
            OperationState::Running => "running",
            OperationState::Waiting => "waiting",
            OperationState::Failed | OperationState::HalfReplaced => "failed",
            OperationState::Unknown => "unknown",
            OperationState::Done => "done",
            OperationState::NotAttempted => "not-attempted",
        }
        .to_owned(),
        _ => field_of_address(&o.address, name),
    }
}

fn detail(state: &State, _: &Row) -> Doc {
    match (state.operation(), state.shown_deploy()) {
        (Some(op), Some((_, now))) => doc::operation(state, op, now),
        _ => state.output().map(doc::state_output).unwrap_or_default(),
    }
}

/// First line of the detail: an operation with its state, or the name of an output.
fn head(state: &State, row: &Row) -> Line {
    match state.operation() {
        Some(op) => doc::operation_title(state, op),
        None => line(Role::Strong, row.key.text().unwrap_or_default()),
    }
}

fn empty(state: &State) -> Doc {
    let mut doc = Doc::new();
    explain_empty(state, &mut doc);
    doc
}

/// Explains an empty Deploy or Replay screen.
fn explain_empty(state: &State, doc: &mut Doc) {
    let shown = state.shown_deploy().map(|(d, _)| d);
    // Outputs and moved addresses need no operation, so an empty deploy is no mistake.
    if shown.is_some_and(|d| d.operations.is_empty()) {
        doc.push(line(
            Role::Plain,
            "No resource operations: this deploy changes only outputs or addresses in the state.",
        ));
        return;
    }
    doc.push(line(Role::Heading, "No deploy yet"));
    doc.push(line(
        Role::Plain,
        "A deploy applies the changes that are selected on the Stage screen.",
    ));
    push_keys(
        doc,
        &[
            ("3", "goes to the Stage screen"),
            ("5", "shows earlier deploys"),
        ],
    );
}
