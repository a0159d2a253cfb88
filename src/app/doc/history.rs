//! Details of a deploy in the history, and of groups of failures.

use super::operation::last_lines;
use super::{
    Doc, Line, Role, counts, mode, outcome_role, push_heading, push_pair, push_text, span,
};
use crate::app::format::{count, date, duration};
use crate::app::state::State;
use model::{DeploySummary, FailureGroup, OperationCounts};

/// First line of a deploy.
pub fn deploy_head(d: &DeploySummary) -> Line {
    let (symbol, role) = outcome_role(d.outcome);
    vec![
        span(Role::Strong, format!("deploy #{}  ", d.deploy)),
        span(role, format!("{symbol} {}", d.outcome.label())),
    ]
}

/// Renders a deploy of the history.
pub fn deploy_summary(state: &State, d: &DeploySummary) -> Doc {
    let mut doc = Doc::new();
    let started = date(d.began, state.utc_offset);
    let took = d.ended.map(|e| u64::try_from(e - d.began).unwrap_or(0));
    let took = took.map_or_else(String::new, |ms| format!(", took {}", duration(ms)));
    push_pair(&mut doc, "started", format!("{started}{took}"));
    push_pair(&mut doc, "by", format!("{} on {}", d.who, d.host));
    push_pair(
        &mut doc,
        "stage",
        format!("#{} ({})", d.stage, mode(d.mode)),
    );
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
    let failures: Vec<&FailureGroup> = failures_of(state, d).collect();
    if !failures.is_empty() {
        push_heading(&mut doc, "failures");
        for g in failures {
            let mut l = vec![span(Role::Plain, "  ")];
            l.extend(failure_head(g));
            doc.push(l);
            push_text(&mut doc, Role::Dim, "    ", &g.addresses.join(", "));
        }
    }
    doc.push(Line::new());
    doc.push(vec![
        span(Role::Key, "enter"),
        span(Role::Dim, " shows how the deploy went; changes nothing"),
    ]);
    doc
}

/// Returns the loaded failures of a deploy.
pub fn failures_of<'s>(
    state: &'s State,
    d: &DeploySummary,
) -> impl Iterator<Item = &'s FailureGroup> {
    let deploy = d.deploy;
    let all = state.loaded.failures.iter().flatten();
    all.filter(move |g| g.deploys.contains(&deploy))
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

/// First line of a group of failures: its class and its reason.
pub fn failure_head(g: &FailureGroup) -> Line {
    vec![
        span(Role::Bad, format!("{}: ", g.class.label())),
        span(Role::Strong, &g.summary),
    ]
}

/// Status of a group of failures. Empty if no failure has a resource whose later outcome tells.
pub fn failure_status(g: &FailureGroup) -> Line {
    match g.solved_in {
        Some(deploy) => vec![span(Role::Ok, format!("✓ solved in deploy #{deploy}"))],
        None if g.addresses.is_empty() => Line::new(),
        None => vec![span(Role::Warn, "open")],
    }
}

/// Renders a group of similar failures: their number, times and the outcome since then.
pub fn failure_group(state: &State, g: &FailureGroup) -> Doc {
    let mut doc = Doc::new();
    push_text(&mut doc, Role::Plain, "", &g.detail);
    doc.push(Line::new());
    let mut status = failure_status(g);
    let later = match &g.followed_by {
        Some(text) => {
            // The status names that deploy.
            let deploy = g.solved_in.map(|d| format!(" in deploy {d}"));
            let text = deploy.map_or(text.clone(), |deploy| text.replace(&deploy, ""));
            format!("  ({text})")
        }
        None => "  (no later operation)".to_owned(),
    };
    if !status.is_empty() {
        status.insert(0, span(Role::Dim, format!("{:<12} ", "status")));
        status.push(span(Role::Plain, later));
        doc.push(status);
    }
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
    let deploys: Vec<String> = g.deploys.iter().map(|d| format!("#{d}")).collect();
    push_pair(&mut doc, "deploys", deploys.join(" "));
    if !g.addresses.is_empty() {
        push_pair(&mut doc, "resources", g.addresses.join(", "));
    }
    if let Some(p) = &g.plugin {
        push_pair(&mut doc, "plugin", &p.0);
    }
    last_lines(
        state,
        &mut doc,
        g.plugin.as_ref(),
        (&g.last_lines, &g.last_lines_at),
    );
    doc
}
