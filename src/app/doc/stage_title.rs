//! Titles of the Stage and Deploy screens: progress and counts.

use super::deploy::{counts, mode, outcome_role};
use super::{Line, Role, drift_role, span};
use crate::app::format::{count, duration, elapsed};
use crate::app::running;
use crate::app::state::State;
use crate::engine::model::{
    Action, DeployOutcome, DriftKind, OperationState, Severity, StageMode, StageSummary,
};

pub(in crate::app) fn stage(state: &State, l: &mut Line) {
    if let Some(s) = &state.view.staging {
        l.push(span(
            Role::Busy,
            format!("◐ staging #{} ({})", s.stage, mode(s.mode)),
        ));
        l.push(span(
            Role::Plain,
            format!(
                " · {}/{} · {} · {}",
                s.done,
                s.total,
                elapsed(state.now - s.since),
                s.now
            ),
        ));
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
    let all = s
        .changes
        .iter()
        .filter(|c| c.action != Action::NoOp)
        .count();
    l.push(span(Role::Strong, format!("stage #{}", s.stage)));
    if s.mode != StageMode::Normal {
        l.push(span(Role::Warn, format!(" ({})", mode(s.mode))));
    }
    // Such a stage has drift and no changes to count.
    if s.mode == StageMode::RefreshOnly {
        if s.drift.is_empty() {
            l.push(span(Role::Ok, " · no drift"));
        }
        l.extend(diagnostics_counts(state));
    } else {
        l.push(span(
            Role::Plain,
            format!(
                " · {} · {} selected",
                count(all, "change"),
                state.selected_changes().count()
            ),
        ));
        l.extend(diagnostics_counts(state));
        l.push(span(Role::Plain, " · "));
        l.extend(counts(&s.counts));
    }
    drifted(s, l);
    add_other_counts(s, l);
    l.push(span(Role::Dim, format!(" · in {}", duration(s.took_ms))));
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

/// Adds the counts of changed outputs and moved objects.
fn add_other_counts(s: &StageSummary, l: &mut Line) {
    let outputs = s
        .outputs
        .iter()
        .filter(|o| o.action != Action::NoOp)
        .count();
    if outputs > 0 {
        l.push(span(
            Role::Plain,
            format!(" · {}", count(outputs, "output")),
        ));
    }
    let moved = s
        .changes
        .iter()
        .filter(|c| c.action == Action::NoOp && c.has_effect())
        .count();
    if moved > 0 {
        l.push(span(Role::Plain, format!(" · {moved} moved")));
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
        state.keys.first("stage-diagnostics"),
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

pub(in crate::app) fn deploy(state: &State, l: &mut Line) {
    let Some((d, now)) = state.shown_deploy() else {
        l.push(span(Role::Strong, "deploy"));
        return;
    };
    l.push(span(Role::Strong, format!("deploy #{}", d.deploy)));
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
        }
    }
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
        if n > 0 || s == OperationState::Done {
            l.push(span(
                if n > 0 { role } else { Role::Dim },
                format!(" · {n} {word}"),
            ));
        }
        if s == OperationState::Running && queued > 0 {
            l.push(span(Role::Warn, format!(" · {queued} queued")));
        }
    }
    if let Some(r) = d.cancel {
        let word = match r {
            crate::engine::model::CancelRung::StopStarting => "no new operations",
            crate::engine::model::CancelRung::AskPlugins => "plugins asked to stop",
            crate::engine::model::CancelRung::KillPlugins => "plugins killed",
        };
        l.push(span(Role::Warn, format!(" · cancelled: {word}")));
    }
}
