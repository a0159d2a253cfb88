//! Details of a deploy in the history, and of groups of failures.

use super::operation::last_lines;
use super::{Doc, Line, Role, line, push_pair, push_text, span};
use crate::app::format::{count, date, duration};
use crate::app::state::State;
use model::FailureGroup;
use model::{Counts, DeployOutcome, DeploySummary, OperationCounts, StageMode};

/// Renders counts as `+3 ~1 -/+1` in the colours of the actions. Counts of zero are left out.
pub fn counts(c: &Counts) -> Line {
    let mut l = Line::new();
    for (n, sign, role) in [
        (c.create, "+", Role::Create),
        (c.update, "~", Role::Update),
        (c.replace, "-/+", Role::Destroy),
        (c.destroy, "-", Role::Destroy),
        (c.read, "<=", Role::Read),
        (c.forget, "×", Role::Forget),
    ] {
        if n > 0 {
            let gap = if l.is_empty() { "" } else { " " };
            l.push(span(role, format!("{gap}{sign}{n}")));
        }
    }
    l
}

/// Cell of a number; empty for 0, so that only counts of something are seen.
pub fn nonzero(role: Role, n: usize) -> Line {
    if n == 0 {
        return Line::new();
    }
    line(role, n.to_string())
}

/// Symbol and role of a deploy's outcome.
pub fn outcome_role(o: DeployOutcome) -> (&'static str, Role) {
    match o {
        DeployOutcome::Running => ("◐", Role::Busy),
        DeployOutcome::Succeeded => ("✓", Role::Ok),
        DeployOutcome::Failed => ("✗", Role::Bad),
        DeployOutcome::Cancelled => ("■", Role::Warn),
        DeployOutcome::Interrupted => ("!", Role::Warn),
    }
}

/// Text of a stage's mode.
pub fn mode(m: StageMode) -> &'static str {
    match m {
        StageMode::Normal => "changes",
        StageMode::Destroy => "destroy",
        StageMode::RefreshOnly => "refresh only",
    }
}

/// Renders a deploy of the history.
pub fn deploy_summary(state: &State, d: &DeploySummary) -> Doc {
    let mut doc = Doc::new();
    let (symbol, role) = outcome_role(d.outcome);
    doc.push(vec![
        span(Role::Strong, format!("deploy #{}  ", d.deploy)),
        span(role, format!("{symbol} {}", d.outcome.label())),
    ]);
    doc.push(Line::new());
    push_pair(
        &mut doc,
        "stage",
        format!("#{} ({})", d.stage, mode(d.mode)),
    );
    push_pair(&mut doc, "started", date(d.began, state.utc_offset));
    if let Some(e) = d.ended {
        push_pair(
            &mut doc,
            "took",
            duration(u64::try_from(e - d.began).unwrap_or(0)),
        );
    }
    push_pair(&mut doc, "by", format!("{} on {}", d.who, d.host));
    push_pair(
        &mut doc,
        "config",
        // A prefix is enough to compare the configurations of two deploys.
        d.config_digest.get(..16).unwrap_or(&d.config_digest),
    );
    let changes = counts(&d.counts);
    if !changes.is_empty() {
        let mut l = vec![span(Role::Dim, format!("{:<12} ", "changes"))];
        l.extend(changes);
        doc.push(l);
    }
    doc.extend(ended(&d.operations));
    doc.push(Line::new());
    doc.push(vec![
        span(Role::Key, "enter"),
        span(Role::Dim, " replays the deploy"),
    ]);
    doc
}

/// Counts the operations by their outcome; `None` if none has ended.
fn ended(o: &OperationCounts) -> Option<Line> {
    let mut l = vec![span(Role::Dim, format!("{:<12} ", "operations"))];
    for (n, role, word) in [
        (o.done, Role::Plain, "done"),
        (o.failed, Role::Bad, "failed"),
        (o.half_replaced, Role::Bad, "half replaced"),
        (o.unknown, Role::Warn, "unknown"),
        (o.not_attempted, Role::Warn, "not attempted"),
    ] {
        if n > 0 {
            let gap = if l.len() > 1 { ", " } else { "" };
            l.push(span(role, format!("{gap}{n} {word}")));
        }
    }
    (l.len() > 1).then_some(l)
}

/// Renders a group of similar failures: their number, times and the outcome of later attempts.
pub fn failure_group(state: &State, g: &FailureGroup) -> Doc {
    let mut doc = Doc::new();
    doc.push(vec![
        span(Role::Bad, format!("{}: ", g.class.label())),
        span(Role::Strong, &g.summary),
    ]);
    push_text(&mut doc, Role::Plain, "  ", &g.detail);
    doc.push(Line::new());
    push_pair(
        &mut doc,
        "seen",
        format!(
            "{}, first {}, last {}",
            count(g.count as usize, "time"),
            date(g.first, state.utc_offset),
            date(g.last, state.utc_offset)
        ),
    );
    if let Some(p) = &g.plugin {
        push_pair(&mut doc, "plugin", &p.0);
    }
    push_pair(&mut doc, "resources", g.addresses.join(", "));
    push_pair(
        &mut doc,
        "deploys",
        g.deploys
            .iter()
            .map(|d| format!("#{d}"))
            .collect::<Vec<_>>()
            .join(" "),
    );
    push_pair(
        &mut doc,
        "followed by",
        g.followed_by.as_deref().unwrap_or("no later attempt"),
    );
    last_lines(
        state,
        &mut doc,
        g.plugin.as_ref(),
        (&g.last_lines, &g.last_lines_at),
    );
    doc
}
