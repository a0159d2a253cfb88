//! Title of the Deploy screen: outcome, counts and progress bar.

use crate::app::doc::{self, Line, Role, outcome_role, span};
use crate::app::format::{duration, elapsed};
use crate::app::progress::{self, TimeLeft};
use crate::app::state::State;
use model::view::DeployView;
use model::{CancelRung, DeployOutcome, Operation, OperationState, UnixMs};

/// Width of the progress bar of the title, on a screen without a line for a longer one.
const PROGRESS_CELLS: usize = 16;

/// Appends the outcome of a deploy with its duration, or the progress of a running one.
fn write_outcome(state: &State, d: &DeployView, now: UnixMs, l: &mut Line) {
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
                format!(" · {symbol} running {}", elapsed(now - d.began)),
            ));
            // A larger screen has a longer bar below the title.
            if state.frame.size.1 < BAR_LINES {
                let done = state.frame.progress.count(OperationState::Done);
                let all = d.operations.len();
                l.push(doc::omittable(Role::Plain, "  "));
                l.extend(doc::gauge(role, done, all, PROGRESS_CELLS));
            }
        }
    }
}

pub(super) fn write_subject(state: &State, l: &mut Line) {
    let Some((d, now)) = state.shown_deploy() else {
        l.push(span(Role::Strong, "deploy"));
        return;
    };
    l.push(span(Role::Strong, format!("deploy #{}", d.deploy)));
    write_outcome(state, d, now, l);
    write_counts(state, l);
    write_rollouts(d, l);
    write_cancel(d, l);
    if is_on_course(state, d, now) {
        l.push(span(Role::Dim, " · nothing to do"));
    }
}

/// Returns true for a running deploy in which nothing has failed, stopped, or lasted much longer
/// than usual.
fn is_on_course(state: &State, d: &DeployView, now: UnixMs) -> bool {
    let is_usual = |o: &Operation| {
        let worked = u64::try_from(progress::worked_ms(state, d, o, now)).unwrap_or(0);
        o.usual_ms.is_none_or(|usual| worked < usual * OVERDUE)
    };
    let goes_well = |o: &Operation| match o.state {
        OperationState::Running => o.retry.is_none() && is_usual(o),
        s => matches!(s, OperationState::Done | OperationState::Waiting),
    };
    let rolls = |state: &str| matches!(state, "running" | "waiting for health" | "converged");
    d.summary.is_none()
        && d.cancel.is_none()
        && d.operations.iter().all(goes_well)
        && d.rollouts.iter().all(|rollout| rolls(&rollout.state))
}

/// Multiple of the usual duration from which an operation is overdue.
const OVERDUE: u64 = 2;

/// Appends the numbers of operations by state.
pub(super) fn write_counts(state: &State, l: &mut Line) {
    let progress = &state.frame.progress;
    let queued = progress.queued();
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
        let n = progress.count(s);
        if n > 0 {
            l.push(span(role, format!(" · {n} {word}")));
        }
        if s == OperationState::Running && queued > 0 {
            l.push(span(Role::Warn, format!(" · {queued} queued")));
        }
    }
}

pub(super) fn write_cancel(d: &DeployView, l: &mut Line) {
    if let Some(r) = d.cancel {
        let word = match r {
            CancelRung::StopStarting => "no new operations",
            CancelRung::AskPlugins => "plugins asked to stop",
            CancelRung::EndCommands => "plugins asked to stop, commands ended",
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

/// Number of screen lines from which the progress bar has a line of its own.
pub(super) const BAR_LINES: u16 = 20;

/// States of operations in the order of the progress bar.
const PARTS: [(OperationState, Role, &str); 7] = [
    (OperationState::Done, Role::Ok, "█"),
    (OperationState::HalfReplaced, Role::Bad, "█"),
    (OperationState::Failed, Role::Bad, "█"),
    (OperationState::Unknown, Role::Warn, "█"),
    (OperationState::Running, Role::Busy, "█"),
    (OperationState::NotAttempted, Role::Warn, "░"),
    (OperationState::Waiting, Role::Dim, "░"),
];

/// Progress bar of a deploy in `cells` cells: a part for each state, then the share that is done
/// and the time left.
pub(super) fn bar(state: &State, cells: usize) -> Line {
    let Some((deploy, _)) = state.shown_deploy() else {
        return Line::new();
    };
    let all = deploy.operations.len();
    let outcome = deploy.summary.as_ref().map(|s| s.outcome);
    // The title says that all are done.
    if all == 0 || outcome == Some(DeployOutcome::Succeeded) {
        return Line::new();
    }
    let progress = &state.frame.progress;
    let mut tail = Line::new();
    let done = progress.count(OperationState::Done);
    tail.push(span(Role::Strong, format!("  {done} of {all}")));
    if let (None, Some(left)) = (&deploy.summary, progress.left) {
        tail.push(span(Role::Dim, format!(" · {}", time_left(left))));
    }
    let room = cells.saturating_sub(doc::cells_of(&tail));
    let mut counts = PARTS.map(|(s, ..)| progress.count(s));
    // Queued operations do not work yet.
    counts[PARTS.len() - 1] += progress.queued();
    let mut l: Line = shares(&counts, room)
        .into_iter()
        .zip(PARTS)
        .filter(|(n, _)| *n > 0)
        .map(|(n, (_, role, text))| span(role, text.repeat(n)))
        .collect();
    l.extend(tail);
    l
}

/// Divides cells in proportion to counts. Each count above 0 has a cell if there are enough.
fn shares(counts: &[usize], cells: usize) -> Vec<usize> {
    let all: usize = counts.iter().sum();
    let ends = counts.iter().scan(0, |sum, n| {
        *sum += n;
        Some(*sum * cells / all.max(1))
    });
    let mut begin = 0;
    let mut shares: Vec<usize> = ends
        .map(|end| end - std::mem::replace(&mut begin, end))
        .collect();
    for at in 0..shares.len() {
        if counts[at] > 0 && shares[at] == 0 {
            let largest = (0..shares.len()).max_by_key(|other| shares[*other]);
            if let Some(largest) = largest.filter(|largest| shares[*largest] > 1) {
                shares[largest] -= 1;
                shares[at] = 1;
            }
        }
    }
    shares
}

/// Expected time until the end, in complete seconds.
fn time_left(left: TimeLeft) -> String {
    let ms = i64::try_from(left.ms).unwrap_or(i64::MAX);
    let word = if left.is_minimum { "at least" } else { "about" };
    format!("{word} {} left", elapsed(ms + 999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_bar_shows_every_state_that_occurs() {
        for (counts, cells, expected) in [
            ([12, 1, 12], 100, [48, 4, 48]),
            ([4_998, 1, 1], 50, [48, 1, 1]),
            ([0, 0, 5], 10, [0, 0, 10]),
            ([1, 1, 1], 2, [0, 1, 1]),
            ([3, 0, 0], 0, [0, 0, 0]),
        ] {
            assert_eq!(shares(&counts, cells), expected, "{counts:?} in {cells}");
        }
    }

    #[test]
    fn time_left_is_a_minimum_while_an_operation_has_no_usual_duration() {
        let text = |ms, is_minimum| time_left(TimeLeft { ms, is_minimum });
        assert_eq!(text(13_100, false), "about 14 s left");
        assert_eq!(text(61_000, true), "at least 1m01s left");
    }
}
