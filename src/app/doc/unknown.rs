//! What earlier deploys began and has no end on record: a line for a list, all words for a popup,
//! how it is settled.

use super::{Doc, Line, Role, Span, line, push_text, span};
use crate::app::format::{count, date};
use crate::app::state::State;
use crate::engine::words::{Operation, Unknown};

/// What stands over the list: why it is here at all.
pub fn unknown_head(state: &State, refused: bool) -> Doc {
    let n = state.view.unknown.len();
    if refused {
        return vec![line(
            Role::Bad,
            "Not applied, for nothing is created twice: settle these first, or leave them out (x on their row).",
        )];
    }
    let how = if n == 1 {
        "an operation was begun, and its end is"
    } else {
        "operations were begun, and their ends are"
    };
    vec![vec![
        span(Role::Warn, format!("{n} ")),
        span(Role::Plain, how),
        span(
            Role::Plain,
            " not on record: flightdeck or a plugin ended before the answer came.",
        ),
    ]]
}

/// One of them, as a line of the list.
pub fn unknown_line(state: &State, u: &Unknown) -> Line {
    vec![
        span(Role::Warn, " ? "),
        span(Role::Strong, format!("{} {}", u.step, u.name())),
        span(
            Role::Dim,
            format!(
                "   deploy #{}, {}",
                u.deploy,
                date(u.begun_at, state.utc_offset)
            ),
        ),
    ]
}

/// One of them in full, in the words that the command line has for it.
pub fn unknown(u: &Unknown) -> Doc {
    let mut doc = Doc::new();
    push_text(&mut doc, Role::Plain, "", &u.detail);
    doc
}

/// The keys that settle it. The commands of the text want the lock, which this console has.
pub fn unknown_keys(u: &Unknown) -> Line {
    let mut l = Line::new();
    let mut key = |key: &str, text: &str| {
        l.push(span(Role::Key, key));
        l.push(span(Role::Dim, format!(" {text}  ")));
    };
    if u.step.beside().is_some() {
        key("X", "it is seen to…");
    } else if u.creation {
        key("i", "take it in…");
        key("X", "it is not there…");
    } else if u.destroy_time {
        key("s", "stage again");
        key("T", "its work is done…");
        key("X", "let go of the object…");
    } else if u.provisioner {
        key("s", "stage: replace it");
        key("T", "it is as it should be…");
        key("X", "let go of it…");
    } else {
        key("s", "stage: read it back");
        key("X", "let go of it…");
    }
    key("j k", "choose");
    key("esc", "later");
    l
}

/// What stands in a row of the Stage screen; what matters most first, for rows are cut.
pub fn unknown_note(state: &State, u: &Unknown) -> Line {
    let (key, step, deploy) = (state.keys.first("unknown"), &u.step, u.deploy);
    let text = if let Some(deed) = u.step.beside() {
        format!("? the {deed} beside it, in deploy #{deploy}, has no end on record ({key})")
    } else if u.destroy_time {
        format!(
            "? its {step} in deploy #{deploy} has no recorded outcome: the next destroy runs it again ({key})"
        )
    } else if u.provisioner {
        format!(
            "? its {step} in deploy #{deploy} has no end on record: replaced, and run again ({key})"
        )
    } else if u.creation {
        format!(
            "? may be there already ({key}): its create in deploy #{deploy} has no end on record"
        )
    } else {
        format!("? its {step} in deploy #{deploy} has no end on record; read back here ({key})")
    };
    vec![span(Role::Bad, text)]
}

/// Whether it is the end of this operation that is not on record, and not of what is beside it.
pub fn is_of(u: &Unknown, op: &Operation) -> bool {
    let own = u.step.beside().is_none();
    own && u.deploy == op.deploy && (u.address == op.address || u.name() == op.address)
}

/// What stands beside an operation whose outcome is unknown: how it was settled, or how it is.
pub fn unknown_of_operation(state: &State, op: &Operation) -> Span {
    if let Some(how) = op.settled() {
        return span(Role::Dim, format!("settled: {how}"));
    }
    let key = state.keys.first("unknown");
    match state.view.unknown.iter().find(|u| is_of(u, op)) {
        Some(u) if u.creation => span(
            Role::Warn,
            format!("may be there ({key}): no answer is on record"),
        ),
        Some(u) if u.destroy_time => span(
            Role::Warn,
            format!(
                "not destroyed ({key}): its {} has no recorded outcome",
                u.step
            ),
        ),
        Some(u) if u.provisioner => span(
            Role::Warn,
            format!("tainted ({key}): its {} has no end on record", u.step),
        ),
        Some(_) => span(
            Role::Warn,
            format!("stage again ({key}): it is read back; no answer is on record"),
        ),
        None => span(Role::Warn, "no answer is on record"),
    }
}

/// What every screen says of it.
pub fn unknown_badge(state: &State, short: bool) -> String {
    let (n, key) = (state.view.unknown.len(), state.keys.first("unknown"));
    if short {
        format!("  ?{n} ({key})")
    } else {
        format!("  ? {} ({key})", count(n, "unknown outcome"))
    }
}
