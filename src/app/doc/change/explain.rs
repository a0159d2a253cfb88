//! Reasons of a change, for the popup of `why`.

use super::attribute::value;
use crate::app::doc::{Doc, Line, Role, action_sign, line, push_heading, push_text, span};
use model::ChangeView;

/// Explains a change: its reason, attributes that force replacement, dependencies and dependents.
pub fn explain(c: &ChangeView, all: &[ChangeView]) -> Doc {
    let mut doc = Doc::new();
    let mut head = action_sign(c.action);
    head.push(span(Role::Strong, format!(" {}", c.address)));
    doc.push(head);
    doc.push(Line::new());
    push_text(
        &mut doc,
        Role::Plain,
        "",
        if c.why.is_empty() {
            "no reason was recorded"
        } else {
            &c.why
        },
    );
    if let Some(reason) = &c.action_reason {
        doc.push(line(Role::Dim, reason.replace('_', " ")));
    }
    let forcing: Vec<_> = c
        .attributes
        .iter()
        .filter(|a| a.forces_replacement)
        .collect();
    if !forcing.is_empty() {
        push_heading(&mut doc, "forces replacement");
        for a in forcing {
            doc.push(vec![
                span(Role::Plain, format!("  {}  ", a.path)),
                span(Role::Destroy, value(a.before.as_deref(), a, false)),
                span(Role::Dim, " → "),
                span(Role::Create, value(a.after.as_deref(), a, true)),
            ]);
        }
    }
    push_heading(&mut doc, "needs");
    list_or_none(&mut doc, c.needs.iter().map(String::as_str));
    push_heading(&mut doc, "needed by");
    // A change stores only its own dependencies, so all changes are searched for its dependents.
    list_or_none(
        &mut doc,
        all.iter()
            .filter(|o| o.needs.contains(&c.address))
            .map(|o| o.address.as_str()),
    );
    doc
}

fn list_or_none<'a>(doc: &mut Doc, items: impl Iterator<Item = &'a str>) {
    let before = doc.len();
    for i in items {
        doc.push(line(Role::Plain, format!("  {i}")));
    }
    if doc.len() == before {
        doc.push(line(Role::Dim, "  none in this stage"));
    }
}
