//! Details of a deploy in the history, and of groups of failures.

use super::operation::last_lines;
use super::{Doc, Line, Role, line, push_pair, push_text, span};
use crate::app::format::{count, date, duration};
use crate::app::state::State;
use model::FailureGroup;
use model::{Counts, DeployOutcome, DeploySummary, StageMode};

/// Renders counts as `+3 ~1 -/+1 -0` in the colours of the actions.
pub fn counts(c: &Counts) -> Line {
    let mut l = vec![
        span(
            if c.create > 0 {
                Role::Create
            } else {
                Role::Dim
            },
            format!("+{} ", c.create),
        ),
        span(
            if c.update > 0 {
                Role::Update
            } else {
                Role::Dim
            },
            format!("~{} ", c.update),
        ),
        span(
            if c.replace > 0 {
                Role::Destroy
            } else {
                Role::Dim
            },
            format!("-/+{} ", c.replace),
        ),
        span(
            if c.destroy > 0 {
                Role::Destroy
            } else {
                Role::Dim
            },
            format!("-{}", c.destroy),
        ),
    ];
    // Rare actions take no space unless they occur.
    if c.read > 0 {
        l.push(span(Role::Read, format!(" <={}", c.read)));
    }
    if c.forget > 0 {
        l.push(span(Role::Forget, format!(" ×{}", c.forget)));
    }
    l
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
    let mut l = vec![span(Role::Dim, format!("{:<12} ", "changes"))];
    l.extend(counts(&d.counts));
    doc.push(l);
    let o = d.operations;
    push_pair(
        &mut doc,
        "operations",
        format!(
            "{} done, {} failed, {} not attempted",
            o.done, o.failed, o.not_attempted
        ),
    );
    // Rare outcomes are listed only if they occurred.
    if o.half_replaced > 0 {
        doc.push(line(
            Role::Bad,
            format!(
                "{:<13}{}",
                "",
                count(o.half_replaced as usize, "replacement") + " incomplete"
            ),
        ));
    }
    if o.unknown > 0 {
        doc.push(line(
            Role::Warn,
            format!(
                "{:<13}{}",
                "",
                count(o.unknown as usize, "outcome") + " unknown"
            ),
        ));
    }
    doc.push(Line::new());
    doc.push(vec![
        span(Role::Key, "enter"),
        span(Role::Dim, " replays the deploy"),
    ]);
    doc
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
