//! Deploy screen, and the replay of an earlier deploy: operations with their times, blockers and
//! failures.

mod blockers;
mod replay;

pub(super) use replay::REPLAY;

use super::{
    Body, Context, ContextInfo, DetailPlace, ScreenInfo, TreeInfo, field_of_address, nodes,
    push_keys,
};
use crate::app::column::{Column, Width, column, number};
pub(super) use crate::app::doc::operation_sign as symbol;
use crate::app::doc::{self, Doc, Line, Role, line, outcome_role, span};
use crate::app::filter::{Field, text_field};
use crate::app::format::{aligned, duration, elapsed};
use crate::app::list::Row;
use crate::app::running;
use crate::app::state::State;
use model::view::DeployView;
use model::{CancelRung, DeployOutcome, Operation, OperationProgress, OperationState, UnixMs};

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Deploy,
    load: || None,
};

pub(super) const DEPLOY: ContextInfo = ContextInfo {
    title: "Deploy",
    body: Body::Table {
        columns: COLUMNS,
        cells,
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
    write_subject,
    first_keys: |_| &["cancel", "retry", "open", "operation-logs", "operations"],
    empty: |state| Some(empty(state)),
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("", Width::Content(0), 0),
    column("", Width::Content(0), 3),
    column("RESOURCE", Width::Key(15), 0),
    column("STATE", Width::Content(8), 0),
    number("TIME", 6, 1),
    column("NOTE", Width::Flex(16, 3), 2),
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
    let Some((d, _)) = state.shown_deploy() else {
        return (Vec::new(), 0);
    };
    let mut all: Vec<_> = d.operations.iter().enumerate().collect();
    // During the deploy, the latest completed operation comes first among the completed ones.
    all.sort_by_key(|(i, o)| {
        let ended =
            o.began.unwrap_or(0) + o.took_ms.and_then(|t| i64::try_from(t).ok()).unwrap_or(0);
        (
            rank(o.state),
            if o.state == OperationState::Done {
                std::cmp::Reverse(ended)
            } else {
                std::cmp::Reverse(0)
            },
            *i,
        )
    });
    let mut rows = Vec::with_capacity(all.len() + 4);
    let mut pinned = 0;
    // A small screen has no lines for headings.
    let has_headings = state.frame.size.1 >= 20;
    // The tree has all that have not begun as one group.
    let is_same = |a: OperationState, b: OperationState| {
        heading(a) == heading(b) || is_pending(a) && is_pending(b)
    };
    for group in all.chunk_by(|(_, a), (_, b)| is_same(a.state, b.state)) {
        let state = group[0].1.state;
        // A single group needs no heading, and its tree has all operations.
        let is_all = group.len() == all.len();
        let is_in_tree = match state {
            state if is_pending(state) => true,
            OperationState::Done => is_all,
            // Visible while their node is folded.
            _ => false,
        };
        let is_titled = has_headings && (!is_all || !is_in_tree);
        rows.extend(is_titled.then(|| Row::heading(title(group))));
        rows.extend(group.iter().map(|(i, o)| {
            let row = Row::text(o.address.as_str(), *i);
            if is_in_tree {
                row
            } else {
                row.outside_of_tree()
            }
        }));
        // Running operations stay visible.
        if state == OperationState::Running {
            pinned = rows.len();
        }
    }
    add_outputs(state, d, &mut rows);
    (rows, pinned)
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

/// Cells of an output: the value that the state has after the deploy.
fn output_cells(state: &State, row: &Row) -> Vec<Line> {
    let key = row.key.text().unwrap_or_default();
    let name = key.strip_prefix("output ").unwrap_or_default();
    let note = match (state.loaded.output(name), &state.loaded.outputs) {
        (Some(o), _) => doc::output_value(o),
        (None, Some(_)) => line(Role::Dim, "not in the state"),
        (None, None) => line(Role::Dim, "loading…"),
    };
    vec![
        Line::new(),
        Line::new(),
        line(Role::Plain, key),
        Line::new(),
        Line::new(),
        note,
    ]
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
            OperationState::Running if running::queued(state, o).is_some() => "queued",
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

/// Width of the progress bar of the title.
const PROGRESS_CELLS: usize = 16;

/// Cells of an operation.
fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(cells) = nodes::node_cells(state, row) {
        return cells;
    }
    let Some((d, now)) = state.shown_deploy() else {
        return Vec::new();
    };
    let Some(op) = d.operations.get(row.index) else {
        return output_cells(state, row);
    };
    let queued = running::queued(state, op);
    // A queued operation does no work yet, even if it has started.
    let (sign, role) = if queued.is_some() {
        ("·", Role::Warn)
    } else {
        symbol(op.state)
    };
    let word = match op.state {
        _ if queued.is_some() => "queued".to_owned(),
        OperationState::Done => op.action.past_tense().to_owned(),
        OperationState::Failed => format!("{} failed", op.action.operation_word()),
        OperationState::Running if op.step != OperationProgress::Unsaid => op.step.to_string(),
        // The note describes the unknown outcome.
        OperationState::Unknown => "unknown".to_owned(),
        s => s.label().to_owned(),
    };
    let time = match (op.state, op.began) {
        (OperationState::Running, Some(_)) => {
            let worked = running::worked_ms(state, d, op, now);
            line(role, aligned(elapsed(worked)))
        }
        _ => op
            .took_ms
            .map_or_else(Line::new, |ms| line(Role::Dim, aligned(duration(ms)))),
    };
    let failed = matches!(
        op.state,
        OperationState::Failed | OperationState::HalfReplaced | OperationState::Unknown
    );
    // Running and failed operations stand out from those that are done or not started.
    let address = if failed || op.state == OperationState::Running {
        Role::Plain
    } else {
        Role::Dim
    };
    vec![
        line(role, sign),
        match op.state {
            // Nothing was done, so the colour of an action would be wrong.
            OperationState::NotAttempted => line(Role::Dim, op.action.sign()),
            _ => doc::action_sign(op.action),
        },
        doc::row_label(address, row),
        line(role, word),
        time,
        operation_note(state, d, op, now),
    ]
}

fn operation_note(state: &State, d: &DeployView, op: &Operation, now: UnixMs) -> Line {
    let mut l = Line::new();
    if let Some(call) = running::queued(state, op) {
        return running::in_line(state, call);
    }
    match op.state {
        OperationState::Running => {
            if let Some((role, text)) = doc::pause(op, now) {
                return vec![span(role, text)];
            }
            // Without earlier operations of this kind there is nothing to compare with.
            if let (Some(_), Some(usual)) = (op.began, op.usual_ms) {
                let ms = u64::try_from(running::worked_ms(state, d, op, now)).unwrap_or(0);
                let role = if ms > usual { Role::Warn } else { Role::Busy };
                l.extend(doc::bar(role, ms, usual));
                l.push(span(Role::Dim, format!(" usual {}", duration(usual))));
            }
            if let Some(f) = &op.failure {
                l.push(span(
                    Role::Warn,
                    format!("  {}: {}", f.class.label(), f.summary),
                ));
            }
        }
        OperationState::Failed | OperationState::HalfReplaced => {
            if op.state == OperationState::HalfReplaced {
                l.push(span(Role::Bad, format!("{}  ", op.step)));
            }
            if let Some(f) = &op.failure {
                l.push(span(Role::Bad, format!("{}: ", f.class.label())));
                l.push(span(Role::Plain, &f.summary));
            }
        }
        OperationState::Waiting => l.extend(blockers::note(d, op, "for")),
        OperationState::NotAttempted => l.extend(blockers::note(d, op, "needs")),
        OperationState::Unknown => l.push(doc::unknown_of_operation(state, op)),
        _ => {
            if op.attempt > 1 {
                l.push(span(
                    Role::Dim,
                    format!("a call needed {} attempts", op.attempt),
                ));
            }
            if let Some(w) = op.warnings.first() {
                l.push(span(Role::Warn, format!("warning: {w}")));
            }
        }
    }
    l
}

/// Appends the outcome of a deploy with its duration, or the progress of a running one.
fn write_outcome(d: &DeployView, now: UnixMs, l: &mut Line) {
    match &d.summary {
        Some(s) => {
            let (symbol, role) = outcome_role(s.outcome);
            let took = s
                .ended
                .map_or(0, |e| u64::try_from(e - s.began).unwrap_or(0));
            // The end of a killed run is unknown; only its last event has a time.
            let how = if s.outcome == DeployOutcome::Interrupted {
                "last event after"
            } else {
                "in"
            };
            l.push(span(
                role,
                format!(" · {symbol} {} {how} {}", s.outcome.label(), duration(took)),
            ));
        }
        None => {
            let (symbol, role) = outcome_role(DeployOutcome::Running);
            l.push(span(
                role,
                format!(" · {symbol} running {}  ", elapsed(now - d.began)),
            ));
            let is_done = |o: &&Operation| o.state == OperationState::Done;
            let done = d.operations.iter().filter(is_done).count();
            let all = d.operations.len();
            l.extend(doc::gauge(role, done, all, PROGRESS_CELLS));
        }
    }
}

/// First line of the detail: an operation with its state, or the name of an output.
fn head(state: &State, row: &Row) -> Line {
    match state.operation() {
        Some(op) => doc::operation_title(state, op),
        None => line(Role::Strong, row.key.text().unwrap_or_default()),
    }
}

fn write_subject(state: &State, l: &mut Line) {
    let Some((d, now)) = state.shown_deploy() else {
        l.push(span(Role::Strong, "deploy"));
        return;
    };
    l.push(span(Role::Strong, format!("deploy #{}", d.deploy)));
    write_outcome(d, now, l);
    write_counts(state, d, l);
    write_rollouts(d, l);
    write_cancel(d, l);
}

/// Appends the numbers of operations by state.
fn write_counts(state: &State, d: &DeployView, l: &mut Line) {
    let queued = running::count_queued(state, d);
    let of = |s: OperationState| match s {
        OperationState::Running => d
            .operations
            .iter()
            .filter(|o| o.state == s)
            .count()
            .saturating_sub(queued),
        s => d.operations.iter().filter(|o| o.state == s).count(),
    };
    let parts = [
        (OperationState::Done, Role::Ok, "done"),
        (OperationState::Running, Role::Busy, "running"),
        (OperationState::HalfReplaced, Role::Bad, "half replaced"),
        (OperationState::Failed, Role::Bad, "failed"),
        (OperationState::Unknown, Role::Warn, "unknown"),
        (OperationState::Waiting, Role::Plain, "waiting"),
        (OperationState::NotAttempted, Role::Warn, "not attempted"),
    ];
    for (s, role, word) in parts {
        let n = of(s);
        if n > 0 {
            l.push(span(role, format!(" · {n} {word}")));
        }
        if s == OperationState::Running && queued > 0 {
            l.push(span(Role::Warn, format!(" · {queued} queued")));
        }
    }
}

fn write_cancel(d: &DeployView, l: &mut Line) {
    if let Some(r) = d.cancel {
        let word = match r {
            CancelRung::StopStarting => "no new operations",
            CancelRung::AskPlugins => "plugins asked to stop",
            CancelRung::KillPlugins => "plugins killed",
        };
        l.push(span(Role::Warn, format!(" · cancelled: {word}")));
    }
}

/// Appends the rollouts that wait, go on, or have stopped.
fn write_rollouts(d: &DeployView, l: &mut Line) {
    for rollout in &d.rollouts {
        let role = match rollout.state.as_str() {
            "converged" => continue,
            "running" | "waiting for health" => Role::Busy,
            _ => Role::Warn,
        };
        let health = rollout.health.as_deref().map(|h| format!(" {h}"));
        let text = format!(
            " · group {}: {}{}, batch {} of {}",
            rollout.group,
            rollout.state,
            health.unwrap_or_default(),
            rollout.batch,
            rollout.batches
        );
        l.push(span(role, text));
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
