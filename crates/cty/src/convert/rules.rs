//! Rules of convertibility between types, and the most exact result type for values that are null
//! or unknown.

use std::sync::Arc;

use super::unify::unified_type;
use crate::{ObjectType, Type};

/// Returns true if a conversion exists between two different types. The result is undefined for
/// equal types (false for two strings), so callers compare first.
pub(super) fn convertible(from: &Type, to: &Type, is_unsafe: bool) -> bool {
    let fits = |f: &Type, t: &Type| f == t || convertible(f, t, is_unsafe);
    match (from, to) {
        (_, Type::Dynamic) => true,
        (Type::Dynamic, _) => is_unsafe,
        (Type::Number | Type::Bool, Type::String) => true,
        (Type::String, Type::Number | Type::Bool) => is_unsafe,
        (Type::Object(f), Type::Object(t)) => {
            t.attributes
                .iter()
                .all(|(name, want)| match f.attributes.get(name) {
                    Some(have) => fits(have, want),
                    None => t.optional.contains(name),
                })
        }
        (Type::Tuple(f), Type::Tuple(t)) => {
            f.len() == t.len() && f.iter().zip(t.iter()).all(|(a, b)| fits(a, b))
        }
        (Type::List(f) | Type::Set(f), Type::List(t)) => fits(f, t),
        // A set drops order and duplicates, which only an unsafe conversion may do.
        (Type::List(f), Type::Set(t)) => is_unsafe && fits(f, t),
        (Type::Set(f), Type::Set(t)) => fits(f, t),
        (Type::Map(f), Type::Map(t)) => fits(f, t),
        // An element type of `Dynamic` means "one common type", to be found among the elements.
        (Type::Tuple(f), Type::List(t) | Type::Set(t)) => {
            let Some(element) = element_for(f, t, is_unsafe) else {
                return false;
            };
            f.iter().all(|e| fits(e, &element))
        }
        (Type::Object(f), Type::Map(t)) => {
            if f.attributes.is_empty() {
                return true;
            }
            let Some(element) = map_element_for(f, t, is_unsafe) else {
                return false;
            };
            f.attributes.values().all(|e| fits(e, &element))
        }
        // The keys of a map are not part of its type, so a required attribute can be missing.
        (Type::Map(f), Type::Object(t)) => {
            is_unsafe
                && t.attributes
                    .iter()
                    .all(|(name, want)| fits(f, want) || t.optional.contains(name))
        }
        _ => false,
    }
}

/// Returns the element type for a tuple's elements in a list or set of `wanted`; `None` if they
/// have no common type.
pub(super) fn element_for(elements: &[Type], wanted: &Type, is_unsafe: bool) -> Option<Type> {
    if elements.is_empty() || !wanted.is_dynamic() {
        return Some(wanted.clone());
    }
    let unified = unified_type(elements, is_unsafe)?;
    // A dynamic result for known types means that they have nothing in common.
    (!unified.is_dynamic() || elements.iter().all(Type::is_dynamic)).then_some(unified)
}

/// Returns the element type for an object's attributes in a map of `wanted`; `None` if they have no
/// common type.
pub(super) fn map_element_for(object: &ObjectType, wanted: &Type, is_unsafe: bool) -> Option<Type> {
    if !wanted.is_dynamic() {
        return Some(wanted.clone());
    }
    let types: Vec<Type> = object.attributes.values().cloned().collect();
    unified_type(&types, is_unsafe)
}

/// Returns `out` with its dynamic parts replaced by the corresponding parts of `from`.
pub(super) fn fill_dynamic(from: &Type, out: &Type) -> Type {
    let fill_element = |from: Option<Type>, out: &Type| {
        from.map_or_else(|| out.clone(), |f| fill_dynamic(&f, out))
    };
    match (from, out) {
        (Type::Dynamic, _) => out.clone(),
        (_, Type::Dynamic) => from.clone(),
        (Type::Map(f), Type::Map(o)) => Type::map(fill_dynamic(f, o)),
        (Type::Object(f), Type::Map(o)) => {
            let types: Vec<Type> = f.attributes.values().cloned().collect();
            Type::map(fill_element(unified_type(&types, true), o))
        }
        (Type::Map(f), Type::Object(o)) => object(o, |_, t| fill_dynamic(f, t)),
        (Type::Object(f), Type::Object(o)) => object(o, |name, t| {
            f.attributes
                .get(name)
                .map_or_else(|| t.clone(), |from| fill_dynamic(from, t))
        }),
        (Type::Set(f) | Type::List(f), Type::Set(o)) => Type::set(fill_dynamic(f, o)),
        (Type::Set(f) | Type::List(f), Type::List(o)) => Type::list(fill_dynamic(f, o)),
        (Type::Tuple(f), Type::Set(o)) => Type::set(fill_element(unified_type(f, true), o)),
        (Type::Tuple(f), Type::List(o)) => Type::list(fill_element(unified_type(f, true), o)),
        (Type::Tuple(f), Type::Tuple(o)) if f.len() == o.len() => Type::Tuple(
            f.iter()
                .zip(o.iter())
                .map(|(f, o)| fill_dynamic(f, o))
                .collect(),
        ),
        _ => out.clone(),
    }
}

fn object(like: &ObjectType, fill: impl Fn(&str, &Type) -> Type) -> Type {
    let attributes = like
        .attributes
        .iter()
        .map(|(name, t)| (name.clone(), fill(name, t)))
        .collect();
    Type::Object(Arc::new(ObjectType {
        attributes,
        optional: Default::default(),
    }))
}
