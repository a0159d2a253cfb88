//! Details of a deploy in the history, and of groups of failures.

use super::operation::{last_lines, list_dependents, operation_sign};
use super::{
    Doc, Line, Role, address, cells_of, counts, mode, omittable, outcome_role, push_heading,
    push_pair, push_text, span,
};
use crate::app::format::{aligned, count, date_s, duration};
use crate::app::layout;
use crate::app::screens::push_keys;
use crate::app::state::State;
use crate::app::text::width;
use model::{
    DeployId, DeployOutcome, DeploySummary, FailureGroup, Operation, OperationCounts, PluginId,
    StageMode,
};
use std::collections::BTreeMap;

/// First line of a deploy.
pub fn deploy_head(d: &DeploySummary) -> Line {
    let (symbol, role) = outcome_role(d.outcome);
    vec![
        span(Role::Strong, format!("deploy #{}  ", d.deploy)),
        span(role, format!("{symbol} {}", d.outcome.label())),
    ]
}

/// Digest of the configuration of a deploy, with the newest deploy before it that had the same one.
fn configuration(state: &State, d: &DeploySummary) -> String {
    // A prefix is enough to compare the configurations of two deploys.
    let digest = d.config_digest.get(..16).unwrap_or(&d.config_digest);
    let known = state.loaded.history.iter().flatten();
    let same =
        known.filter(|other| other.deploy < d.deploy && other.config_digest == d.config_digest);
    match same.map(|other| other.deploy).max() {
        Some(deploy) => format!("{digest}, as in deploy #{deploy}"),
        None => digest.to_owned(),
    }
}

/// Renders a deploy of the history.
pub fn deploy_summary(state: &State, d: &DeploySummary) -> Doc {
    let mut doc = Doc::new();
    let started = date_s(d.began, state.utc_offset);
    let took = d.ended.map(|e| u64::try_from(e - d.began).unwrap_or(0));
    let took = took.map_or_else(String::new, |ms| format!(", took {}", duration(ms)));
    push_pair(&mut doc, "started", format!("{started}{took}"));
    push_pair(&mut doc, "by", format!("{} on {}", d.who, d.host));
    let stage = match d.mode {
        StageMode::Normal => format!("#{}", d.stage),
        other => format!("#{}, {}", d.stage, mode(other)),
    };
    push_pair(&mut doc, "stage", stage);
    push_pair(&mut doc, "config", configuration(state, d));
    let changes = counts(&d.counts);
    if !changes.is_empty() {
        let mut l = vec![span(Role::Dim, format!("{:<12} ", "changes"))];
        l.extend(changes);
        doc.push(l);
    }
    doc.extend(ended(&operations_now(state, d), d.outcome));
    let plugins = plugins_used(state, d);
    if !plugins.is_empty() {
        push_pair(&mut doc, "plugins", plugins);
    }
    let failures: Vec<&FailureGroup> = failures_of(state, d).collect();
    if !failures.is_empty() {
        push_heading(&mut doc, "failures");
        for g in failures {
            let mut l = vec![span(Role::Plain, "  ")];
            l.extend(failure_head(g));
            doc.push(l);
            let addresses = failed_with(state, d, g);
            push_text(&mut doc, Role::Dim, "    ", &addresses.join(", "));
        }
    }
    push_timeline(state, d, TIMED, &mut doc);
    push_deploys(state, &mut doc, "durations", Some(d.deploy));
    push_heading(&mut doc, "next");
    push_keys(
        &mut doc,
        &[
            ("enter", "shows the operations of this deploy, step by step"),
            ("v", "shows the failures of all deploys"),
            ("o", "saves the deploy as JSON"),
            ("b", "stages the configuration of this deploy; asks first"),
        ],
    );
    doc
}

/// Resources of a group of failures that failed in a deploy; all of the group until the operations
/// of the deploy are loaded.
pub fn failed_with<'s>(state: &'s State, d: &DeploySummary, g: &'s FailureGroup) -> Vec<&'s str> {
    let all = state.operations_of(d.deploy).unwrap_or_default().iter();
    let its = |o: &&Operation| matches!(&o.failure, Some(f) if f.fingerprint == g.fingerprint);
    let found: Vec<&str> = all.filter(its).map(|o| o.address.as_str()).collect();
    match found.is_empty() {
        true => g.addresses.iter().map(String::as_str).collect(),
        false => found,
    }
}

/// Names the plugins of a deploy with their numbers of attempted operations, most first.
fn plugins_used(state: &State, d: &DeploySummary) -> String {
    let mut used: BTreeMap<&PluginId, usize> = BTreeMap::new();
    let all = state.operations_of(d.deploy).unwrap_or_default().iter();
    let attempted = all.filter(|o| o.began.is_some());
    for plugin in attempted.filter_map(|o| o.plugin.as_ref()) {
        *used.entry(plugin).or_default() += 1;
    }
    let mut used: Vec<_> = used.into_iter().collect();
    used.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let named = used.iter().map(|(plugin, n)| format!("{plugin} ({n})"));
    named.collect::<Vec<_>>().join(", ")
}

/// Maximum number of operations on the time axis of a deploy.
const TIMED: usize = 12;

/// Most cells of the time axis.
const AXIS_CELLS: usize = 72;

/// Draws the failed and the longest operations of a deploy, `most` of them, as bars on a time axis
/// in the order of their starts, if its operations are loaded.
fn push_timeline(state: &State, d: &DeploySummary, most: usize, doc: &mut Doc) {
    let all = state.operations_of(d.deploy).unwrap_or_default().iter();
    let timed = all.filter_map(|o| Some((o, o.began? - d.began, i64::try_from(o.took_ms?).ok()?)));
    let mut timed: Vec<(&Operation, i64, i64)> = timed.collect();
    if timed.len() < 2 {
        return;
    }
    let all = timed.len();
    timed.sort_by_key(|(o, _, took)| std::cmp::Reverse((o.failure.is_some(), *took)));
    timed.truncate(most);
    timed.sort_by_key(|(_, from, _)| *from);
    let name = timed.iter().map(|(o, ..)| width(&o.address)).max();
    let name = name.unwrap_or(0);
    let last = timed.iter().map(|(_, from, took)| from + took).max();
    let whole = d.ended.map_or(last, |ended| Some(ended - d.began));
    let whole = whole.unwrap_or(0).max(last.unwrap_or(0)).max(1);
    // Sign, gaps and duration stand before the axis.
    let room = layout::detail_size(state).0.saturating_sub(name + 17);
    let axis = room.clamp(BAR_CELLS, AXIS_CELLS);
    let heading = match all {
        all if all > most => format!("timeline of #{} ({most} of {all})", d.deploy),
        _ => format!("timeline of #{}", d.deploy),
    };
    push_heading(doc, &heading);
    let end = duration(u64::try_from(whole).unwrap_or(0));
    let ticks = format!("0 s{end:>0$}", axis - 3);
    if let Some(heading) = doc.last_mut() {
        let gap = (name + 15).saturating_sub(cells_of(heading));
        heading.push(omittable(Role::Dim, format!("{}{ticks}", " ".repeat(gap))));
    }
    let cell = |ms: i64| usize::try_from(ms * axis as i64 / whole).unwrap_or(0);
    doc.extend(timed.into_iter().map(|(o, from, took)| {
        let (sign, role) = operation_sign(o.state);
        let gap = " ".repeat(name.saturating_sub(width(&o.address)));
        let first = cell(from).min(axis - 1);
        let bar = "━".repeat((cell(from + took).max(first + 1)) - first);
        let took = aligned(duration(o.took_ms.unwrap_or(0)));
        vec![
            span(role, format!("  {sign} ")),
            span(Role::Plain, format!("{}{gap}  ", o.address)),
            span(Role::Plain, format!("{took:>7}  ")),
            omittable(role, format!("{}{bar}", " ".repeat(first))),
        ]
    }));
}

/// Draws a duration relative to the longest one.
fn duration_bar(ms: u64, longest: u64) -> String {
    let cells = usize::try_from(ms * BAR_CELLS as u64 / longest.max(1)).unwrap_or(0);
    "━".repeat(cells.max(1))
}

/// Maximum number of deploys in a list.
const LISTED: usize = 8;
/// Cells of the bar of a duration.
const BAR_CELLS: usize = 24;

/// Lists deploys of the history with their durations below a heading, newest first, up to a marked
/// one if there is one. A single deploy has nothing to compare with.
pub fn push_deploys(state: &State, doc: &mut Doc, heading: &str, marked: Option<DeployId>) {
    let all: Vec<&DeploySummary> = state.loaded.history.iter().flatten().collect();
    let at = all.iter().position(|d| Some(d.deploy) == marked);
    let from = (at.unwrap_or(0) + 1).saturating_sub(LISTED);
    let shown = &all[from..(from + LISTED).min(all.len())];
    if shown.len() < 2 {
        return;
    }
    push_heading(doc, heading);
    let took = |d: &DeploySummary| d.ended.map(|e| u64::try_from(e - d.began).unwrap_or(0));
    let longest = shown
        .iter()
        .filter_map(|d| took(d))
        .max()
        .unwrap_or(0)
        .max(1);
    let number = shown.iter().map(|d| d.deploy.to_string().len()).max();
    doc.extend(shown.iter().map(|d| {
        let (sign, role) = outcome_role(d.outcome);
        let name = match Some(d.deploy) == marked {
            true => Role::Strong,
            false => Role::Plain,
        };
        let gap = number.unwrap_or(0);
        let ms = took(d);
        let bar = duration_bar(ms.unwrap_or(0), longest);
        // As in the column of the list of deploys.
        let when = date_s(d.began, state.utc_offset);
        vec![
            span(name, format!("  #{:<gap$}  ", d.deploy)),
            span(role, format!("{sign} {:<11}  ", d.outcome.label())),
            span(
                Role::Plain,
                format!("{:>7}  ", aligned(ms.map_or_else(String::new, duration))),
            ),
            span(
                role,
                format!(
                    "{bar}{}  ",
                    " ".repeat(BAR_CELLS.saturating_sub(width(&bar)))
                ),
            ),
            span(Role::Dim, when),
        ]
    }));
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

/// Counts of the operations of a deploy, up to now if it runs in this console.
pub fn operations_now(state: &State, d: &DeploySummary) -> OperationCounts {
    let view = state.view.deploy.as_ref();
    match view.filter(|v| v.deploy == d.deploy && v.summary.is_none()) {
        Some(running) => OperationCounts::of(&running.operations),
        None => d.operations,
    }
}

/// Counts the operations by their outcome; `None` if none has ended.
fn ended(o: &OperationCounts, outcome: DeployOutcome) -> Option<Line> {
    let rest = match outcome {
        DeployOutcome::Running => (Role::Plain, "to do"),
        _ => (Role::Warn, "not attempted"),
    };
    let mut l = vec![span(Role::Dim, format!("{:<12} ", "operations"))];
    for (n, role, word) in [
        (o.done, Role::Plain, "done"),
        (o.failed, Role::Bad, "failed"),
        (o.half_replaced, Role::Bad, "half replaced"),
        (o.unknown, Role::Warn, "unknown"),
        (o.not_attempted, rest.0, rest.1),
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
    let role = if g.solved_in.is_some() {
        Role::Dim
    } else {
        Role::Bad
    };
    vec![
        span(role, format!("{}: ", g.class.label())),
        span(Role::Strong, &g.summary),
    ]
}

/// Status of a group of failures. Empty if no failure has a resource whose later outcome tells.
pub fn failure_status(g: &FailureGroup) -> Line {
    match g.solved_in {
        Some(deploy) => vec![span(Role::Ok, format!("✓ solved in #{deploy}"))],
        None if g.addresses.is_empty() => Line::new(),
        None => vec![span(Role::Warn, "open")],
    }
}

/// Lists the newest failures of a group: time, deploy, operation, duration, and what followed.
fn push_newest(state: &State, g: &FailureGroup, doc: &mut Doc) {
    // The list has the only one already.
    if g.newest.len() < 2 {
        return;
    }
    push_heading(doc, "newest failures");
    for f in &g.newest {
        let when = date_s(f.at, state.utc_offset);
        let took = aligned(f.took_ms.map_or_else(String::new, duration));
        let action = f.action.map_or("", |action| action.operation_word());
        let (next, role) = match f.next {
            Some((deploy, state)) => {
                let (sign, role) = operation_sign(state);
                (format!("{sign} {} in #{deploy}", state.label()), role)
            }
            None if f.address.is_some() => ("not retried".to_owned(), Role::Dim),
            None => (String::new(), Role::Dim),
        };
        doc.push(vec![
            span(Role::Dim, format!("  {when}  ")),
            span(Role::Plain, format!("#{:<3} {took:>7}  ", f.deploy)),
            span(role, format!("{next:<16}  ")),
            span(Role::Plain, format!("{action} ")),
            address(Role::Plain, f.address.as_deref().unwrap_or_default()),
        ]);
    }
}

/// Lists the operations that the newest failure of a group blocked, if those of its deploy are
/// loaded.
fn push_blocked(state: &State, g: &FailureGroup, doc: &mut Doc) {
    let newest = g.deploys.first();
    let all = newest.and_then(|deploy| state.operations_of(*deploy));
    let all = all.unwrap_or_default();
    let is_of = |o: &&Operation| matches!(&o.failure, Some(f) if f.fingerprint == g.fingerprint);
    if let Some(failed) = all.iter().find(is_of) {
        let deploy = newest.copied().unwrap_or_default();
        let heading = |n| format!("blocked {n} of deploy #{deploy}, which were");
        list_dependents(all, failed, heading, doc);
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
    let all_listed = g.newest.len() == g.count as usize;
    if g.count > 1 || !all_listed {
        let first = date_s(g.first, state.utc_offset);
        let last = date_s(g.last, state.utc_offset);
        let seen = count(g.count as usize, "time");
        push_pair(
            &mut doc,
            "seen",
            format!("{seen}, first {first}, last {last}"),
        );
    }
    if !all_listed {
        let deploys: Vec<String> = g.deploys.iter().map(|d| format!("#{d}")).collect();
        push_pair(&mut doc, "deploys", deploys.join(" "));
        if !g.addresses.is_empty() {
            push_pair(&mut doc, "resources", g.addresses.join(", "));
        }
    }
    if let Some(p) = &g.plugin {
        push_pair(&mut doc, "plugin", &p.0);
    }
    push_newest(state, g, &mut doc);
    push_blocked(state, g, &mut doc);
    last_lines(
        state,
        &mut doc,
        g.plugin.as_ref(),
        (&g.last_lines, &g.last_lines_at),
        // With several resources the lines may be about any of them.
        match g.addresses.as_slice() {
            [one] => Some(one),
            _ => None,
        },
    );
    let mut all = state.loaded.history.iter().flatten();
    if let Some(d) = all.find(|d| Some(&d.deploy) == g.deploys.first()) {
        push_timeline(state, d, TIMED / 2, &mut doc);
    }
    push_heading(&mut doc, "next");
    let keys: &[_] = match g.solved_in {
        Some(_) => &[("v", "shows the deploys")],
        None => &[
            (
                "4",
                "shows the last deploy; t there stages what is left of it",
            ),
            ("7", "shows the logs"),
            ("v", "shows the deploys"),
        ],
    };
    push_keys(&mut doc, keys);
    doc
}
