//! Unification: one type for values of several types, as for the arms of a conditional or the
//! elements of a list.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::rules::convertible;
use super::{ConvertError, apply};
use crate::{ObjectType, Type, Value};

/// Result of a unification.
#[derive(Debug, Clone, PartialEq)]
pub struct Unified {
    /// Unified type.
    pub ty: Type,
    /// Conversion for each given type; `None` if it is the unified type already.
    pub conversions: Vec<Option<Conversion>>,
}

/// Conversion of a value to the unified type.
#[derive(Debug, Clone, PartialEq)]
pub enum Conversion {
    /// To this type.
    To(Type),
    /// To a wholly unknown value, because another of the types is still unknown.
    ToDynamic,
}

impl Conversion {
    /// Converts a value of the type that this conversion was made for.
    pub fn apply(&self, value: &Value) -> Result<Value, ConvertError> {
        match self {
            Conversion::To(ty) => apply::apply(value, ty, true, &mut apply::Position::default()),
            Conversion::ToDynamic => Ok(Value::dynamic().with_marks(value.marks())),
        }
    }
}

impl Unified {
    /// Converts a value of the `i`th given type.
    pub fn convert(&self, i: usize, value: &Value) -> Result<Value, ConvertError> {
        match self.conversions.get(i).and_then(Option::as_ref) {
            Some(conversion) => conversion.apply(value),
            None => Ok(value.clone()),
        }
    }
}

/// Returns the most specific type that values of all these types convert to without failure; `None`
/// if no such type exists.
pub fn unify(types: &[Type]) -> Option<Unified> {
    distinct(types, false)
}

/// Like [`unify`], with conversions that may fail for some values.
pub fn unify_unsafe(types: &[Type]) -> Option<Unified> {
    distinct(types, true)
}

pub(super) fn unified_type(types: &[Type], is_unsafe: bool) -> Option<Type> {
    distinct(types, is_unsafe).map(|u| u.ty)
}

/// Unifies each distinct type once, so that a tuple of 10,000 numbers costs as much as one of two.
fn distinct(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let first = types.first()?;
    if types.iter().all(|t| t == first) {
        return Some(Unified {
            ty: first.clone(),
            conversions: vec![None; types.len()],
        });
    }
    let mut seen: BTreeMap<&Type, usize> = BTreeMap::new();
    let mut once: Vec<Type> = Vec::new();
    let places: Vec<usize> = types
        .iter()
        .map(|t| {
            *seen.entry(t).or_insert_with(|| {
                once.push(t.clone());
                once.len() - 1
            })
        })
        .collect();
    let unified = choose(&once, is_unsafe)?;
    let conversions = places
        .iter()
        .map(|&i| unified.conversions[i].clone())
        .collect();
    Some(Unified {
        ty: unified.ty,
        conversions,
    })
}

#[derive(Default)]
struct Kinds {
    map: usize,
    list: usize,
    set: usize,
    object: usize,
    tuple: usize,
    dynamic: usize,
}

fn choose(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let mut k = Kinds::default();
    for ty in types {
        match ty {
            Type::Map(_) => k.map += 1,
            Type::List(_) => k.list += 1,
            Type::Set(_) => k.set += 1,
            Type::Object(_) => k.object += 1,
            Type::Tuple(_) => k.tuple += 1,
            Type::Dynamic => k.dynamic += 1,
            Type::String | Type::Number | Type::Bool => {}
        }
    }
    // The order of the cases is that of go-cty.
    let all = types.len();
    let only = |kind: usize| kind > 0 && kind + k.dynamic == all;
    // The dynamic type may turn out to be of the same kind with other element types, so nothing
    // more specific is certain.
    if k.dynamic > 0
        && (only(k.map) || only(k.list) || only(k.set) || only(k.object) || only(k.tuple))
    {
        return Some(Unified {
            ty: Type::Dynamic,
            conversions: vec![Some(Conversion::ToDynamic); all],
        });
    }
    if only(k.map) {
        return collections(types, Type::map, is_unsafe);
    }
    if k.map > 0 && k.map + k.object + k.dynamic == all {
        if let Some(found) =
            structural_as_collection(types, is_unsafe, Type::is_object, Type::is_map)
        {
            return Some(found);
        }
    } else if only(k.list) {
        return collections(types, Type::list, is_unsafe);
    } else if k.list > 0 && k.list + k.tuple + k.dynamic == all {
        if let Some(found) =
            structural_as_collection(types, is_unsafe, Type::is_tuple, Type::is_list)
        {
            return Some(found);
        }
    } else if only(k.set) {
        return collections(types, Type::set, is_unsafe);
    } else if only(k.object) {
        return objects(types, is_unsafe);
    } else if only(k.tuple) {
        return tuples(types, is_unsafe);
    // Objects and tuples have no common collection type.
    } else if k.object > 0 && k.tuple > 0 {
        return None;
    }
    // No structural rule applies: the first type that all others convert to is the result.
    let order = indices_by_generality(types);
    order
        .into_iter()
        .find_map(|wanted| convert_all_to(types, types[wanted].clone(), is_unsafe))
}

/// Returns `ty` with the conversions to it, if all types can be converted.
fn convert_all_to(types: &[Type], ty: Type, is_unsafe: bool) -> Option<Unified> {
    let conversions = types.iter().map(|t| {
        if *t == ty {
            return Some(None);
        }
        convertible(t, &ty, is_unsafe).then(|| Some(Conversion::To(ty.clone())))
    });
    Some(Unified {
        conversions: conversions.collect::<Option<_>>()?,
        ty: ty.clone(),
    })
}

fn collections(types: &[Type], make: fn(Type) -> Type, is_unsafe: bool) -> Option<Unified> {
    let elements: Vec<Type> = types
        .iter()
        .filter_map(|t| t.element_type().cloned())
        .collect();
    convert_all_to(types, make(unified_type(&elements, is_unsafe)?), is_unsafe)
}

/// Replaces tuples beside lists by a list type and objects beside maps by a map type, then unifies
/// the result.
fn structural_as_collection(
    types: &[Type],
    is_unsafe: bool,
    structural: fn(&Type) -> bool,
    collection: fn(&Type) -> bool,
) -> Option<Unified> {
    let given: Vec<Type> = types.iter().filter(|t| structural(t)).cloned().collect();
    let one = if given[0].is_tuple() {
        tuples_to_list(&given, is_unsafe)?
    } else {
        objects_to_map(&given, is_unsafe)?
    };
    if !collection(&one.ty) {
        return None;
    }
    let replaced: Vec<Type> = types
        .iter()
        .map(|t| {
            if structural(t) {
                one.ty.clone()
            } else {
                t.clone()
            }
        })
        .collect();
    let mut unified = distinct(&replaced, is_unsafe)?;
    if !collection(&unified.ty) {
        return None;
    }
    // The replaced types unified without a conversion, but their values are still tuples or
    // objects.
    for (i, t) in types.iter().enumerate() {
        if structural(t) && unified.conversions[i].is_none() {
            unified.conversions[i] = Some(Conversion::To(unified.ty.clone()));
        }
    }
    Some(unified)
}

fn objects(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let attributes: Vec<&ObjectType> = types.iter().filter_map(Type::as_object).collect();
    let first = attributes[0];
    // Objects with different attributes can only unify as a map.
    if attributes
        .iter()
        .any(|o| !o.attributes.keys().eq(first.attributes.keys()))
    {
        return objects_to_map(types, is_unsafe);
    }
    let mut unified = ObjectType::default();
    for name in first.attributes.keys() {
        let across: Vec<Type> = attributes
            .iter()
            .filter_map(|o| o.attributes.get(name).cloned())
            .collect();
        unified
            .attributes
            .insert(name.clone(), unified_type(&across, is_unsafe)?);
    }
    convert_all_to(types, Type::Object(Arc::new(unified)), is_unsafe)
        .or_else(|| objects_to_map(types, is_unsafe))
}

fn objects_to_map(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let all: Vec<Type> = types
        .iter()
        .filter_map(Type::as_object)
        .flat_map(|o| o.attributes.values().cloned())
        .collect();
    convert_all_to(types, Type::map(unified_type(&all, is_unsafe)?), is_unsafe)
}

fn tuples(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let elements: Vec<&[Type]> = types.iter().filter_map(Type::tuple_elements).collect();
    let length = elements[0].len();
    if elements.iter().any(|e| e.len() != length) {
        return tuples_to_list(types, is_unsafe);
    }
    let mut unified = Vec::with_capacity(length);
    for i in 0..length {
        let across: Vec<Type> = elements.iter().map(|e| e[i].clone()).collect();
        unified.push(unified_type(&across, is_unsafe)?);
    }
    convert_all_to(types, Type::tuple(unified), is_unsafe)
        .or_else(|| tuples_to_list(types, is_unsafe))
}

fn tuples_to_list(types: &[Type], is_unsafe: bool) -> Option<Unified> {
    let all: Vec<Type> = types
        .iter()
        .filter_map(Type::tuple_elements)
        .flat_map(|e| e.iter().cloned())
        .collect();
    convert_all_to(types, Type::list(unified_type(&all, is_unsafe)?), is_unsafe)
}

/// Returns indices of the types, with more general types before those that convert to them, and
/// otherwise in the given order.
fn indices_by_generality(types: &[Type]) -> Vec<usize> {
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); types.len()];
    let mut waits_for = vec![0usize; types.len()];
    for i in 0..types.len() {
        for j in i + 1..types.len() {
            let (general, special) = match generality(&types[i], &types[j]) {
                n if n < 0 => (i, j),
                n if n > 0 => (j, i),
                _ => continue,
            };
            after[general].insert(special);
            waits_for[special] += 1;
        }
    }
    // Topological sort; the queue keeps the given order among types that do not depend on each
    // other.
    let mut ready: VecDeque<usize> = (0..types.len()).filter(|&i| waits_for[i] == 0).collect();
    let mut order = Vec::with_capacity(types.len());
    while let Some(i) = ready.pop_front() {
        order.push(i);
        for &j in &after[i] {
            waits_for[j] -= 1;
            if waits_for[j] == 0 {
                ready.push_back(j);
            }
        }
    }
    order
}

/// Compares generality: negative if `a` is more general than `b`, positive if less, 0 if neither.
/// Known types are ordered before `Dynamic`.
fn generality(a: &Type, b: &Type) -> i32 {
    match (a, b) {
        (Type::Dynamic, Type::Dynamic) => 0,
        (_, Type::Dynamic) => -1,
        (Type::Dynamic, _) => 1,
        (Type::String, Type::Number | Type::Bool) => -1,
        (Type::Number | Type::Bool, Type::String) => 1,
        (Type::List(x), Type::List(y))
        | (Type::Set(x), Type::Set(y))
        | (Type::Map(x), Type::Map(y)) => generality(x, y),
        (Type::Tuple(_) | Type::List(_), Type::Set(_)) => -1,
        (Type::Set(_), Type::Tuple(_) | Type::List(_)) => 1,
        (Type::List(_), Type::Tuple(_)) | (Type::Map(_), Type::Object(_)) => -1,
        (Type::Tuple(_), Type::List(_)) | (Type::Object(_), Type::Map(_)) => 1,
        (Type::Object(x), Type::Object(y)) if x.attributes.keys().eq(y.attributes.keys()) => {
            compare_generality(x.attributes.values().zip(y.attributes.values()))
        }
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            compare_generality(x.iter().zip(y.iter()))
        }
        _ => 0,
    }
}

fn compare_generality<'a>(pairs: impl Iterator<Item = (&'a Type, &'a Type)>) -> i32 {
    let (mut left, mut right) = (false, false);
    for (a, b) in pairs {
        let n = generality(a, b);
        left |= n < 0;
        right |= n > 0;
    }
    // Mixed directions give 0: neither type is more general.
    i32::from(right) - i32::from(left)
}
