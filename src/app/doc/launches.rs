//! Launches of a plugin: the reason of a failure, the phases of the newest launch, and the earlier
//! launches; then the resources and the last calls of the plugin.

use super::plugin::processes;
use super::{
    Doc, Line, Role, beside, finished_line, line, maximum, push_heading, push_text, span, sparkline,
};
use crate::app::command::named;
use crate::app::format::{aligned, bytes, clock, count, duration, elapsed, until};
use crate::app::layout;
use crate::app::screens::push_keys;
use crate::app::state::State;
use crate::app::unsettled::resources_of;
use model::view::PluginView;
use model::{LaunchAttempt, NO_TRANSFORMERS, PhaseName, PluginState, VerdictKind};

/// Maximum number of output lines below the reason of a failure.
const MAX_OUTPUT_LINES: usize = 16;
/// Maximum number of resources, and of calls.
const LISTED: usize = 8;
/// Seconds of a cell of the usage, and number of its cells.
const USAGE: (usize, usize) = (5, 24);
/// Width of the bars of the phases.
const BAR_CELLS: u64 = 48;

/// Describes the launch after a failed attempt.
pub(super) fn next_launch(attempt: u32, limit: u32, in_ms: i64) -> String {
    format!("launch {} of {limit} {}", attempt + 1, until(in_ms))
}

/// Renders all launches of a plugin, the newest first.
pub fn launches(state: &State, p: &PluginView) -> Doc {
    let mut doc = Doc::new();
    if p.is_transformer() {
        let text = format!("{}; {NO_TRANSFORMERS}", p.transforms());
        push_text(&mut doc, Role::Dim, "", &text);
    }
    for text in processes(state, p) {
        push_text(&mut doc, Role::Warn, "", &text);
    }
    if p.attempts.is_empty() {
        doc.extend(never_launched(p));
    }
    push_reason(p, &mut doc);
    if let PluginState::Backoff {
        until: at,
        attempt,
        limit,
        ..
    } = &p.state
    {
        let text = next_launch(*attempt, *limit, at - state.now);
        let text = format!("{text}, by itself: nothing to do yet");
        doc.push(line(Role::Busy, text));
    }
    let mut next = Doc::new();
    push_next(state, p, &mut next);
    let mut doc = beside(doc, next, layout::detail_size(state).0);
    push_usage(state, p, &mut doc);
    if let Some(newest) = p.attempts.back() {
        if !doc.is_empty() {
            doc.push(Line::new());
        }
        doc.push(headline(state, newest));
        doc.extend(phases(state, newest));
    }
    push_earlier(state, p, &mut doc);
    push_resources(state, p, &mut doc);
    push_calls(state, p, &mut doc);
    push_source(p, &mut doc);
    doc
}

/// Appends the memory and the durations of calls of the last minutes, if there are any.
fn push_usage(state: &State, p: &PluginView, doc: &mut Doc) {
    let Some(samples) = state.samples.by_plugin.get(&p.id) else {
        return;
    };
    let mut lines = Doc::new();
    for (name, samples, format) in [
        ("memory", &samples.memory, bytes as fn(u64) -> String),
        ("calls, p95", &samples.p95_ms, duration),
    ] {
        let chart = sparkline(Role::Ok, samples, USAGE, maximum);
        let newest = samples.iter().rev().take(USAGE.0 * USAGE.1);
        // 0 is a second without a process or without calls.
        let known = newest.copied().filter(|n| *n > 0);
        let Some(least) = known.clone().min() else {
            continue;
        };
        let range = match known.max().unwrap_or(least) {
            most if format(most) == format(least) => format(most),
            most => format!("{} to {}", format(least), format(most)),
        };
        let mut l = vec![span(Role::Plain, format!("  {name:<10}  "))];
        l.extend(chart);
        l.push(span(Role::Plain, format!("  {range}")));
        lines.push(l);
    }
    if !lines.is_empty() {
        let seconds = USAGE.0 * USAGE.1;
        push_heading(doc, format!("usage in the last {seconds} s"));
        doc.extend(lines);
    }
}

/// Explains why there is no launch.
fn never_launched(p: &PluginView) -> Doc {
    let mut doc = Doc::new();
    match p.state.unavailable_reason() {
        Some(why) => push_text(&mut doc, super::status(&p.state).2, "", why),
        None if p.is_builtin() => {
            let text = "part of flightdeck: needs no process and is never launched";
            doc.push(line(Role::Dim, text));
        }
        None => {
            let when = match p.is_transformer() {
                true => "with the console",
                false => "when needed",
            };
            let text = format!("not launched yet: starts {when}, or press s");
            doc.push(line(Role::Dim, text));
        }
    }
    doc
}

/// Output line that names the cause of a failed launch: a panic, otherwise the last line.
pub fn cause(a: &LaunchAttempt) -> Option<&str> {
    a.verdict.as_ref().filter(|v| v.kind.is_failed())?;
    let panic = a.last_lines.iter().find(|l| l.starts_with("panic:"));
    panic.or(a.last_lines.last()).map(String::as_str)
}

/// Reason of a failed launch, without the output line that is shown beside it, and without the
/// command that shows all lines outside of the console.
fn reason(a: &LaunchAttempt) -> Option<String> {
    let verdict = a.verdict.as_ref().filter(|v| v.kind.is_failed())?;
    let text = verdict
        .text
        .replace(" (run `flightdeck logs` for all lines)", "");
    Some(match cause(a) {
        Some(cause) => text.replace(&format!("; last output: {cause}"), ""),
        None => text,
    })
}

/// Appends the reason of the newest failed launch, and the output around it.
fn push_reason(p: &PluginView, doc: &mut Doc) {
    let Some(newest) = p.attempts.back() else {
        return;
    };
    let Some(reason) = reason(newest) else { return };
    let cause = cause(newest);
    push_text(doc, Role::Bad, "", cause.unwrap_or(&reason));
    let lines = &newest.last_lines;
    let from = lines.len().saturating_sub(MAX_OUTPUT_LINES);
    let others = lines[from..].iter().map(String::as_str);
    for l in others.filter(|l| Some(*l) != cause && !l.trim().is_empty()) {
        push_text(doc, Role::Dim, "│ ", l);
    }
    if cause.is_some() {
        push_text(doc, Role::Plain, "", &reason);
    }
}

/// Keys for a failed plugin, with their effects.
const NEXT: &[(&str, &str)] = &[
    ("plugin-logs", "shows its log"),
    ("plugin-restart", "starts it again"),
    ("incidents", "lists all failures"),
];

/// Lists the keys that help with a failed plugin.
fn push_next(state: &State, p: &PluginView, doc: &mut Doc) {
    if !p.state.is_failed() {
        return;
    }
    push_heading(doc, "next");
    let keys = &state.options.keys;
    let usable = |name: &str| named(name).is_some_and(|c| (c.when)(state).is_ok());
    for (name, effect) in NEXT.iter().filter(|(name, _)| usable(name)) {
        push_keys(doc, &[(&keys.first(name), effect)]);
    }
}

/// Renders number, time, result and process of a launch.
fn headline(state: &State, a: &LaunchAttempt) -> Line {
    let mut l = vec![
        span(Role::Strong, format!("launch {} of {}", a.number, a.limit)),
        span(
            Role::Dim,
            format!("  {}  ", clock(a.began, state.utc_offset)),
        ),
    ];
    l.extend(result(state, a, &duration(took(a))));
    if let Some(pid) = a.pid {
        l.push(span(Role::Dim, format!("  pid {pid}")));
    }
    if a.beside {
        l.push(span(Role::Dim, "  launched beside the serving process"));
    }
    // The operator need not wait for another launch.
    let verdict = a.verdict.as_ref();
    if verdict.is_some_and(|v| v.kind.is_failed() && !v.retryable) {
        l.push(span(
            Role::Dim,
            "  not retried: another launch would fail too",
        ));
    }
    l
}

/// Milliseconds from the start of a launch to its result, or to its last phase.
fn took(a: &LaunchAttempt) -> u64 {
    let last = a.phases.last().map_or(0, |phase| phase.at_ms);
    a.took_ms.unwrap_or(last)
}

/// Renders the result of a launch after a duration, or its current step.
fn result(state: &State, a: &LaunchAttempt, took: &str) -> Line {
    match a.verdict.as_ref().map(|v| &v.kind) {
        Some(VerdictKind::Ready) => line(Role::Ok, format!("✓ ready after {took}")),
        Some(VerdictKind::Stopped) => line(Role::Dim, "stopped"),
        Some(VerdictKind::Failed(word)) => {
            let word = word.replace('_', " ");
            let how = match (a.exit_code, a.signal) {
                (Some(code), _) if word == "exited" => format!("exit code {code}"),
                (Some(code), _) => format!("{word} with exit code {code}"),
                (_, Some(signal)) => format!("{word} by signal {signal}"),
                _ => word,
            };
            // The row and the reason have the colour of a failure.
            line(Role::Plain, format!("✗ {how} after {took}"))
        }
        Some(VerdictKind::Running) | None => {
            let idle = if a.phases.is_empty() {
                "starting"
            } else {
                "in use"
            };
            let doing = a.doing.as_deref().unwrap_or(idle);
            let since = elapsed(state.now - a.began);
            let limit = duration(a.deadline_ms);
            line(Role::Busy, format!("◐ {doing}, {since} of {limit}"))
        }
    }
}

/// Event that ends a phase.
fn phase_text(name: &PhaseName) -> String {
    if *name == PhaseName::EXEC {
        "process started".to_owned()
    } else if *name == PhaseName::FIRST_OUTPUT {
        "first output".to_owned()
    } else if *name == PhaseName::SCHEMA {
        "schema read".to_owned()
    } else {
        name.label()
    }
}

/// Renders the phases of a launch as bars below each other: name, duration, and its place in the
/// whole.
fn phases(state: &State, a: &LaunchAttempt) -> Doc {
    let mut all: Vec<(String, u64, Role)> = a
        .phases
        .iter()
        .map(|phase| (phase_text(&phase.name), phase.at_ms, Role::Busy))
        .collect();
    let last = all.last().map_or(0, |phase| phase.1);
    match a.verdict.as_ref().map(|v| &v.kind) {
        Some(VerdictKind::Failed(word)) => {
            all.push((word.replace('_', " "), took(a).max(last), Role::Plain));
        }
        // A started process is in use without a verdict of its own.
        None if a.doing.is_some() => {
            let now = u64::try_from(state.now - a.began).unwrap_or(0);
            all.push(("now".to_owned(), now.max(last), Role::Dim));
        }
        _ => {}
    }
    let total = all.last().map_or(0, |phase| phase.1).max(1);
    let name = all.iter().map(|(name, ..)| name.chars().count()).max();
    let mut begin = 0;
    let mut doc = Doc::new();
    for (text, end, role) in &all {
        // Times count from the start of the launch.
        let cell = |ms: u64| ms * BAR_CELLS / total;
        let from = cell(begin).min(BAR_CELLS - 1);
        let cells = cell(*end).saturating_sub(from).max(1);
        let bar = "━".repeat(usize::try_from(cells).unwrap_or(1));
        let took = aligned(duration(end.saturating_sub(begin)));
        let gap = " ".repeat(usize::try_from(from).unwrap_or(0));
        doc.push(vec![
            span(
                Role::Dim,
                format!("  {text:<width$} {took:>7}  ", width = name.unwrap_or(0)),
            ),
            span(*role, gap + &bar),
        ]);
        begin = *end;
    }
    doc
}

/// Appends the launches before the newest one; equal ones are one row.
fn push_earlier(state: &State, p: &PluginView, doc: &mut Doc) {
    let mut above = p.attempts.back();
    if p.attempts.len() > 1 {
        push_heading(doc, "earlier launches");
    }
    let mut earlier: Vec<&LaunchAttempt> = p.attempts.iter().rev().skip(1).collect();
    while let Some(first) = earlier.first().copied() {
        let same = |pair: &[&LaunchAttempt]| is_next(pair[0], pair[1]);
        let n = 1 + earlier.windows(2).take_while(|pair| same(pair)).count();
        let group: Vec<&LaunchAttempt> = earlier.drain(..n).collect();
        let is_repeated = above.is_some_and(|above| is_equal(above, first));
        doc.push(earlier_line(state, &group, is_repeated));
        above = group.last().copied();
    }
}

/// Returns true if two launches have failed for the same reason.
fn is_equal(a: &LaunchAttempt, b: &LaunchAttempt) -> bool {
    let reason = |a: &LaunchAttempt| (reason(a), cause(a).map(str::to_owned));
    reason(a) == reason(b) && reason(a).0.is_some()
}

/// Returns true if `earlier` is the launch before, and has failed for the same reason.
fn is_next(later: &LaunchAttempt, earlier: &LaunchAttempt) -> bool {
    earlier.number + 1 == later.number && is_equal(later, earlier)
}

/// Renders equal launches, the newest first, in one line.
fn earlier_line(state: &State, group: &[&LaunchAttempt], is_repeated: bool) -> Line {
    let (first, last) = (group[0], group[group.len() - 1]);
    let numbers = match group.len() {
        1 => format!("  {} of {}", first.number, first.limit),
        _ => format!("  {} to {} of {}", last.number, first.number, first.limit),
    };
    let from = if group.len() > 1 { "from " } else { "" };
    let began = clock(last.began, state.utc_offset);
    let mut l = vec![
        span(Role::Plain, numbers),
        span(Role::Dim, format!("  {from}{began}  ")),
    ];
    let times = || group.iter().map(|a| took(a));
    let least = duration(times().min().unwrap_or(0));
    let most = duration(times().max().unwrap_or(0));
    let took = match least == most {
        true => least,
        false => format!("{least} to {most}"),
    };
    l.extend(result(state, first, &took));
    if is_repeated {
        l.push(span(Role::Dim, "  same reason"));
    } else if let Some(cause) = cause(first) {
        l.push(span(Role::Dim, format!("  {cause}")));
    } else if let Some(reason) = reason(first) {
        l.push(span(Role::Dim, format!("  {reason}")));
    }
    l
}

/// Lists the resources of the stage and the state that use the plugin.
fn push_resources(state: &State, p: &PluginView, doc: &mut Doc) {
    let address = p.found.as_ref().map_or("", |f| f.address.as_str());
    if address.is_empty() {
        return;
    }
    let all = resources_of(state, address);
    if all.is_empty() {
        return;
    }
    push_heading(doc, format!("used by {}", count(all.len(), "resource")));
    doc.extend(
        all.iter()
            .take(LISTED)
            .map(|a| line(Role::Plain, format!("  {a}"))),
    );
    if all.len() > LISTED {
        let more = all.len() - LISTED;
        doc.push(line(Role::Dim, format!("  +{more} more")));
    }
}

/// Appends version, dialect and place; the pane `about` has the file, too.
fn push_source(p: &PluginView, doc: &mut Doc) {
    let Some(f) = p.found.as_ref().filter(|_| !p.is_builtin()) else {
        return;
    };
    push_heading(doc, "source");
    for (name, value) in [
        ("address", Some(&f.address)),
        ("version", f.version.as_ref()),
        ("dialect", f.dialect.as_ref()),
        ("found in", Some(&f.source)),
    ] {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            doc.push(vec![
                span(Role::Dim, format!("  {name:<11} ")),
                span(Role::Plain, value),
            ]);
        }
    }
}

/// Lists the last calls of the plugin, newest first.
fn push_calls(state: &State, p: &PluginView, doc: &mut Doc) {
    let calls = state.view.finished.iter().rev();
    let calls: Vec<_> = calls
        .filter(|f| f.end.plugin == p.id)
        .take(LISTED)
        .collect();
    if calls.is_empty() {
        return;
    }
    push_heading(doc, "last calls");
    for f in calls {
        let mut l = finished_line(state, f);
        let resource = f.end.resource.as_deref();
        l.extend(resource.map(|r| span(Role::Dim, format!("  {r}"))));
        doc.push(l);
    }
}
