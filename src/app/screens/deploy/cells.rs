//! Cells of operations and outputs on the Deploy and Replay screens.

use super::{blockers, symbol, timeline};
use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{aligned, duration, elapsed};
use crate::app::list::Row;
use crate::app::progress;
use crate::app::screens::nodes;
use crate::app::state::{Context, State};
use crate::app::text::width;
use model::view::DeployView;
use model::{Operation, OperationProgress, OperationState, UnixMs};

/// Cells of an operation, a node or an output.
pub(super) fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(cells) = nodes::node_cells(state, row) {
        return cells;
    }
    let Some((d, now)) = state.shown_deploy() else {
        return Vec::new();
    };
    let Some(op) = d.operations.get(row.index) else {
        return output_cells(state, row);
    };
    let queued = progress::queued(state, op);
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
            let worked = progress::worked_ms(state, d, op, now);
            // A replay knows its time exactly, and events follow within a second.
            let text = match (state.context(), u64::try_from(worked)) {
                (Context::Replay, Ok(worked)) => duration(worked),
                _ => elapsed(worked),
            };
            line(role, aligned(text))
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
    let mark = match state.frame.progress.is_critical(row.index) {
        true => "◀",
        false => "",
    };
    let mut note = timeline::bar(state, d, op, now, mark);
    let has_bar = !note.is_empty();
    if !has_bar && !mark.is_empty() {
        note.push(doc::omittable(Role::Key, "◀ "));
    }
    note.extend(operation_note(state, d, op, now, has_bar));
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
        note,
    ]
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

/// Returns the reason of the state of an operation, or what is to be known about its duration.
fn operation_note(
    state: &State,
    d: &DeployView,
    op: &Operation,
    now: UnixMs,
    has_bar: bool,
) -> Line {
    let mut l = Line::new();
    if let Some(call) = progress::queued(state, op) {
        return progress::in_line(state, call);
    }
    match op.state {
        OperationState::Running => {
            if let Some((role, text)) = doc::pause(op, now) {
                return vec![span(role, text)];
            }
            // Without earlier operations of this kind there is nothing to compare with.
            if let (Some(_), Some(usual)) = (op.began, op.usual_ms) {
                let ms = u64::try_from(progress::worked_ms(state, d, op, now)).unwrap_or(0);
                let role = if ms > usual { Role::Warn } else { Role::Busy };
                if !has_bar {
                    l.extend(doc::bar(role, ms, usual));
                    l.push(doc::omittable(role, " "));
                }
                l.push(usual_duration(ms, usual));
            }
            add_log_text(state, op, &mut l);
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
        OperationState::Waiting => l.extend(blockers::waiting_note(state, d, op, now)),
        OperationState::NotAttempted => l.extend(blockers::note(state, d, op, "needs", None)),
        OperationState::Unknown => l.push(doc::unknown_of_operation(state, op)),
        OperationState::Done => {
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

/// Maximum width of a log text that goes before the usual duration.
const LOG_CELLS: usize = 28;

/// Adds the newest log text of a running operation to its note: the bar shows the usual duration as
/// well, and may leave no space for both.
fn add_log_text(state: &State, op: &Operation, l: &mut Line) {
    let Some(text) = doc::newest_log_text(state, op) else {
        return;
    };
    match l.pop() {
        Some(usual) if usual.role == Role::Dim && width(&text) <= LOG_CELLS => {
            l.push(span(Role::Dim, text));
            let text = format!(" · {}", usual.text);
            l.push(doc::omittable(usual.role, text));
        }
        Some(usual) => {
            l.push(usual);
            l.push(doc::omittable(Role::Dim, format!(" · {text}")));
        }
        None => l.push(doc::omittable(Role::Dim, text)),
    }
}

/// Running time from which an operation is described by a multiple of its usual duration.
const UNUSUAL: u64 = 2;

/// Compares the running time of an operation with its usual duration.
fn usual_duration(ms: u64, usual: u64) -> doc::Span {
    match ms / usual.max(1) {
        times @ UNUSUAL.. => span(Role::Warn, format!("{times}× usual {}", duration(usual))),
        _ => span(Role::Dim, format!("usual {}", duration(usual))),
    }
}
