//! Which types convert into which; and the most exact type of a converted value that is null or
//! unknown.

use std::sync::Arc;

use super::unify::unified_type;
use crate::{ObjectType, Type};

/// Whether there is a conversion between two different types. Of equal types it says false where
/// nothing is to be done (two strings), so callers compare first.
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
        (Type::List(f), Type::Set(t)) => is_unsafe && fits(f, t),
        (Type::Set(f), Type::Set(t)) => fits(f, t),
        (Type::Map(f), Type::Map(t)) => fits(f, t),
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
        (Type::Map(f), Type::Object(t)) => {
            is_unsafe
                && t.attributes
                    .iter()
                    .all(|(name, want)| fits(f, want) || t.optional.contains(name))
        }
        _ => false,
    }
}

/// The element type which the elements of a tuple take in a list or set of `wanted`.
pub(super) fn element_for(elements: &[Type], wanted: &Type, is_unsafe: bool) -> Option<Type> {
    if elements.is_empty() || !wanted.is_dynamic() {
        return Some(wanted.clone());
    }
    let unified = unified_type(elements, is_unsafe)?;
    (!unified.is_dynamic() || elements.iter().all(Type::is_dynamic)).then_some(unified)
}

/// The element type which the attributes of an object take in a map of `wanted`.
pub(super) fn map_element_for(object: &ObjectType, wanted: &Type, is_unsafe: bool) -> Option<Type> {
    if !wanted.is_dynamic() {
        return Some(wanted.clone());
    }
    let types: Vec<Type> = object.attributes.values().cloned().collect();
    unified_type(&types, is_unsafe)
}

/// `out` with its dynamic parts filled in from what is known of the type `from`.
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
