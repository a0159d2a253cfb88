//! Traversal of values, and modified copies of them. Unchanged parts are shared with the original.

use std::sync::Arc;

use crate::value::Data;
use crate::{Path, PathStep, Type, Value};

impl Value {
    /// Visits this value and everything inside it, containers first. Members of a container are
    /// visited only if `visit` returned true for it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Path, &Value) -> bool) {
        walk(self, &mut Path::root(), visit);
    }

    /// Returns a copy in which `change` replaces each value, innermost first. Marks of containers
    /// are kept.
    pub fn transform<E>(
        &self,
        change: &mut dyn FnMut(&Path, Value) -> Result<Value, E>,
    ) -> Result<Value, E> {
        transform(self, &mut Path::root(), change)
    }

    /// Returns a copy with `new` at `path`; `None` if the path does not exist or leads into a set.
    pub fn with_at(&self, path: &Path, new: Value) -> Option<Value> {
        replace(self, path.steps(), new)
    }

    /// Replaces unknown parts by null.
    pub fn unknown_as_null(&self) -> Value {
        if !self.deep.unknown {
            return self.clone();
        }
        let changed = self.transform::<std::convert::Infallible>(&mut |_, v| {
            Ok(if v.is_known() {
                v
            } else {
                Value::null(v.ty.clone()).with_marks(&v.marks)
            })
        });
        match changed {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }
}

/// Returns the path step from a container to one of its members.
pub(crate) fn step_to(container: &Value, key: &Value) -> PathStep {
    match (&container.ty, key.as_arc_str()) {
        (Type::Object(_), Some(name)) => PathStep::Attr(name),
        _ => PathStep::Index(key.clone()),
    }
}

fn walk(value: &Value, path: &mut Path, visit: &mut dyn FnMut(&Path, &Value) -> bool) {
    if !visit(path, value) {
        return;
    }
    for (key, inner) in value.elements() {
        path.push(step_to(value, &key));
        walk(inner, path, visit);
        path.pop();
    }
}

fn transform<E>(
    value: &Value,
    path: &mut Path,
    change: &mut dyn FnMut(&Path, Value) -> Result<Value, E>,
) -> Result<Value, E> {
    let rebuilt = match &value.data {
        Data::Seq(_) | Data::Map(_) => {
            let mut parts = Vec::with_capacity(value.len().unwrap_or(0));
            for (key, inner) in value.elements() {
                path.push(step_to(value, &key));
                let changed = transform(inner, path, change);
                path.pop();
                parts.push((key, changed?));
            }
            rebuild(value, parts)
        }
        _ => value.clone(),
    };
    change(path, rebuilt)
}

/// Builds a container like `like` from these members. A collection whose members no longer have one
/// type becomes a tuple or an object.
pub(crate) fn rebuild(like: &Value, parts: Vec<(Value, Value)>) -> Value {
    let element = || {
        like.ty
            .element_type()
            .cloned()
            // If no member kept the old element type, all were changed: the new type is inferred
            // from them.
            .filter(|e| parts.is_empty() || parts.iter().any(|(_, v)| v.ty == *e))
            .unwrap_or(Type::Dynamic)
    };
    let value = match &like.ty {
        Type::Object(object) => Value::object_of_type(object, named_members(parts)),
        Type::Map(_) => {
            let element = element();
            let members = named_members(parts);
            match Value::try_map(element, members.iter().map(|(k, v)| (k.clone(), v.clone()))) {
                Ok(map) => map,
                Err(_) => Value::object_from_map(members),
            }
        }
        Type::Tuple(_) => Value::tuple(parts.into_iter().map(|(_, v)| v).collect()),
        ty => {
            let element = element();
            let elements: Vec<Value> = parts.into_iter().map(|(_, v)| v).collect();
            let made = if ty.is_set() {
                Value::try_set(element, elements.clone())
            } else {
                Value::try_list(element, elements.clone())
            };
            made.unwrap_or_else(|_| Value::tuple(elements))
        }
    };
    value.with_marks(&like.marks)
}

fn named_members(parts: Vec<(Value, Value)>) -> std::collections::BTreeMap<Arc<str>, Value> {
    parts
        .into_iter()
        .filter_map(|(k, v)| Some((k.as_arc_str()?, v)))
        .collect()
}

fn replace(value: &Value, steps: &[PathStep], new: Value) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(new);
    };
    let wanted = match step {
        PathStep::Attr(name) => Value::string(name),
        PathStep::Index(key) => key.clone().unmark().0,
    };
    // Changing an element of a set would change its address.
    if value.ty.is_set() {
        return None;
    }
    let mut found = false;
    let mut parts = Vec::with_capacity(value.len()?);
    for (key, inner) in value.elements() {
        let inner = if key.raw_equals(&wanted) {
            found = true;
            replace(inner, rest, new.clone())?
        } else {
            inner.clone()
        };
        parts.push((key, inner));
    }
    found.then(|| rebuild(value, parts))
}
