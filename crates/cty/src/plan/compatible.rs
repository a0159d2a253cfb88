//! Compatibility of a result with its plan: known values must be unchanged, and unknown ones must
//! stay within their refinements. Used after an apply, and between a first and a second plan.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Violation;
use crate::schema::{Attribute, Block, NestedBlock, Nesting};
use crate::set_order::hash_text;
use crate::transform::step_to;
use crate::{Path, Type, Value, convert};

/// Returns every difference between `actual` and `planned`. Messages do not show the values of
/// sensitive attributes.
pub fn assert_object_compatible(schema: &Block, planned: &Value, actual: &Value) -> Vec<Violation> {
    let mut check = Check {
        violations: Vec::new(),
    };
    let (planned, actual) = (planned.clone().unmark().0, actual.clone().unmark().0);
    check.block(schema, &planned, &actual, &Path::root());
    check.violations
}

#[derive(Default)]
struct Check {
    violations: Vec<Violation>,
}

fn has(value: &Value, key: &Value) -> bool {
    match key.as_str() {
        Some(name) => value.contains_key(name) == Some(true),
        None => value.has_index(key).as_bool() == Some(true),
    }
}

fn at(value: &Value, key: &Value) -> Option<Value> {
    match key.as_str() {
        Some(name) => value.index_str(name),
        None => value.index(key),
    }
}

/// Returns true if the planned value is wholly known and unchanged, the usual case, which needs no
/// further look.
fn is_unchanged(planned: &Value, actual: &Value) -> bool {
    planned.is_wholly_known() && !planned.deep.marked && planned.raw_equals(actual)
}

/// Returns an attribute of an object. It is copied only if it takes marks of the object, or is
/// unknown because the object is.
fn part<'v>(object: &'v Value, name: &str) -> Option<Cow<'v, Value>> {
    match object.as_map() {
        Some(members) if object.marks.is_empty() => members.get(name).map(Cow::Borrowed),
        _ => object.get_attr(name).map(Cow::Owned),
    }
}

impl Check {
    fn fail(&mut self, path: &Path, message: impl Into<String>) {
        self.violations.push((path.clone(), message.into()));
    }

    fn block(&mut self, schema: &Block, planned: &Value, actual: &Value, path: &Path) {
        let root = if path.is_empty() { "root object " } else { "" };
        match (planned.is_null(), actual.is_null()) {
            (true, true) => return,
            (true, false) => return self.fail(path, format!("{root}was absent, but now present")),
            (false, true) => return self.fail(path, format!("{root}was present, but now absent")),
            (false, false) => {}
        }
        for (name, attribute) in &schema.attributes {
            let nothing = || Cow::Owned(Value::null(attribute.implied_type()));
            let planned = part(planned, name).unwrap_or_else(nothing);
            let actual = part(actual, name).unwrap_or_else(nothing);
            if is_unchanged(&planned, &actual) {
                continue;
            }
            let (planned, actual) = (planned.into_owned(), actual.into_owned());
            self.attribute(attribute, planned, actual, &path.attr(name.clone()));
        }
        for (name, nested) in &schema.blocks {
            let nothing = || Value::null(nested.empty_value().ty().clone());
            let planned = planned.get_attr(name).unwrap_or_else(nothing).unmark().0;
            let actual = actual.get_attr(name).unwrap_or_else(nothing).unmark().0;
            if is_unchanged(&planned, &actual) {
                continue;
            }
            self.nested_block(nested, &planned, &actual, &path.attr(name.clone()));
        }
    }

    fn attribute(&mut self, schema: &Attribute, planned: Value, actual: Value, path: &Path) {
        let (planned, planned_marks) = planned.unmark_deep();
        let (actual, actual_marks) = actual.unmark_deep();
        let sensitive = schema.contains_sensitive()
            || planned_marks.is_sensitive()
            || actual_marks.is_sensitive();
        // Collected apart, because the messages quote values and a sensitive attribute gives only
        // one message without them.
        let mut inner = Check::default();
        inner.value(&planned, &actual, path);
        if !sensitive {
            self.violations.append(&mut inner.violations);
        } else if !inner.violations.is_empty() {
            self.fail(path, "inconsistent values for sensitive attribute");
        }
    }

    fn nested_block(&mut self, nested: &NestedBlock, planned: &Value, actual: &Value, path: &Path) {
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                // An unknown planned block may turn out to be absent.
                if planned.is_known() || !actual.is_null() {
                    self.block(&nested.block, planned, actual, path);
                }
            }
            // A map of blocks with dynamic parts is an object, with an attribute for each key.
            Nesting::Map if planned.ty().is_object() => {
                self.blocks_by_attribute(&nested.block, planned, actual, path)
            }
            Nesting::List | Nesting::Map => {
                // Unknown blocks, from a `dynamic` block, may become any number of blocks.
                if !planned.is_given() || !actual.is_given() {
                    return;
                }
                let (before, after) = (planned.len().unwrap_or(0), actual.len().unwrap_or(0));
                if before != after {
                    return self.fail(
                        path,
                        format!("block count changed from {before} to {after}"),
                    );
                }
                for (key, element) in planned.elements() {
                    if let Some(now) = at(actual, &key) {
                        self.block(
                            &nested.block,
                            element,
                            &now,
                            &path.with(step_to(planned, &key)),
                        );
                    }
                }
            }
            Nesting::Set => {
                if !planned.is_given() || !actual.is_given() {
                    return;
                }
                self.sets(planned, actual, path, &|planned, actual| {
                    let mut inner = Check::default();
                    inner.block(&nested.block, planned, actual, &path.index(actual.clone()));
                    inner.violations.is_empty()
                });
                // Fewer elements are allowed: planned ones with unknown parts can turn out to be
                // equal.
                let (before, after) = (planned.len().unwrap_or(0), actual.len().unwrap_or(0));
                if before < after {
                    self.fail(
                        path,
                        format!("block set length changed from {before} to {after}"),
                    );
                }
            }
        }
    }

    fn blocks_by_attribute(
        &mut self,
        schema: &Block,
        planned: &Value,
        actual: &Value,
        path: &Path,
    ) {
        let names = |v: &Value| {
            v.ty()
                .as_object()
                .map(|o| o.attributes.keys().cloned().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        for name in names(planned) {
            match (
                planned.get_attr(&name),
                actual.contains_key(&name),
                actual.get_attr(&name),
            ) {
                (Some(before), Some(true), Some(now)) => {
                    self.block(schema, &before, &now, &path.attr(name))
                }
                (_, Some(true), _) => {}
                _ => self.fail(path, format!("block key {name:?} has vanished")),
            }
        }
        // An unknown planned value can get any keys.
        if planned.is_known() {
            for name in names(actual)
                .iter()
                .filter(|n| planned.contains_key(n) != Some(true))
            {
                self.fail(path, format!("new block key {name:?} has appeared"));
            }
        }
    }

    fn value(&mut self, planned: &Value, actual: &Value, path: &Path) {
        // The provider may choose any type and value.
        if planned.ty().is_dynamic() {
            return;
        }
        if !actual.ty().conforms_to(planned.ty()) {
            let why = convert::mismatch_message(actual.ty(), planned.ty());
            return self.fail(path, format!("wrong final value type: {why}"));
        }
        if !planned.is_known() {
            if planned.range().includes(actual) == Some(false) {
                self.fail(
                    path,
                    format!(
                        "final value {actual} does not conform to planning placeholder {planned}"
                    ),
                );
            }
            return;
        }
        match (planned.is_null(), actual.is_null()) {
            (true, true) => return,
            (false, true) => return self.fail(path, format!("was {planned}, but now null")),
            (true, false) => return self.fail(path, format!("was null, but now {actual}")),
            (false, false) => {}
        }
        if !actual.is_known() {
            return self.fail(path, "was known, but now unknown");
        }
        match planned.ty() {
            Type::List(_) | Type::Map(_) | Type::Tuple(_) => self.elements(planned, actual, path),
            Type::Object(_) => {
                for (name, before) in planned.as_map().into_iter().flatten() {
                    if let Some(now) = actual.get_attr(name) {
                        self.value(before, &now, &path.attr(name.clone()));
                    }
                }
            }
            Type::Set(_) => {
                self.sets(planned, actual, path, &|planned, actual| {
                    let mut inner = Check::default();
                    inner.value(planned, actual, &path.index(actual.clone()));
                    inner.violations.is_empty()
                });
                let (before, after) = (planned.len().unwrap_or(0), actual.len().unwrap_or(0));
                if before < after {
                    self.fail(path, format!("length changed from {before} to {after}"));
                }
            }
            Type::String | Type::Number | Type::Bool | Type::Dynamic => {
                // `equals` and not `raw_equals`, because a number may come back at another
                // precision.
                if actual.equals(planned).as_bool() != Some(true) {
                    self.fail(path, format!("was {planned}, but now {actual}"));
                }
            }
        }
    }

    fn elements(&mut self, planned: &Value, actual: &Value, path: &Path) {
        for (key, before) in planned.elements() {
            match at(actual, &key) {
                Some(now) => self.value(before, &now, &path.index(key)),
                None => self.fail(path, format!("element {key} has vanished")),
            }
        }
        for (key, _) in actual.elements().filter(|(key, _)| !has(planned, key)) {
            self.fail(path, format!("new element {key} has appeared"));
        }
    }

    /// Compares sets: each element needs at least one element on the other side that fits it.
    fn sets(
        &mut self,
        planned: &Value,
        actual: &Value,
        path: &Path,
        fits: &dyn Fn(&Value, &Value) -> bool,
    ) {
        let (before, after) = (
            planned.as_slice().unwrap_or_default(),
            actual.as_slice().unwrap_or_default(),
        );
        // Equal elements are paired first by their text, because large sets are mostly equal and
        // the general search below is quadratic.
        let mut by_text: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, new) in after.iter().enumerate() {
            by_text.entry(hash_text(new)).or_default().push(i);
        }
        let mut met = vec![false; after.len()];
        let mut left = Vec::new();
        for old in before {
            let twins = by_text
                .get(&hash_text(old))
                .map(Vec::as_slice)
                .unwrap_or_default();
            match twins.iter().find(|i| after[**i].raw_equals(old)) {
                Some(i) => met[*i] = true,
                None => left.push(old),
            }
        }
        let mut lost = false;
        for old in left {
            let partners: Vec<usize> = (0..after.len()).filter(|i| fits(old, &after[*i])).collect();
            if partners.is_empty() {
                lost = true;
                self.fail(
                    path,
                    format!(
                        "planned set element {old} does not correlate with any element in actual"
                    ),
                );
            }
            // All candidates count as met, because the true partner of an element cannot be known.
            partners.into_iter().for_each(|i| met[i] = true);
        }
        // An element paired above can also be the origin of an unpaired one.
        for i in (0..after.len()).filter(|i| !met[*i]).collect::<Vec<_>>() {
            met[i] = before.iter().any(|old| fits(old, &after[i]));
        }
        // After a missing element, surplus ones are only a consequence of it.
        if !lost {
            for (new, _) in after.iter().zip(&met).filter(|(_, met)| !**met) {
                self.fail(
                    path,
                    format!("actual set element {new} does not correlate with any element in plan"),
                );
            }
        }
    }
}
