//! Renders two values side by side as one row per leaf, with sensitive parts masked. Pure. All
//! displayed values of a stage come from here.

use cty::{Path, PathStep, Value};
use model::AttributeChange;
use std::collections::HashMap;

/// Placeholder of a hidden value.
pub const SENSITIVE: &str = "(sensitive value)";
/// Placeholder of a value that only the deploy determines.
pub const UNKNOWN: &str = "(known after apply)";
/// Path of a whole value in its row.
const WHOLE_VALUE: &str = "*";

/// Returns one row for each leaf of either side; nulls are not leaves. A leaf that is sensitive on
/// one side is masked on both. Elements of sets are numbered: those of `before` first, then added
/// ones.
pub fn attributes(before: &Value, after: &Value, forcing: &[Path]) -> Vec<AttributeChange> {
    let mut rows = Rows {
        out: Vec::new(),
        forcing,
    };
    rows.pair(&mut Path::root(), Some(before), Some(after));
    rows.out
}

/// Renders a value as an expression with its hidden parts masked.
pub fn render(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Renders a path as in the language: `tags["name"]`, `rule[0].port`.
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
                    // The path step of a set element contains its value, which may be sensitive.
                    _ => out.push('…'),
                }
                out.push(']');
            }
        }
    }
    if out.is_empty() {
        WHOLE_VALUE.to_owned()
    } else {
        out
    }
}

/// Returns true if the value's own marks hide it.
fn has_hiding_marks(value: &Value) -> bool {
    value.marks().is_sensitive() || value.marks().is_ephemeral()
}

/// Returns true if the value has a hidden part.
pub fn has_hidden_part(value: &Value) -> bool {
    value.contains_mark(&cty::Mark::Sensitive) || value.contains_mark(&cty::Mark::Ephemeral)
}

fn write(value: &Value, out: &mut String) {
    if has_hiding_marks(value) {
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
        // A hidden part of an element hides the set, because the order of elements depends on it.
        if value.ty().is_set() && has_hidden_part(value) {
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

fn shape_of(value: &Value) -> Shape {
    match () {
        () if !value.is_known() || value.is_null() => Shape::Leaf,
        () if value.as_map().is_some() => Shape::Named,
        () if value.ty().is_set() => Shape::Set,
        () if value.as_slice().is_some() => Shape::Ordered,
        () => Shape::Leaf,
    }
}

fn any_hides(before: Option<&Value>, after: Option<&Value>) -> bool {
    before.is_some_and(has_hidden_part) || after.is_some_and(has_hidden_part)
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
        // The rows of such a set would reveal the number and order of its elements.
        let secret_set = |v: &Value| shape_of(v) == Shape::Set && has_hidden_part(v);
        if before.is_some_and(|v| has_hiding_marks(v) || secret_set(v))
            || after.is_some_and(|v| has_hiding_marks(v) || secret_set(v))
        {
            self.row(at, before, after, true);
            return;
        }
        let shapes = (before.map(shape_of), after.map(shape_of));
        let kind = shape_of(any);
        let alike = shapes.0.is_none_or(|s| s == kind) && shapes.1.is_none_or(|s| s == kind);
        let empty = before.is_none_or(|v| v.is_empty()) && after.is_none_or(|v| v.is_empty());
        if !alike || kind == Shape::Leaf || empty {
            // If both sides have different shapes, the position of a hidden part in one side has no
            // counterpart in the other.
            self.row(at, before, after, !alike && any_hides(before, after));
            return;
        }
        match kind {
            Shape::Named => self.diff_members(at, before, after),
            Shape::Ordered => self.ordered(at, before, after),
            Shape::Set | Shape::Leaf => self.set(at, before, after),
        }
    }

    fn diff_members(&mut self, at: &mut Path, before: Option<&Value>, after: Option<&Value>) {
        let (b, a) = (
            before.and_then(Value::as_map),
            after.and_then(Value::as_map),
        );
        let mut names: Vec<_> = b.into_iter().chain(a).flat_map(|m| m.keys()).collect();
        // `dedup` needs sorted names; only each side alone is sorted.
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
        // Elements are matched by their rendered text. Sets with hidden parts never come here, so
        // different elements have different texts.
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
            // Marks count: a value that becomes sensitive has changed.
            (Some(b), Some(a)) => !b.raw_equals(a) || !a.is_wholly_known(),
            _ => true,
        };
        // An unknown value is shown as such even if sensitive: there is nothing to hide yet.
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
            forces_replacement: changed && self.forcing.iter().any(|p| overlaps(p, at)),
            changed,
        });
    }
}

/// Returns true if one path is a prefix of the other. Elements of sets match each other, because
/// their rows are numbered and not keyed by value.
fn overlaps(forcing: &Path, at: &Path) -> bool {
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
