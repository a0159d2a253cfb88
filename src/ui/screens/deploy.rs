//! Deploy screen: operations with their times, blockers and failures.

use super::calls::bar;
use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{duration, elapsed};
use crate::app::list::Row;
use crate::app::running;
use crate::app::state::State;
use crate::engine::model::{Operation, OperationProgress, OperationState, UnixMs};
use crate::engine::view::DeployView;
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

/// Cells of an operation.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some((d, now)) = state.shown_deploy() else {
        return Vec::new();
    };
    let Some(op) = d.operations.get(row.index) else {
        return Vec::new();
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
            line(role, elapsed(running::worked_ms(state, d, op, now)))
        }
        _ => op
            .took_ms
            .map_or_else(Line::new, |ms| line(Role::Plain, duration(ms))),
    };
    let address = if matches!(
        op.state,
        OperationState::Waiting | OperationState::NotAttempted
    ) {
        Role::Dim
    } else {
        Role::Plain
    };
    vec![
        line(role, sign),
        doc::action_sign(op.action),
        line(address, &op.address),
        line(role, word),
        time,
        operation_note(state, d, op, now),
    ]
}

/// Names the first blocker of an operation, failed ones first.
fn blockers(d: &DeployView, op: &Operation, word: &str) -> Line {
    let all = d.blockers(op);
    let Some((first, state)) = all.first() else {
        return Line::new();
    };
    let failed = matches!(
        state,
        Some(OperationState::Failed | OperationState::HalfReplaced | OperationState::Unknown)
    );
    let role = if failed { Role::Warn } else { Role::Dim };
    let why = state
        .filter(|_| failed)
        .map_or_else(String::new, |s| format!(" ({})", s.label()));
    let more = if all.len() > 1 {
        format!(" and {} more", all.len() - 1)
    } else {
        String::new()
    };
    vec![span(role, format!("{word} {first}{why}{more}"))]
}

fn operation_note(state: &State, d: &DeployView, op: &Operation, now: UnixMs) -> Line {
    let mut l = Line::new();
    if let Some(call) = running::queued(state, op) {
        return vec![span(Role::Warn, running::in_line(state, call))];
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
                l.push(span(role, bar(ms, usual)));
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
        OperationState::Waiting => l.extend(blockers(d, op, "for")),
        OperationState::NotAttempted => l.extend(blockers(d, op, "needs")),
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
