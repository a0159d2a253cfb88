//! Details of a call: its state, blockers, locks and usual duration.

use super::{Doc, Role, line, push_heading, push_pair, push_text, span};
use crate::app::format::{clock, duration, elapsed};
use crate::app::state::State;
use model::view::CallView;
use model::{CallFinished, CallOutcome, ResourceLock};

/// Renders a queued or running call.
pub fn call(state: &State, c: &CallView) -> Doc {
    let mut doc = Doc::new();
    push_pair(&mut doc, "call", format!("#{} {}", c.call, c.method));
    push_pair(&mut doc, "plugin", &c.plugin.0);
    if let Some(r) = &c.resource {
        push_pair(&mut doc, "resource", r);
    }
    match c.started_at {
        Some(at) => {
            push_pair(
                &mut doc,
                "running",
                format!(
                    "{}, since {}",
                    elapsed(state.now - at),
                    clock(at, state.utc_offset)
                ),
            );
            if let Some(slot) = c.slot {
                push_pair(&mut doc, "slot", format!("{slot} of {}", c.slots));
            }
        }
        None => push_pair(
            &mut doc,
            "waiting",
            format!(
                "{}, since {}",
                elapsed(state.now - c.queued_at),
                clock(c.queued_at, state.utc_offset)
            ),
        ),
    }
    if let Some(u) = &c.usual {
        let text = format!(
            "p50 {}, p95 {}, max {} over {} calls",
            duration(u.p50_ms),
            duration(u.p95_ms),
            duration(u.max_ms),
            u.count
        );
        push_pair(&mut doc, "usual", text);
    }
    push_pair(
        &mut doc,
        "deadline",
        c.deadline_ms.map_or_else(|| "none".to_owned(), duration),
    );
    if let Some(w) = &c.waits_for {
        push_heading(&mut doc, "waits for");
        push_text(&mut doc, Role::Warn, "  ", w);
        if c.blocker.is_some() {
            doc.push(vec![
                span(Role::Dim, "  "),
                span(Role::Key, "b"),
                span(Role::Dim, " goes to the blocking call"),
            ]);
        }
    }
    list_locks(state, c, &mut doc);
    list_waiting_calls(state, c, &mut doc);
    doc
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
            format!(
                "{} waiting for it",
                crate::app::format::count(behind.len(), "call")
            ),
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
pub fn finished(state: &State, f: &CallFinished) -> Doc {
    let mut doc = Doc::new();
    push_pair(&mut doc, "call", format!("#{} {}", f.call, f.method));
    push_pair(&mut doc, "plugin", &f.plugin.0);
    if let Some(r) = &f.resource {
        push_pair(&mut doc, "resource", r);
    }
    push_pair(&mut doc, "took", duration(f.took_ms));
    let (word, role) = outcome(f.outcome);
    doc.push(vec![
        span(Role::Dim, format!("{:<12} ", "outcome")),
        span(role, word),
    ]);
    if let Some(again) = &f.again {
        push_pair(&mut doc, "then", again.text(state.now));
    }
    if let Some(e) = &f.error {
        push_text(&mut doc, Role::Bad, "  ", e);
    }
    doc
}

/// Text and role of a call's outcome.
pub fn outcome(o: CallOutcome) -> (&'static str, Role) {
    match o {
        CallOutcome::Ok => ("ok", Role::Ok),
        CallOutcome::Error => ("error", Role::Bad),
        CallOutcome::Deadline => ("deadline passed", Role::Bad),
        CallOutcome::Cancelled => ("cancelled", Role::Warn),
        CallOutcome::Crashed => ("plugin crashed", Role::Bad),
    }
}
