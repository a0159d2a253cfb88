//! Details of a call: its state, blockers, locks and usual duration.

use super::operation_log::{LOGGED_OPERATIONS, Reported};
use super::{Doc, Line, Role, beside, line, push_heading, push_pair, push_text, span};
use crate::app::format::{aligned, clock, clock_ms, count, duration, elapsed};
use crate::app::layout;
use crate::app::state::State;
use model::view::{CallView, FinishedCall};
use model::{CallId, CallOutcome, Latency, ResourceLock};

/// Maximum number of calls in a list of a detail.
const LISTED: usize = 12;

/// Describes the state of a queued or running call: `◐ running for 5 s`.
pub fn open_state(state: &State, c: &CallView) -> Line {
    match c.started_at {
        Some(at) => {
            let since = elapsed(state.now - at);
            line(Role::Busy, format!("◐ running for {since}"))
        }
        None => {
            let since = elapsed(state.now - c.queued_at);
            line(Role::Warn, format!("· waiting for {since}"))
        }
    }
}

/// Describes the end of a call: `✓ ok after 0.9 s`.
pub fn finished_state(f: &FinishedCall) -> Line {
    let (sign, word, role) = outcome_sign(f.end.outcome);
    let took = duration(f.end.took_ms);
    line(role, format!("{sign} {word} after {took}"))
}

/// Renders a queued or running call.
pub fn call(state: &State, c: &CallView) -> Doc {
    let mut doc = Doc::new();
    if let Some(w) = &c.waits_for {
        push_pair(&mut doc, "waits for", w);
        if c.blocker.is_some() {
            doc.push(vec![
                span(Role::Plain, " ".repeat(13)),
                span(Role::Key, "b"),
                span(Role::Dim, " goes to the blocking call"),
            ]);
        }
    }
    push_open(state, c, &mut doc);
    list_locks(state, c, &mut doc);
    list_waiting_calls(state, c, &mut doc);
    let others = calls_of(state, c.resource.as_deref(), None);
    beside(doc, others, layout::detail_size(state).0)
}

/// Progress that the plugin of a running call reports; `None` if too many calls run to read the log
/// for each.
pub fn reported(state: &State, c: &CallView) -> Option<Reported> {
    if state.view.calls.len() > LOGGED_OPERATIONS {
        return None;
    }
    Reported::of(state, &c.plugin, c.resource.as_deref()?, c.started_at?)
}

/// Appends plugin, slot, times, and the usual duration of a call.
fn push_open(state: &State, c: &CallView, doc: &mut Doc) {
    let slot = c
        .slot
        .map_or_else(String::new, |slot| format!(", slot {slot} of {}", c.slots));
    push_pair(doc, "plugin", format!("{}{slot}", c.plugin));
    let sent = match c.started_at {
        Some(at) => {
            let waited = u64::try_from(at - c.queued_at).unwrap_or(0);
            let wait = match waited {
                0 => "without a wait".to_owned(),
                ms => format!("after {} in the queue", duration(ms)),
            };
            format!("{} {wait}", clock_ms(at, state.utc_offset))
        }
        None => format!(
            "not yet, queued at {}",
            clock_ms(c.queued_at, state.utc_offset)
        ),
    };
    push_pair(doc, "sent", sent);
    push_pair(
        doc,
        "usual",
        match c.usual.filter(Latency::is_known) {
            Some(u) => latency(&u),
            None => "no earlier call of this kind".to_owned(),
        },
    );
    if let Some(reported) = reported(state, c) {
        push_pair(doc, "reported", reported.text());
    }
    let deadline = match (c.deadline_ms, c.started_at) {
        (Some(ms), Some(at)) => {
            let end = at + i64::try_from(ms).unwrap_or(0);
            format!("{}, at {}", duration(ms), clock(end, state.utc_offset))
        }
        (Some(ms), None) => duration(ms),
        (None, _) => "none".to_owned(),
    };
    push_pair(doc, "deadline", deadline);
}

/// Lists the finished calls for a resource, newest first, except for one.
fn calls_of(state: &State, resource: Option<&str>, except: Option<CallId>) -> Doc {
    let mut doc = Doc::new();
    let Some(resource) = resource else { return doc };
    let its = |f: &&FinishedCall| {
        f.end.resource.as_deref() == Some(resource) && Some(f.end.call) != except
    };
    let all: Vec<&FinishedCall> = state.view.finished.iter().rev().filter(its).collect();
    if all.is_empty() {
        return doc;
    }
    push_heading(&mut doc, "other calls for this resource");
    doc.extend(
        all.into_iter()
            .take(LISTED)
            .map(|f| finished_line(state, f)),
    );
    doc
}

/// Renders a finished call in one line of a list.
pub fn finished_line(state: &State, f: &FinishedCall) -> Line {
    let (sign, word, role) = outcome_sign(f.end.outcome);
    let time = clock_ms(f.ended_at, state.utc_offset);
    let took = aligned(duration(f.end.took_ms));
    let mut l = vec![
        span(Role::Dim, format!("  {time}  ")),
        span(Role::Plain, format!("{:<24} ", f.end.method)),
        span(Role::Dim, format!("{took:>7}  ")),
        span(role, format!("{sign} {word}")),
    ];
    let error = f.end.error.as_deref();
    l.extend(error.map(|e| span(Role::Dim, format!("  {e}"))));
    l
}

/// Lists the resource locks that the plugin holds for this call.
fn list_locks(state: &State, c: &CallView, doc: &mut Doc) {
    let its = |l: &&ResourceLock| l.call == Some(c.call);
    let held: Vec<&ResourceLock> = state.view.locks.values().filter(its).collect();
    if held.is_empty() {
        return;
    }
    push_heading(doc, "locks held until the call ends");
    for l in held {
        let since = elapsed(state.now - l.since);
        let text = format!("lock on {:?} for {since}", l.name);
        push_text(doc, Role::Plain, "  ", &text);
        for waiter in &l.waiters {
            push_text(doc, Role::Warn, "    waiting: ", waiter);
        }
    }
}

/// Lists the calls that wait for this one.
fn list_waiting_calls(state: &State, c: &CallView, doc: &mut Doc) {
    let behind: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|o| o.blocker == Some(c.call))
        .collect();
    if !behind.is_empty() {
        push_heading(
            doc,
            format!("{} waiting for it", count(behind.len(), "call")),
        );
        for o in behind {
            doc.push(line(
                Role::Plain,
                format!("  {} {}", o.method, o.resource.as_deref().unwrap_or("")),
            ));
        }
    }
}

/// Renders a finished call.
pub fn finished(state: &State, f: &FinishedCall) -> Doc {
    let (mut doc, end) = (Doc::new(), &f.end);
    if let Some(e) = &end.error {
        push_text(&mut doc, Role::Bad, "", e);
    }
    if let Some(again) = &end.again {
        push_pair(&mut doc, "then", again.text(state.now));
    }
    match &f.open {
        Some(open) => push_open(state, open, &mut doc),
        None => push_pair(&mut doc, "plugin", &end.plugin.0),
    }
    push_pair(&mut doc, "ended", clock_ms(f.ended_at, state.utc_offset));
    let latencies = state.view.latencies.get(&end.plugin);
    if let Some(l) = latencies.and_then(|l| l.methods.get(&end.method))
        && l.is_known()
    {
        let text = method_durations(state, f, l);
        // Of all resources, unlike the usual duration.
        let what = format!("all {} of {}: {text}", end.method, end.plugin);
        push_pair(&mut doc, "statistics", what);
    }
    let others = calls_of(state, end.resource.as_deref(), Some(end.call));
    beside(doc, others, layout::detail_size(state).0)
}

/// Fewest successful calls that have a 95th percentile.
const FEWEST_FOR_PERCENTILES: u64 = 20;

/// Describes durations: percentiles, or median and maximum of few calls.
fn latency(l: &Latency) -> String {
    let calls = count(usize::try_from(l.count).unwrap_or(usize::MAX), "call");
    let (p50, max) = (duration(l.p50_ms), duration(l.max_ms));
    if l.count - l.errors < FEWEST_FOR_PERCENTILES {
        return format!("{calls}, median {p50}, max {max}");
    }
    let p95 = duration(l.p95_ms);
    format!("{calls}, p50 {p50}, p95 {p95}, max {max}")
}

/// Describes the durations of all calls of the method of a call. Few calls have their exact range
/// while each of them is on the Calls screen.
fn method_durations(state: &State, of: &FinishedCall, l: &Latency) -> String {
    let same = |f: &&FinishedCall| {
        let (a, b) = (&f.end, &of.end);
        a.plugin == b.plugin && a.method == b.method && a.outcome == CallOutcome::Ok
    };
    let took: Vec<u64> = state
        .view
        .finished
        .iter()
        .filter(same)
        .map(|f| f.end.took_ms)
        .collect();
    let good = l.count - l.errors;
    let (Some(least), Some(most)) = (took.iter().min(), took.iter().max()) else {
        return latency(l);
    };
    if good >= FEWEST_FOR_PERCENTILES || usize::try_from(good) != Ok(took.len()) {
        return latency(l);
    }
    let calls = count(took.len(), "call");
    match (duration(*least), duration(*most)) {
        (least, most) if least != most => format!("{calls}, {least} to {most}"),
        (one, _) if took.len() == 1 => format!("{calls}, {one}"),
        (each, _) => format!("{calls}, {each} each"),
    }
}

/// Text and role of a call's outcome.
pub fn outcome(o: CallOutcome) -> (&'static str, Role) {
    let (_, word, role) = outcome_sign(o);
    (word, role)
}

/// Sign, text and role of a call's outcome.
pub fn outcome_sign(o: CallOutcome) -> (&'static str, &'static str, Role) {
    match o {
        CallOutcome::Ok => ("✓", "ok", Role::Ok),
        CallOutcome::Error => ("✗", "error", Role::Bad),
        CallOutcome::Deadline => ("✗", "deadline passed", Role::Bad),
        CallOutcome::Cancelled => ("■", "cancelled", Role::Warn),
        CallOutcome::Crashed => ("✗", "plugin crashed", Role::Bad),
    }
}
