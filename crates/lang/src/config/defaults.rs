//! Applies the default values of a type constraint.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

use super::model::Defaults;

impl Defaults {
    fn child(&self, key: &str) -> Option<&Defaults> {
        // The empty key stands for all elements of a collection.
        self.children.get(key).or_else(|| self.children.get(""))
    }

    /// Replaces absent and null attributes by their defaults. The result may still need conversion
    /// to the type.
    pub fn apply(&self, value: &Value) -> Value {
        if value.is_null() || !value.is_known() {
            return value.clone();
        }
        let (inner, marks) = value.clone().unmark();
        let ty = inner.ty().clone();
        let out = if ty.is_object() || ty.is_map() {
            self.apply_to_map(&inner, &ty)
        } else if ty.is_list() || ty.is_set() || ty.is_tuple() {
            self.apply_to_sequence(&inner, &ty)
        } else {
            inner
        };
        out.with_marks(&marks)
    }

    fn apply_to_sequence(&self, value: &Value, ty: &Type) -> Value {
        let elements: Vec<Value> = value
            .as_slice()
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(i, element)| {
                self.child(&i.to_string())
                    .map_or_else(|| element.clone(), |d| d.apply(element))
            })
            .collect();
        // An empty collection keeps its element type.
        if elements.is_empty() {
            return value.clone();
        }
        // Defaults can change the types of elements, so their common type is determined again.
        if !ty.is_tuple()
            && let Some((element, converted)) = unified(&elements)
        {
            return if ty.is_set() {
                Value::set(element, converted)
            } else {
                Value::list(element, converted)
            };
        }
        Value::tuple(elements)
    }

    fn apply_to_map(&self, value: &Value, ty: &Type) -> Value {
        let mut out: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (key, element) in value.as_map().into_iter().flatten() {
            out.insert(
                key.clone(),
                self.child(key)
                    .map_or_else(|| element.clone(), |d| d.apply(element)),
            );
        }
        for (name, default) in &self.values {
            let absent = out.get(name).is_none_or(Value::is_null);
            if absent {
                let value = self
                    .children
                    .get(name)
                    .map_or_else(|| default.clone(), |d| d.apply(default));
                out.insert(name.clone(), value);
            } else if !default.is_null()
                && let Some(value) = out.get_mut(name)
                && !value.is_known()
                && !value.ty().is_dynamic()
            {
                // The default replaces null, so the unknown value cannot become null.
                *value = value.refine_not_null();
            }
        }
        if ty.is_map() {
            // An empty map keeps its element type.
            if out.is_empty() {
                return value.clone();
            }
            let elements: Vec<Value> = out.values().cloned().collect();
            if let Some((element, converted)) = unified(&elements) {
                return Value::map(element, out.into_keys().zip(converted));
            }
        }
        Value::object(out)
    }
}

/// Converts the elements to a common type, if there is one.
fn unified(elements: &[Value]) -> Option<(Type, Vec<Value>)> {
    let types: Vec<Type> = elements.iter().map(|e| e.ty().clone()).collect();
    let unified = cty::unify_unsafe(&types)?;
    let converted = elements
        .iter()
        .enumerate()
        .map(|(i, e)| unified.convert(i, e).ok())
        .collect::<Option<Vec<_>>>()?;
    Some((unified.ty, converted))
}
