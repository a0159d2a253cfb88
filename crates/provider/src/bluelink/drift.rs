//! Decides which observed values of an object become part of the state. Computed fields count only
//! with `trackDrift`, fields with `ignoreDrift` never. Pure.

use super::convert::{element_of, is_null_or_empty, member_of};
use super::schema::{NodeKind, ty};
use cty::Value;
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;
use std::sync::Arc;

/// Returns the state after a read: `stored` is the previous value, `seen` the observed one.
pub(super) fn merge_observed(node: &Node, stored: &Value, seen: &Value) -> Value {
    if node.ignore_drift {
        return stored.clone();
    }
    // A value not yet in the state is taken over, even if the provider computes it.
    if stored.is_null() {
        return seen.clone();
    }
    if node.computed && !node.track_drift {
        return stored.clone();
    }
    // Plugins do not distinguish null from an empty collection.
    if is_null_or_empty(stored) && is_null_or_empty(seen) {
        return stored.clone();
    }
    if seen.is_null() {
        return seen.clone();
    }
    match NodeKind::of(node) {
        NodeKind::Object if seen.as_map().is_some() => {
            let one = |(name, of): (&String, &Node)| {
                let value = merge_observed(of, &member_of(stored, name), &member_of(seen, name));
                (name.clone(), value)
            };
            Value::object(node.attributes.iter().map(one))
        }
        NodeKind::Map if ty(node).is_map() => match (node.map_values.as_deref(), seen.as_map()) {
            // Keys that no longer exist are dropped, new ones are taken over.
            (Some(of), Some(members)) => {
                let one = |(name, seen): (&Arc<str>, &Value)| {
                    (
                        name.clone(),
                        merge_observed(of, &member_of(stored, name), seen),
                    )
                };
                Value::map(ty(of), members.iter().map(one))
            }
            _ => seen.clone(),
        },
        NodeKind::Array if ty(node).is_list() => list(node, stored, seen),
        _ => seen.clone(),
    }
}

/// Compares a list. Elements of an unordered list keep their stored positions.
fn list(node: &Node, stored: &Value, seen: &Value) -> Value {
    let (Some(of), Some(items)) = (node.items.as_deref(), seen.as_slice()) else {
        return seen.clone();
    };
    let by = node.sort_array_by_field.as_str();
    let mut items = items.to_vec();
    if !by.is_empty() {
        let stored = stored.as_slice().unwrap_or_default();
        let place = |item: &Value| {
            let key = member_of(item, by);
            // The sort is stable, and new elements go to the end.
            let same = |s: &Value| member_of(s, by).raw_equals(&key);
            stored.iter().position(same).unwrap_or(usize::MAX)
        };
        items.sort_by_key(place);
    }
    let one = |(index, seen): (usize, &Value)| merge_observed(of, &element_of(stored, index), seen);
    let all: Vec<Value> = items.iter().enumerate().map(one).collect();
    Value::list(ty(of), all)
}
