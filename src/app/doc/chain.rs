//! Chains of operations: what one operation waits or waited for, and what decided about the
//! duration of a deploy.

use super::{
    Doc, Line, Role, action_sign, address, gauge, line, operation_sign, push_heading, span,
};
use crate::app::format::{aligned, count, duration, elapsed};
use crate::app::progress;
use crate::app::state::State;
use crate::app::text::width;
use model::view::DeployView;
use model::{Operation, OperationState, UnixMs};

/// Maximum number of operations of a chain.
const LONGEST: usize = 30;

/// Maximum number of other operations of a list.
const LISTED: usize = 8;

/// Cells of the bars of durations.
const BAR_CELLS: usize = 20;

/// Explains why an operation waits, was not attempted, or started when it did: the chain of its
/// needs, down to the operation that waits for none.
pub fn reason_of_operation(state: &State, op: &Operation) -> Doc {
    let Some((d, now)) = state.shown_deploy() else {
        return Doc::new();
    };
    let chain = d.chain_of(op.index as usize);
    let mut doc = Doc::new();
    for (depth, at) in chain.iter().take(LONGEST).enumerate() {
        let op = &d.operations[*at];
        let mark = match depth {
            0 => String::new(),
            _ => format!("{}└ ", "  ".repeat(depth - 1)),
        };
        let mut l = vec![span(Role::Dim, mark)];
        l.extend(action_sign(op.action));
        l.push(span(Role::Plain, " "));
        l.push(address(Role::Strong, &op.address));
        l.push(span(Role::Plain, "  "));
        l.extend(state_text(state, d, op, now));
        doc.push(l);
    }
    if chain.len() > LONGEST {
        let more = count(chain.len() - LONGEST, "more operation");
        doc.push(line(Role::Dim, format!("… {more}")));
    }
    doc.push(Line::new());
    let text = match (op.began, chain.len()) {
        (None, 1) => "No operation blocks it.",
        (None, _) => "Each operation waits for the one below it.",
        (Some(_), 1) => "It waited for no other operation.",
        (Some(_), _) => "Each operation started after the one below it, its last need, had ended.",
    };
    doc.push(line(Role::Dim, text));
    doc
}

/// State of an operation with its duration and its start in the deploy.
fn state_text(state: &State, d: &DeployView, op: &Operation, now: UnixMs) -> Line {
    let (sign, role) = operation_sign(op.state);
    let text = match op.state {
        OperationState::Running => {
            let worked = progress::worked_ms(state, d, op, now);
            format!("{sign} {} for {}", op.step, elapsed(worked))
        }
        OperationState::Done => format!("{sign} {}", op.action.past_tense()),
        s => format!("{sign} {}", s.label()),
    };
    let mut l = vec![span(role, text)];
    if let Some(took) = op.took_ms {
        l.push(span(Role::Plain, format!(" in {}", duration(took))));
    }
    if let Some(usual) = op.usual_ms {
        l.push(span(Role::Dim, format!(", usual {}", duration(usual))));
    }
    if let Some(failure) = &op.failure {
        l.push(span(Role::Plain, format!(": {}", failure.summary)));
    }
    l
}

/// Explains the duration of a deploy: its critical path, the operations that took longer than
/// usual, and those that waited for slots.
pub fn duration_of_deploy(state: &State) -> Doc {
    let Some((d, now)) = state.shown_deploy() else {
        return Doc::new();
    };
    let end = d.summary.as_ref().and_then(|s| s.ended);
    let whole = u64::try_from(end.unwrap_or(now) - d.began).unwrap_or(0);
    let mut doc = vec![vec![
        span(Role::Strong, duration(whole)),
        span(
            Role::Plain,
            format!(" for {}", count(d.operations.len(), "operation")),
        ),
        span(Role::Dim, format!(", at most {} at a time", d.peak)),
    ]];
    let path = &state.frame.progress.critical_path;
    if !path.is_empty() {
        push_heading(
            &mut doc,
            "critical path: each operation needs the one above it",
        );
        let operations = path.iter().map(|at| &d.operations[*at]);
        push_durations(&mut doc, operations, whole, |_| Line::new());
    }
    let mut slow: Vec<(&Operation, u64)> = d
        .operations
        .iter()
        .filter_map(|o| Some((o, o.took_ms?.checked_sub(o.usual_ms?)?)))
        .filter(|(_, excess)| *excess >= NOTICED_MS)
        .collect();
    slow.sort_by_key(|(_, excess)| std::cmp::Reverse(*excess));
    if !slow.is_empty() {
        push_heading(&mut doc, format!("slower than usual ({})", slow.len()));
        let slow = slow.into_iter().map(|(o, _)| o).take(LISTED);
        push_durations(&mut doc, slow, whole, |o| {
            let usual = o.usual_ms.map_or_else(String::new, duration);
            line(Role::Warn, format!("  usual {usual}"))
        });
    }
    let mut queued: Vec<(&String, &u64)> = d.queued_ms.iter().collect();
    queued.retain(|(_, ms)| **ms >= NOTICED_MS);
    queued.sort_by_key(|(_, ms)| std::cmp::Reverse(**ms));
    if !queued.is_empty() {
        push_heading(
            &mut doc,
            format!("queued for slots of a plugin ({})", queued.len()),
        );
        for (name, ms) in queued.into_iter().take(LISTED) {
            doc.push(vec![
                span(Role::Plain, format!("  {:>8}  ", aligned(duration(*ms)))),
                address(Role::Plain, name),
            ]);
        }
    }
    doc
}

/// Shortest duration that is worth a line.
const NOTICED_MS: u64 = 100;

/// Lists operations with their durations, as bars in proportion to the whole deploy.
fn push_durations<'a>(
    doc: &mut Doc,
    operations: impl Iterator<Item = &'a Operation>,
    whole: u64,
    note: impl Fn(&Operation) -> Line,
) {
    let operations: Vec<&Operation> = operations.take(LONGEST).collect();
    let longest = operations.iter().map(|o| width(&o.address)).max();
    for o in operations {
        let (_, role) = operation_sign(o.state);
        let took = o.took_ms.unwrap_or(0);
        let cells = |ms: u64| usize::try_from(ms).unwrap_or(usize::MAX / BAR_CELLS / 4);
        let text = o
            .took_ms
            .map_or_else(|| o.state.label().to_owned(), duration);
        let gap = " ".repeat(longest.unwrap_or(0).saturating_sub(width(&o.address)));
        let mut l = vec![
            span(Role::Plain, format!("  {:>8}  ", aligned(text))),
            address(Role::Plain, &o.address),
            span(Role::Plain, format!("{gap}  ")),
        ];
        l.extend(gauge(role, cells(took), cells(whole).max(1), BAR_CELLS));
        l.extend(note(o));
        doc.push(l);
    }
}
