//! Walk over two values that makes one row per leaf.

use super::align::{self, Pair};
use super::{SENSITIVE, UNKNOWN, has_hidden_part, has_hiding_marks, path_text, render};
use cty::{Path, PathStep, Value};
use model::AttributeChange;
use std::collections::HashMap;

/// Maximum length of the identity of an element in a path, in characters.
const MAX_LABEL: usize = 40;

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

fn elements(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_slice).unwrap_or_default()
}

/// Rows of two values, and the current place in both of them.
pub(super) struct Rows<'a> {
    out: Vec<AttributeChange>,
    forcing: &'a [Path],
    /// Place in the value after; that of a removed part is in `before`.
    after: Path,
    before: Path,
    /// Values of JSON or YAML: nulls count, an added or removed part is one row, and paths name
    /// elements by their identity.
    document: bool,
    revealing: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn new(forcing: &'a [Path]) -> Self {
        Self {
            out: Vec::new(),
            forcing,
            after: Path::root(),
            before: Path::root(),
            document: false,
            revealing: false,
        }
    }

    /// Rows of parsed texts.
    pub(super) fn of_document() -> Self {
        Self {
            document: true,
            ..Self::new(&[])
        }
    }

    /// Shows sensitive values.
    pub(super) fn revealing(self) -> Self {
        Self {
            revealing: true,
            ..self
        }
    }

    /// Returns the rows of two values.
    pub(super) fn of(mut self, before: &Value, after: &Value) -> Vec<AttributeChange> {
        self.pair(Some(before), Some(after));
        self.out
    }

    fn pair(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let there = |v: &&Value| self.document || !(v.is_known() && v.is_null());
        let (before, after) = (before.filter(there), after.filter(there));
        let Some(any) = after.or(before) else { return };
        // The rows of such a set would reveal the number and order of its elements.
        let secret_set = |v: &Value| shape_of(v) == Shape::Set && has_hidden_part(v);
        if before.is_some_and(|v| has_hiding_marks(v) || secret_set(v))
            || after.is_some_and(|v| has_hiding_marks(v) || secret_set(v))
        {
            self.row(before, after, true);
            return;
        }
        let shapes = (before.map(shape_of), after.map(shape_of));
        let kind = shape_of(any);
        let alike = shapes.0.is_none_or(|s| s == kind) && shapes.1.is_none_or(|s| s == kind);
        let empty = before.is_none_or(|v| v.is_empty()) && after.is_none_or(|v| v.is_empty());
        let one_sided = self.document && (before.is_none() || after.is_none());
        if !alike || kind == Shape::Leaf || empty || one_sided {
            // If both sides have different shapes, the position of a hidden part in one side has no
            // counterpart in the other.
            self.row(before, after, !alike && any_hides(before, after));
            return;
        }
        match kind {
            Shape::Named => self.diff_members(before, after),
            Shape::Ordered => self.ordered(elements(before), elements(after)),
            Shape::Set | Shape::Leaf => self.set(before, after),
        }
    }

    /// Compares a part at a step on each side.
    fn at(&mut self, steps: (PathStep, PathStep), before: Option<&Value>, after: Option<&Value>) {
        self.before.push(steps.0);
        self.after.push(steps.1);
        self.pair(before, after);
        self.before.pop();
        self.after.pop();
    }

    fn diff_members(&mut self, before: Option<&Value>, after: Option<&Value>) {
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
            let step = if object {
                PathStep::Attr(name.clone())
            } else {
                PathStep::Index(Value::string(name))
            };
            self.at((step.clone(), step), b, a);
        }
    }

    fn ordered(&mut self, before: &[Value], after: &[Value]) {
        let identity = align::identity(before, after);
        // A provider compares positions. Rows of other pairs could lose the reason of a
        // replacement.
        let by_position = before.is_empty() || after.is_empty() || self.forces_inside();
        let pairs = if by_position {
            align::by_position(before.len(), after.len())
        } else {
            align::pairs(before, after, identity)
        };
        for pair in pairs {
            let (b, a) = (
                pair.0.and_then(|i| before.get(i)),
                pair.1.and_then(|i| after.get(i)),
            );
            self.at(self.element_steps(pair, identity, a.or(b)), b, a);
        }
    }

    /// Returns true if a path below this list forces a replacement.
    fn forces_inside(&self) -> bool {
        let below = |p: &Path, at: &Path| p.len() > at.len() && p.starts_with(at);
        self.forcing
            .iter()
            .any(|p| below(p, &self.before) || below(p, &self.after))
    }

    /// Returns the steps of an element of a list on both sides.
    fn element_steps(
        &self,
        (before, after): Pair,
        identity: Option<&str>,
        element: Option<&Value>,
    ) -> (PathStep, PathStep) {
        let number = |i: usize| PathStep::Index(Value::number(i));
        let (b, a) = (before.or(after), after.or(before));
        let label = identity
            .filter(|_| self.document)
            .zip(element)
            .and_then(|(name, element)| Some(format!("{name}={}", label(element, name)?)));
        match label {
            Some(label) => {
                let step = PathStep::Index(Value::string(&label));
                (step.clone(), step)
            }
            None => (number(b.unwrap_or(0)), number(a.unwrap_or(0))),
        }
    }

    fn set(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let (before, after): (Vec<Value>, Vec<Value>) = (
            before
                .into_iter()
                .flat_map(Value::children)
                .cloned()
                .collect(),
            after
                .into_iter()
                .flat_map(Value::children)
                .cloned()
                .collect(),
        );
        let identity = align::identity(&before, &after);
        // Without an identity, elements are matched by their rendered text. Sets with hidden parts
        // never come here, so different elements have different texts.
        let key = |v: &Value| {
            identity
                .and_then(|name| align::key(v, name))
                .unwrap_or_else(|| render(v))
        };
        let mut added: HashMap<String, Vec<&Value>> = HashMap::new();
        for element in &after {
            added.entry(key(element)).or_default().push(element);
        }
        let mut n = 0usize;
        let mut numbered = |rows: &mut Self, before: Option<&Value>, after: Option<&Value>| {
            let step = PathStep::Index(Value::number(n));
            rows.at((step.clone(), step), before, after);
            n += 1;
        };
        for element in &before {
            let same = added.get_mut(&key(element)).and_then(Vec::pop);
            numbered(self, Some(element), same);
        }
        for element in &after {
            if added.get_mut(&key(element)).and_then(Vec::pop).is_some() {
                numbered(self, None, Some(element));
            }
        }
    }

    fn row(&mut self, before: Option<&Value>, after: Option<&Value>, sensitive: bool) {
        let changed = match (before, after) {
            // Marks count: a value that becomes sensitive has changed.
            (Some(b), Some(a)) => !b.raw_equals(a) || !a.is_wholly_known(),
            _ => true,
        };
        // An unknown value is shown as such even if sensitive: there is nothing to hide yet.
        let unknown = after.is_some_and(|v| !v.is_known());
        let text = |v: &Value| match (v.is_known(), sensitive) {
            (false, _) => UNKNOWN.to_owned(),
            (true, true) if self.revealing => render(&v.clone().unmark_deep().0),
            (true, true) => SENSITIVE.to_owned(),
            (true, false) => render(v),
        };
        let at = if after.is_some() {
            &self.after
        } else {
            &self.before
        };
        let forces_replacement = changed && self.forcing.iter().any(|p| overlaps(p, at));
        let path = |at: &Path| match self.document {
            true => super::document::path_text(at),
            false => path_text(at),
        };
        let moved = before.is_some() && after.is_some() && self.before != self.after;
        self.out.push(AttributeChange {
            path: path(at),
            before_path: moved.then(|| path(&self.before)),
            before: before.map(text),
            after: after.map(text),
            unknown,
            sensitive,
            forces_replacement,
            changed,
        });
    }
}

/// Returns the identity of an element if it is short and has no characters of the path syntax.
fn label(element: &Value, name: &str) -> Option<String> {
    let text = align::key(element, name)?;
    let text = text.trim_matches('"');
    let plain = !text.is_empty()
        && text.chars().count() <= MAX_LABEL
        && !text.contains(['"', '\\', '[', ']', ' ']);
    plain.then(|| text.to_owned())
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
