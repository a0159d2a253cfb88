//! Unknown outcomes of earlier deploys: list lines, details, badges, and the keys that settle them.

use super::{Doc, Line, Role, Span, line, push_text, span};
use crate::app::format::date;
use crate::app::state::State;
use model::{Operation, Unknown};

/// Renders the introduction of the list. `refused` means that it opened instead of an apply.
pub fn unknown_head(state: &State, refused: bool) -> Doc {
    let n = state.view.unknown.len();
    // The popup must explain why the apply did not happen.
    if refused {
        return vec![line(
            Role::Bad,
            "Not applied, because it could create objects twice: resolve these first, or deselect them (x on their row).",
        )];
    }
    let how = if n == 1 {
        "operation has"
    } else {
        "operations have"
    };
    vec![vec![
        span(Role::Warn, format!("{n} ")),
        span(Role::Plain, how),
        span(
            Role::Plain,
            " no recorded outcome: the answer of a plugin did not arrive.",
        ),
    ]]
}

/// Renders an unknown outcome as a line of the list.
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

/// Renders the details of an unknown outcome, in the words of the command line.
pub fn unknown(u: &Unknown) -> Doc {
    let mut doc = Doc::new();
    push_text(&mut doc, Role::Plain, "", &u.detail);
    doc
}

/// Renders the keys that settle the outcome. The commands named in the details need the lock, which
/// this console holds.
pub fn unknown_keys(u: &Unknown) -> Line {
    let mut l = Line::new();
    let mut key = |key: &str, text: &str| {
        l.push(span(Role::Key, key));
        l.push(span(Role::Dim, format!(" {text}  ")));
    };
    // Side effects are in no state: they can be neither staged nor imported.
    if u.step.requested_call().is_some() {
        key("X", "mark as resolved…");
    } else if u.creation {
        key("i", "import it…");
        key("X", "discard the record…");
    } else if u.destroy_time {
        key("s", "stage again");
        key("T", "mark as completed…");
        key("X", "forget the object…");
    } else if u.provisioner {
        key("s", "stage: replace it");
        key("T", "keep the object…");
        key("X", "forget it…");
    } else {
        key("s", "stage: read it back");
        key("X", "forget it…");
    }
    key("j k", "choose");
    key("esc", "later");
    l
}

/// Renders the note in a row of the Stage screen. The important part comes first, because rows are
/// cut.
pub fn unknown_note(state: &State, u: &Unknown) -> Line {
    let (key, step, deploy) = (state.options.keys.first("unknown"), &u.step, u.deploy);
    let text = if let Some(deed) = u.step.requested_call() {
        format!("? its {deed} in deploy #{deploy} has no recorded outcome ({key})")
    } else if u.destroy_time {
        format!(
            "? its {step} in deploy #{deploy} has no recorded outcome: the next destroy runs it again ({key})"
        )
    } else if u.provisioner {
        format!(
            "? its {step} in deploy #{deploy} has no recorded outcome: object is replaced ({key})"
        )
    } else if u.creation {
        format!(
            "? may exist already ({key}): its create in deploy #{deploy} has no recorded outcome"
        )
    } else {
        format!("? its {step} in deploy #{deploy} has no recorded outcome; read back here ({key})")
    };
    vec![span(Role::Bad, text)]
}

/// Returns true if the unknown outcome is that of the operation itself and not of a side effect.
pub fn is_of_operation(u: &Unknown, op: &Operation) -> bool {
    let own = u.step.requested_call().is_none();
    own && u.deploy == op.deploy && (u.address == op.address || u.name() == op.address)
}

/// Renders the note beside an operation with an unknown outcome: its settlement, or the way to
/// settle it.
pub fn unknown_of_operation(state: &State, op: &Operation) -> Span {
    if let Some(how) = op.settlement() {
        return span(Role::Dim, format!("resolved: {how}"));
    }
    let key = state.options.keys.first("unknown");
    match state.view.unknown.iter().find(|u| is_of_operation(u, op)) {
        Some(u) if u.creation => span(
            Role::Warn,
            format!("may exist ({key}): no recorded outcome"),
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
            format!("tainted ({key}): its {} has no recorded outcome", u.step),
        ),
        Some(_) => span(
            Role::Warn,
            format!("no recorded outcome ({key}): stage again to read it back"),
        ),
        None => span(Role::Warn, "no recorded outcome"),
    }
}
