//! Details of a change: attributes before and after, its reason, and dependent changes.

mod attribute;
mod explain;
mod grouped;
mod summary;
#[cfg(test)]
mod tests;
mod text;

pub use attribute::{Extent, long_attribute};
pub use explain::{explain, neighbours};
pub use grouped::{Grouped, grouped};
pub use summary::{changed_values, replaced_value};
pub(super) use text::difference;

use super::{Doc, Line, Role, action_role, action_sign, line, push_heading, push_text, span};
use crate::app::format::count;
use attribute::name_width;
use engine::stage::diff::UNKNOWN;
use model::{
    Action, AttributeChange, ChangeView, DESTROY_MODE, DriftKind, DriftView, OutputView, StageMode,
    Unknown,
};

/// Renders the sign, the address and the action of a change.
pub fn change_head(c: &ChangeView) -> Line {
    let mut head = super::change_sign(c);
    head.push(span(Role::Strong, format!(" {}", c.address)));
    head.push(span(super::change_role(c), format!("  {}", c.label())));
    head
}

/// Renders the sign, the name and the action of an output.
pub fn output_head(o: &OutputView) -> Line {
    head(o.action, &format!("output {}", o.name))
}

/// Renders the address of a drifted object and the kind of its drift.
pub fn drift_head(d: &DriftView) -> Line {
    let role = drift_role(d.what);
    vec![
        span(role, "! "),
        span(Role::Strong, &d.address),
        span(role, format!("  {}", d.what.label())),
    ]
}

fn head(action: Action, name: &str) -> Line {
    let mut head = action_sign(action);
    head.push(span(Role::Strong, format!(" {name}")));
    let label = format!("  {}", action.label());
    head.push(span(action_role(action), label));
    head
}

/// Renders the diff of a change and its unknown outcome, if any.
pub fn change(c: &ChangeView, left: Option<&Unknown>, extent: Extent) -> Doc {
    let mut doc = reasons(c, left);
    if !doc.is_empty() {
        doc.push(Line::new());
    }
    push_attributes(&mut doc, c, extent);
    push_commands(&mut doc, c);
    doc
}

/// Reason of each creation of an object that the state does not have.
const NEW: &str = "new";

/// Renders the reasons of a change that its action does not tell.
fn reasons(c: &ChangeView, left: Option<&Unknown>) -> Doc {
    let mut doc = Doc::new();
    if let Some(previous) = &c.previous_address {
        doc.push(line(Role::Dim, format!("moved from {previous}")));
    }
    // The title of the screen has the mode.
    if ![NEW, DESTROY_MODE, ""].contains(&c.why.as_str()) {
        push_text(&mut doc, Role::Dim, "", &c.why);
    }
    if let Some(u) = left {
        push_text(&mut doc, Role::Bad, "? ", &u.detail);
    }
    if c.drifted {
        doc.push(line(
            Role::Warn,
            "drift: the real object differs from the state",
        ));
    }
    doc
}

/// Renders the attributes: changed ones first, then the unchanged ones or their number.
fn push_attributes(doc: &mut Doc, c: &ChangeView, extent: Extent) {
    let (changed, same): (Vec<_>, Vec<_>) = c.attributes.iter().partition(|a| a.changed);
    // An absent block or list of a new object tells nothing.
    let is_empty = |a: &&AttributeChange| {
        let is_known = !a.sensitive && !a.unknown && a.before.is_none();
        !extent.all && is_known && a.after.as_deref().is_some_and(|v| v == "[]" || v == "{}")
    };
    let (empty, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(is_empty);
    // The names of values that a new object gets from its plugin say all there is to say.
    let is_later = |a: &&AttributeChange| {
        !extent.all && a.unknown && a.before.is_none() && !a.path.contains(['[', '.'])
    };
    let (later, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(is_later);
    let changed = grouped(&changed, false);
    let same: Vec<_> = same.into_iter().map(Grouped::one).collect();
    // Only visible names count for the width of the column.
    let (shown, hidden) = same.split_at(if extent.all { same.len() } else { 0 });
    let name = name_width(changed.iter().chain(shown));
    for row in changed.iter().chain(shown) {
        attribute::push(doc, row, c.action, name, extent);
    }
    if !later.is_empty() {
        let names: Vec<&str> = later.iter().map(|a| a.path.as_str()).collect();
        doc.push(vec![
            span(Role::Dim, "    known after apply: "),
            span(Role::Plain, names.join(", ")),
        ]);
    }
    if !empty.is_empty() {
        let empty = count(empty.len(), "empty value");
        doc.push(line(Role::Dim, format!("    {empty}")));
    }
    if !hidden.is_empty() {
        let hidden = count(hidden.len(), "attribute");
        doc.push(line(Role::Dim, format!("    {hidden} unchanged")));
    }
}

/// Renders the commands that the change runs.
fn push_commands(doc: &mut Doc, c: &ChangeView) {
    let mut lead = String::new();
    for command in &c.commands {
        // Commands of one machine follow each other, and share a heading.
        if command.kind_and_machine() != lead {
            lead = command.kind_and_machine();
            push_heading(doc, &lead);
        }
        push_text(doc, Role::Warn, "  ", &command.text());
    }
}

/// Renders an output before and after.
pub fn output(o: &OutputView, extent: Extent) -> Doc {
    let mut doc = Doc::new();
    let value = AttributeChange {
        path: "value".to_owned(),
        before_path: None,
        before: o.before.clone(),
        after: o.after.clone(),
        unknown: o.after.as_deref() == Some(UNKNOWN),
        sensitive: o.sensitive,
        forces_replacement: false,
        changed: o.before != o.after,
    };
    if attribute::is_long(&value) {
        attribute::push(&mut doc, &Grouped::one(&value), o.action, 0, extent);
        return doc;
    }
    let hidden = |text: &Option<String>| {
        if o.sensitive {
            "(sensitive)".to_owned()
        } else {
            text.clone().unwrap_or("null".to_owned())
        }
    };
    for (sign, role, text) in [
        ("-", Role::Destroy, &o.before),
        ("+", Role::Create, &o.after),
    ] {
        if text.is_some() {
            push_text(&mut doc, role, &format!("  {sign} "), &hidden(text));
        }
    }
    doc
}

/// Renders the drift of an object, from the recorded to the actual state, and the ways to handle
/// it.
pub fn drift(d: &DriftView, mode: StageMode, extent: Extent) -> Doc {
    let mut doc = Doc::new();
    if let Some(previous) = &d.previous_address {
        doc.push(line(Role::Dim, format!("moved from {previous}")));
    }
    let what = match d.what {
        DriftKind::Changed => "It was changed outside of flightdeck.",
        DriftKind::Gone => "It no longer exists.",
        DriftKind::Moved => "The object itself is unchanged.",
    };
    let then = match mode {
        StageMode::RefreshOnly => format!("Applying this stage accepts the drift: {}. A normal stage plans a repair instead.", d.what.refresh_effect()),
        StageMode::Normal => "Applying this stage repairs the drift where the configuration requires it. To accept the drift, apply a refresh-only stage.".to_owned(),
        StageMode::Destroy => "Applying this stage uses the real object.".to_owned(),
    };
    doc.push(line(Role::Plain, what));
    push_text(&mut doc, Role::Dim, "", &then);
    doc.push(Line::new());
    let shown: Vec<_> = d
        .attributes
        .iter()
        .filter(|a| a.changed && d.what != DriftKind::Moved)
        .collect();
    let shown = grouped(&shown, false);
    let name = name_width(&shown);
    for row in &shown {
        attribute::push(&mut doc, row, Action::Update, name, extent);
    }
    doc
}

/// Role of a kind of drift.
pub fn drift_role(what: DriftKind) -> Role {
    match what {
        DriftKind::Gone => Role::Bad,
        DriftKind::Changed => Role::Warn,
        DriftKind::Moved => Role::Dim,
    }
}
