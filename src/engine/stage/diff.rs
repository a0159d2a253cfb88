//! Two values side by side as rows of leaves, rendered as expressions, with all that is sensitive
//! masked. Pure; this is the only way from a stage's values to what is shown of them.

use crate::engine::words::AttributeChange;
use cty::{Path, PathStep, Value};
use std::collections::HashMap;

/// What stands for a value that is not to be shown.
pub const SENSITIVE: &str = "(sensitive value)";
/// What stands for a value that only a deploy can tell.
pub const UNKNOWN: &str = "(known after apply)";
/// The path of a whole value in its own row.
const WHOLE: &str = "*";

/// One row for each leaf that either side has; nulls are no leaves. A leaf that is sensitive on
/// either side is masked on both. Elements of sets are numbered: those of before first, then those
/// that are added.
pub fn attributes(before: &Value, after: &Value, forcing: &[Path]) -> Vec<AttributeChange> {
    let mut rows = Rows {
        out: Vec::new(),
        forcing,
    };
    rows.pair(&mut Path::root(), Some(before), Some(after));
    rows.out
}

/// The value as an expression; marked parts are masked wherever they are.
pub fn render(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// A path as it is written: `tags["name"]`, `rule[0].port`.
pub fn path_text(path: &Path) -> String {
    let mut out = String::new();
    for step in path.steps() {
        match step {
            PathStep::Attr(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            PathStep::Index(key) => {
                out.push('[');
                match (key.as_str(), key.as_number()) {
                    (Some(text), _) => out.push_str(&lang::addr::quote(text)),
                    (_, Some(n)) => out.push_str(&n.to_text()),
                    // An element of a set: its value might be a secret.
                    _ => out.push('…'),
                }
                out.push(']');
            }
        }
    }
    if out.is_empty() {
        WHOLE.to_owned()
    } else {
        out
    }
}

/// Whether a value is not to be shown, looking at its own marks alone.
fn hidden(value: &Value) -> bool {
    value.marks().is_sensitive() || value.marks().is_ephemeral()
}

/// Whether anything in a value is not to be shown.
pub fn hides(value: &Value) -> bool {
    value.contains_mark(&cty::Mark::Sensitive) || value.contains_mark(&cty::Mark::Ephemeral)
}

fn write(value: &Value, out: &mut String) {
    if hidden(value) {
        out.push_str(SENSITIVE);
        return;
    }
    if !value.is_known() {
        out.push_str(UNKNOWN);
        return;
    }
    if value.is_null() {
        out.push_str("null");
    } else if let Some(text) = value.as_str() {
        out.push_str(&lang::addr::quote(text));
    } else if let Some(n) = value.as_number() {
        out.push_str(&n.to_text());
    } else if let Some(b) = value.as_bool() {
        out.push_str(if b { "true" } else { "false" });
    } else if let Some(members) = value.as_map() {
        if members.is_empty() {
            out.push_str("{}");
            return;
        }
        out.push_str("{ ");
        for (i, (name, inner)) in members.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            if is_name(name) {
                out.push_str(name)
            } else {
                out.push_str(&lang::addr::quote(name))
            }
            out.push_str(" = ");
            write(inner, out);
        }
        out.push_str(" }");
    } else {
        // What is hidden in an element of a set hides the set: its order would tell of the secret.
        if value.ty().is_set() && hides(value) {
            out.push_str(SENSITIVE);
            return;
        }
        out.push('[');
        for (i, inner) in value.children().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            write(inner, out);
        }
        out.push(']');
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Leaf,
    Named,
    Ordered,
    Set,
}

fn shape(value: &Value) -> Shape {
    match () {
        () if !value.is_known() || value.is_null() => Shape::Leaf,
        () if value.as_map().is_some() => Shape::Named,
        () if value.ty().is_set() => Shape::Set,
        () if value.as_slice().is_some() => Shape::Ordered,
        () => Shape::Leaf,
    }
}

fn any_hides(before: Option<&Value>, after: Option<&Value>) -> bool {
    before.is_some_and(hides) || after.is_some_and(hides)
}

struct Rows<'a> {
    out: Vec<AttributeChange>,
    forcing: &'a [Path],
}

impl Rows<'_> {
    fn pair(&mut self, at: &mut Path, before: Option<&Value>, after: Option<&Value>) {
        let there = |v: &&Value| !(v.is_known() && v.is_null());
        let (before, after) = (before.filter(there), after.filter(there));
        let Some(any) = after.or(before) else { return };
        let secret_set = |v: &Value| shape(v) == Shape::Set && hides(v);
        if before.is_some_and(|v| hidden(v) || secret_set(v))
            || after.is_some_and(|v| hidden(v) || secret_set(v))
        {
            self.row(at, before, after, true);
            return;
        }
        let shapes = (before.map(shape), after.map(shape));
        let kind = shape(any);
        let alike = shapes.0.is_none_or(|s| s == kind) && shapes.1.is_none_or(|s| s == kind);
        let empty = before.is_none_or(|v| v.is_empty()) && after.is_none_or(|v| v.is_empty());
        if !alike || kind == Shape::Leaf || empty {
            // Where both sides are of different kinds, what is secret in one cannot be found in the
            // other.
            self.row(at, before, after, !alike && any_hides(before, after));
            return;
        }
        match kind {
            Shape::Named => self.named(at, before, after),
            Shape::Ordered => self.ordered(at, before, after),
            Shape::Set | Shape::Leaf => self.set(at, before, after),
        }
    }

    fn named(&mut self, at: &mut Path, before: Option<&Value>, after: Option<&Value>) {
        let (b, a) = (
            before.and_then(Value::as_map),
            after.and_then(Value::as_map),
        );
        let mut names: Vec<_> = b.into_iter().chain(a).flat_map(|m| m.keys()).collect();
        // Each side is in order.
        names.sort();
        names.dedup();
        let object = after.or(before).is_some_and(|v| v.ty().is_object());
        for name in names {
            let (b, a) = (b.and_then(|m| m.get(name)), a.and_then(|m| m.get(name)));
            at.push(if object {
                PathStep::Attr(name.clone())
            } else {
                PathStep::Index(Value::string(name))
            });
            self.pair(at, b, a);
            at.pop();
        }
    }

    fn ordered(&mut self, at: &mut Path, before: Option<&Value>, after: Option<&Value>) {
        let elements = |v: Option<&Value>| {
            v.and_then(Value::as_slice)
                .map(<[Value]>::to_vec)
                .unwrap_or_default()
        };
        let (b, a) = (elements(before), elements(after));
        for i in 0..b.len().max(a.len()) {
            at.push(PathStep::Index(Value::number(i)));
            self.pair(at, b.get(i), a.get(i));
            at.pop();
        }
    }

    fn set(&mut self, at: &mut Path, before: Option<&Value>, after: Option<&Value>) {
        let mut added: HashMap<String, Vec<&Value>> = HashMap::new();
        for element in after.into_iter().flat_map(Value::children) {
            added.entry(render(element)).or_default().push(element);
        }
        let mut n = 0usize;
        let mut numbered = |rows: &mut Self, before: Option<&Value>, after: Option<&Value>| {
            at.push(PathStep::Index(Value::number(n)));
            rows.pair(at, before, after);
            at.pop();
            n += 1;
        };
        for element in before.into_iter().flat_map(Value::children) {
            let same = added.get_mut(&render(element)).and_then(Vec::pop);
            numbered(self, Some(element), same);
        }
        for element in after.into_iter().flat_map(Value::children) {
            if added.get_mut(&render(element)).and_then(Vec::pop).is_some() {
                numbered(self, None, Some(element));
            }
        }
    }

    fn row(&mut self, at: &Path, before: Option<&Value>, after: Option<&Value>, sensitive: bool) {
        let changed = match (before, after) {
            // Marks count: a value that becomes sensitive is a change.
            (Some(b), Some(a)) => !b.raw_equals(a) || !a.is_wholly_known(),
            _ => true,
        };
        let unknown = after.is_some_and(|v| !v.is_known());
        let text = |v: &Value| match (v.is_known(), sensitive) {
            (false, _) => UNKNOWN.to_owned(),
            (true, true) => SENSITIVE.to_owned(),
            (true, false) => render(v),
        };
        self.out.push(AttributeChange {
            path: path_text(at),
            before: before.map(text),
            after: after.map(text),
            unknown,
            sensitive,
            forces_replacement: changed && self.forcing.iter().any(|p| touches(p, at)),
            changed,
        });
    }
}

/// Whether one path leads to or through the other. Elements of sets cannot be told apart by their
/// paths.
fn touches(forcing: &Path, at: &Path) -> bool {
    let plain = |key: &Value| key.as_str().is_some() || key.as_number().is_some();
    for (a, b) in forcing.steps().iter().zip(at.steps()) {
        match (a, b) {
            (PathStep::Index(key), PathStep::Index(_)) if !plain(key) => return true,
            _ if a != b => return false,
            _ => {}
        }
    }
    true
}
