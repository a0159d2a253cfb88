//! Reasons of a change, for the popup of `why`.

use super::attribute::value;
use crate::app::doc::{
    Doc, Line, Role, action_sign, line, push_addresses, push_heading, push_text, span,
};
use crate::app::format::count;
use model::ChangeView;
use std::collections::{BTreeSet, HashMap};

/// Explains a change: its reason, attributes that force replacement, dependencies and dependents.
pub fn explain<'a>(c: &'a ChangeView, all: &'a [ChangeView]) -> Doc {
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
    let changes: HashMap<&str, &ChangeView> = all.iter().map(|o| (&*o.address, o)).collect();
    let needs = |address: &str| {
        let change = changes.get(address);
        let needs = change.iter().flat_map(|o| &o.needs);
        needs.map(String::as_str).collect()
    };
    push_changes(&mut doc, "needs", &c.address, needs);
    // A change stores only its own needs.
    let mut dependents: HashMap<&str, Vec<&str>> = HashMap::new();
    for o in all {
        for need in &o.needs {
            dependents.entry(need).or_default().push(&o.address);
        }
    }
    let needed_by = |address: &str| dependents.get(address).cloned().unwrap_or_default();
    push_changes(&mut doc, "needed by", &c.address, needed_by);
    doc
}

/// Maximum number of neighbours in each direction.
const NEIGHBOURS: usize = 8;

/// Lists the changes that a change needs directly, and those that need it.
pub fn neighbours(c: &ChangeView, all: &[ChangeView]) -> Doc {
    let mut doc = Doc::new();
    let needs: Vec<&str> = c.needs.iter().map(String::as_str).collect();
    let needed_by = all.iter().filter(|o| o.needs.contains(&c.address));
    let needed_by: Vec<&str> = needed_by.map(|o| o.address.as_str()).collect();
    for (heading, all) in [("needs", needs), ("needed by", needed_by)] {
        if !all.is_empty() {
            push_addresses(&mut doc, heading, all.into_iter(), NEIGHBOURS);
        }
    }
    doc
}

/// Draws the changes that a relation leads to as a tree. One that stands further above is not
/// repeated with all below it. The State screen counts objects in the same way.
fn push_changes<'a>(
    doc: &mut Doc,
    heading: &str,
    address: &'a str,
    related: impl Fn(&'a str) -> Vec<&'a str>,
) {
    push_heading(doc, heading);
    let title = doc.len() - 1;
    let mut found: BTreeSet<&str> = BTreeSet::from([address]);
    // Each change is followed once, so the loop ends.
    let mut rest: Vec<(usize, &str)> = children(related(address), 0);
    while let Some((depth, next)) = rest.pop() {
        let is_new = found.insert(next);
        let below = if is_new { related(next) } else { Vec::new() };
        let role = if depth == 0 { Role::Plain } else { Role::Dim };
        let mut l = line(role, format!("  {}{next}", "  ".repeat(depth)));
        if !is_new {
            l.push(span(Role::Dim, "  (above)"));
        }
        doc.push(l);
        rest.extend(children(below, depth + 1));
    }
    if found.len() == 1 {
        doc.push(line(Role::Dim, "  none in this stage"));
        return;
    }
    let text = format!(
        "  {}, directly or through others",
        count(found.len() - 1, "change")
    );
    doc[title].push(span(Role::Dim, text));
}

/// Changes of one depth, in the order of a stack: the first one on top.
fn children(mut all: Vec<&str>, depth: usize) -> Vec<(usize, &str)> {
    all.sort_unstable();
    all.into_iter()
        .rev()
        .map(|address| (depth, address))
        .collect()
}
