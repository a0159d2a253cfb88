//! Details of a plugin: source, processes, calls and log lines.

use super::{Doc, Role, line, log_text, push_heading, push_pair, push_text, span};
use crate::app::format::{clock, count, duration, elapsed};
use crate::app::state::State;
use model::view::PluginView;
use model::{
    DrainingProcess, LogLevel, NO_TRANSFORMERS, OrphanView, PluginFound, PluginState, Renewal,
};

/// Maximum number of log lines in a pane.
const LOG_LINES: usize = 300;

/// Describes a draining process in one line: `draining, pid 4711: 2 calls left, since 12s · …`.
fn draining_line(state: &State, l: &DrainingProcess) -> String {
    let pid = l.pid.map_or_else(String::new, |p| format!(", pid {p}"));
    let calls = usize::try_from(l.calls).unwrap_or(usize::MAX);
    let late = if l.overdue {
        ", overdue; the process ends after these calls"
    } else {
        ""
    };
    format!(
        "draining{pid}: {} left, since {}{late} · replaced: {}",
        count(calls, "call"),
        elapsed(state.now - l.since),
        l.why
    )
}

/// Describes an orphaned process in one line: its plugin and its identity.
pub fn orphan(state: &State, o: &OrphanView) -> String {
    format!(
        "{}: process {}, launched at {}, started {} ticks after boot, parent {}",
        o.plugin,
        o.pid,
        clock(o.launched, state.utc_offset),
        o.start_time,
        o.parent
    )
}

/// Describes the processes of a plugin, one line each: idle, renewal, and draining processes with
/// their remaining calls.
pub fn processes(state: &State, p: &PluginView) -> Vec<String> {
    let mut lines = Vec::new();
    if let PluginState::Idle { why } = &p.state {
        lines.push(format!("idle, {why}"));
    }
    lines.extend(p.renewal.as_ref().map(Renewal::text));
    if let Some(Renewal::Failed { next, .. }) = &p.renewal {
        let left = elapsed((next - state.now).max(0));
        lines.push(format!("next attempt in {left}"));
    }
    lines.extend(p.leaving.iter().map(|l| draining_line(state, l)));
    lines
}

/// Renders the source of the plugin, the reason for its choice, and its crashes.
pub fn found(state: &State, p: &PluginView) -> Doc {
    let mut doc = Doc::new();
    push_pair(&mut doc, "state", p.state.label());
    if let Some(why) = p.state.unavailable_reason() {
        push_text(&mut doc, super::status(&p.state).2, "             ", why);
    }
    if let PluginState::Backoff {
        until,
        attempt,
        limit,
        ..
    } = &p.state
    {
        push_pair(
            &mut doc,
            "next launch",
            format!(
                "in {} ({attempt} of {limit} made)",
                elapsed(until - state.now)
            ),
        );
    }
    if let Some(f) = &p.found {
        push_pair(&mut doc, "kind", f.kind.word());
        if p.is_transformer() {
            push_transformer(&mut doc, f);
        }
        for (title, text) in f.about.iter().flat_map(|about| about.parts()) {
            push_pair(&mut doc, title, text);
        }
        push_pair(&mut doc, "address", &f.address);
        push_pair(
            &mut doc,
            "version",
            f.version.as_deref().unwrap_or("unknown"),
        );
        push_pair(
            &mut doc,
            "dialect",
            f.dialect.as_deref().unwrap_or("known after the handshake"),
        );
        push_pair(
            &mut doc,
            "executable",
            f.executable.as_deref().unwrap_or("none"),
        );
        push_pair(&mut doc, "found in", &f.source);
        push_pair(&mut doc, "reason", &f.why);
    }
    // Newest first.
    for crash in p.crashes.iter().rev() {
        push_heading(
            &mut doc,
            format!(
                "crash {} at {}",
                crash.incident,
                clock(crash.at, state.utc_offset)
            ),
        );
        push_text(&mut doc, Role::Bad, "  ", &crash.text);
        for l in &crash.trace {
            push_text(&mut doc, Role::Dim, "  ", l);
        }
    }
    doc
}

/// Adds the transform's name, and the note that flightdeck does not run transformers.
fn push_transformer(doc: &mut Doc, found: &PluginFound) {
    let name = found.transform.as_deref();
    push_pair(doc, "transform", name.unwrap_or("not known yet"));
    push_pair(doc, "used by", format!("none: {NO_TRANSFORMERS}"));
}

/// Renders statistics of the last thousand calls of each method, then the running calls.
pub fn calls(state: &State, p: &PluginView) -> Doc {
    let mut doc = Doc::new();
    let head = format!(
        "{:<32} {:>7} {:>7} {:>9} {:>9} {:>9}",
        "METHOD", "CALLS", "ERRORS", "P50", "P95", "MAX"
    );
    let Some(stats) = state.view.latencies.get(&p.id) else {
        return vec![line(Role::Dim, "no calls yet")];
    };
    doc.push(line(Role::Dim, head));
    let nonzero = |n: u64| if n > 0 { n.to_string() } else { String::new() };
    for (method, l) in &stats.methods {
        let took = |ms| {
            // Durations are known only after a successful call.
            if l.is_known() {
                duration(ms)
            } else {
                String::new()
            }
        };
        doc.push(vec![
            span(Role::Plain, format!("{method:<32} {:>7} ", l.count)),
            span(Role::Bad, format!("{:>7} ", nonzero(l.errors))),
            span(
                Role::Plain,
                format!(
                    "{:>9} {:>9} {:>9}",
                    took(l.p50_ms),
                    took(l.p95_ms),
                    took(l.max_ms)
                ),
            ),
        ]);
    }
    let running: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|c| c.plugin == p.id)
        .collect();
    if !running.is_empty() {
        push_heading(&mut doc, "calls in progress");
        for c in running {
            let resource = c.resource.as_deref().unwrap_or("");
            let since = elapsed(state.now - c.started_at.unwrap_or(c.queued_at));
            let what = if c.started_at.is_some() {
                since
            } else {
                format!("waiting {since}")
            };
            doc.push(line(
                Role::Busy,
                format!("  {} {resource}  {what}", c.method),
            ));
        }
    }
    doc
}

/// Role of a log level.
pub fn level_role(level: LogLevel) -> Role {
    match level {
        LogLevel::Trace | LogLevel::Debug => Role::Dim,
        LogLevel::Info => Role::Plain,
        LogLevel::Warn => Role::Warn,
        LogLevel::Error => Role::Bad,
    }
}

/// Renders the last log lines, newest last.
pub fn logs(state: &State, p: &PluginView) -> Doc {
    let mut lines: Vec<_> = state
        .log
        .lines()
        .filter(|e| e.line.plugin == p.id)
        // The limit must keep the newest lines.
        .rev()
        .take(LOG_LINES)
        .collect();
    lines.reverse();
    if lines.is_empty() {
        return vec![line(Role::Dim, "no output yet")];
    }
    lines
        .into_iter()
        .map(|e| {
            let role = level_role(e.line.level);
            let level = if role == Role::Plain { Role::Dim } else { role };
            let time = clock(e.line.at, state.utc_offset);
            let mut l = vec![
                span(Role::Dim, format!("{time} ")),
                span(level, format!("{:<5} ", e.line.level.label())),
            ];
            l.extend(log_text(role, &e.line.text));
            l
        })
        .collect()
}
