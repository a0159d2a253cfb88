//! The Deploy screen: every operation with its clock, what it waits for, why it failed.

use super::calls::bar;
use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{duration, elapsed};
use crate::app::list::Row;
use crate::app::state::State;
use crate::engine::event::{Operation, OperationState};
use crate::engine::plugin::record::UnixMs;
use crate::ui::table::{Column, Width, column, number};

pub const COLUMNS: &[Column] = &[
    column("", Width::Fix(1), 0),
    column("", Width::Fix(3), 3),
    column("RESOURCE", Width::Key(16), 0),
    column("STATE", Width::Fix(13), 0),
    number("TIME", 7, 1),
    column("NOTE", Width::Flex(10, 5), 2),
];

fn symbol(s: OperationState) -> (&'static str, Role) {
    match s {
        OperationState::Waiting => ("·", Role::Dim),
        OperationState::Running => ("◐", Role::Busy),
        OperationState::Done => ("✓", Role::Ok),
        OperationState::Failed => ("✗", Role::Bad),
        OperationState::NotAttempted => ("○", Role::Dim),
        OperationState::Unknown => ("?", Role::Warn),
        OperationState::HalfReplaced => ("✗", Role::Bad),
    }
}

/// The cells of an operation.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some((d, now)) = state.shown_deploy() else { return Vec::new() };
    let Some(op) = d.operations.get(row.index) else { return Vec::new() };
    let (sign, role) = symbol(op.state);
    let word = match op.state {
        OperationState::Done => doc::past(op.action).to_owned(),
        OperationState::Failed => format!("{} failed", op.action.word()),
        OperationState::Running if !op.step.is_empty() => op.step.clone(),
        // What of it is unknown, the note says.
        OperationState::Unknown => "unknown".to_owned(),
        s => s.word().to_owned(),
    };
    let time = match (op.state, op.began) {
        (OperationState::Running, Some(b)) => line(role, elapsed(now - b)),
        _ => op.took_ms.map_or_else(Line::new, |ms| line(Role::Plain, duration(ms))),
    };
    let address = if matches!(op.state, OperationState::Waiting | OperationState::NotAttempted) { Role::Dim } else { Role::Plain };
    vec![line(role, sign), doc::action_sign(op.action), line(address, &op.address), line(role, word), time, note(state, op, now)]
}

fn note(state: &State, op: &Operation, now: UnixMs) -> Line {
    let mut l = Line::new();
    match op.state {
        OperationState::Running => {
            if let (Some(b), Some(usual)) = (op.began, op.usual_ms) {
                let ms = u64::try_from(now - b).unwrap_or(0);
                let role = if ms > usual { Role::Warn } else { Role::Busy };
                l.push(span(role, bar(ms, usual)));
                l.push(span(Role::Dim, format!(" usual {}", duration(usual))));
            }
            if op.attempt > 1 {
                l.push(span(Role::Warn, format!("  attempt {}", op.attempt)));
            }
            if let Some(f) = &op.failure {
                l.push(span(Role::Warn, format!("  {}: {}", f.class.word(), f.summary)));
            }
        }
        OperationState::Failed | OperationState::HalfReplaced => {
            if op.state == OperationState::HalfReplaced {
                l.push(span(Role::Bad, format!("{}  ", op.step)));
            }
            if let Some(f) = &op.failure {
                l.push(span(Role::Bad, format!("{}: ", f.class.word())));
                l.push(span(Role::Plain, &f.summary));
            }
        }
        OperationState::Waiting if !op.waits_for.is_empty() => l.push(span(Role::Dim, format!("for {}", op.waits_for.join(", ")))),
        OperationState::NotAttempted if !op.waits_for.is_empty() => l.push(span(Role::Dim, format!("needs {}", op.waits_for.join(", ")))),
        OperationState::Unknown => l.push(doc::unknown_of_operation(state, op)),
        _ => {
            if op.attempt > 1 {
                l.push(span(Role::Dim, format!("at attempt {}", op.attempt)));
            }
            if let Some(w) = op.warnings.first() {
                l.push(span(Role::Warn, format!("warning: {w}")));
            }
        }
    }
    l
}
