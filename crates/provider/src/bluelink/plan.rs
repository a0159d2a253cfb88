//! Computes the plan of a resource from schema, configuration and prior state, because the protocol
//! has no call for it. Pure.

use super::convert::{decode, element_of, member_of};
use super::decode_error::DecodeError;
use super::schema::{Definition, NodeKind, is_provider_set, ty};
use cty::{Path, Value};
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Planned value with the paths that require replacement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    pub(super) value: Value,
    pub(super) requires_replace: Vec<Path>,
}

/// Plans the change from `prior` (null for a create) to `config`. `unstable` plans an update even
/// without a difference, because the deploy waits for stability and the provider may set values
/// meanwhile.
///
/// # Errors
/// A default value does not match its schema.
pub(super) fn plan(
    of: &Definition,
    prior: &Value,
    config: &Value,
    unstable: bool,
) -> Result<Planned, DecodeError> {
    let node = &of.node;
    let creates = prior.is_null();
    // First without changes of computed fields: if nothing else differs, there is no change.
    let settled = Settle { fresh: creates }.value(node, config, prior)?;
    if creates {
        return Ok(Planned {
            value: settled,
            requires_replace: Vec::new(),
        });
    }
    if settled.raw_equals(prior) && !unstable {
        return Ok(Planned {
            value: settled,
            requires_replace: Vec::new(),
        });
    }
    // Something differs, so the provider may set every computed field anew.
    let value = Settle { fresh: true }.value(node, config, prior)?;
    let value = retain_id(of, prior, value);
    let mut requires_replace = Vec::new();
    collect_replace_paths(
        node,
        prior,
        &value,
        false,
        &Path::root(),
        &mut requires_replace,
    );
    Ok(Planned {
        value,
        requires_replace,
    })
}

/// Keeps the id of an object in an update: it does not change with other fields.
fn retain_id(of: &Definition, prior: &Value, value: Value) -> Value {
    let id = member_of(prior, &of.id_field);
    let is_set = of
        .node
        .attributes
        .get(&of.id_field)
        .is_some_and(|n| n.computed);
    let Some(members) = value.as_map().filter(|_| is_set && !id.is_null()) else {
        return value;
    };
    let mut members = members.to_map();
    members.insert(of.id_field.as_str().into(), id);
    Value::object_from_map(members)
}

/// Resolution of values that the configuration omits.
struct Settle {
    /// True if the provider sets computed fields anew.
    fresh: bool,
}

impl Settle {
    fn value(&self, node: &Node, config: &Value, prior: &Value) -> Result<Value, DecodeError> {
        let wanted = ty(node);
        // The structure of an unknown value is unknown too.
        if !config.is_known() {
            return Ok(Value::unknown(wanted));
        }
        if config.is_null() {
            return self.omitted(node, prior);
        }
        match NodeKind::of(node) {
            NodeKind::Object if wanted.is_object() => {
                let one = |(name, of): (&String, &Node)| {
                    let config = member_of(config, name);
                    let value = self.value(of, &config, &member_of(prior, name))?;
                    Ok((name.clone(), value))
                };
                let all = node.attributes.iter().map(one);
                Ok(Value::object(all.collect::<Result<Vec<_>, DecodeError>>()?))
            }
            NodeKind::Map if wanted.is_map() => {
                let (Some(of), Some(members)) = (node.map_values.as_deref(), config.as_map())
                else {
                    return Ok(config.clone());
                };
                let one = |(name, config): (&Arc<str>, &Value)| {
                    let value = self.value(of, config, &member_of(prior, name))?;
                    Ok((name.clone(), value))
                };
                let all = members
                    .iter()
                    .map(one)
                    .collect::<Result<Vec<_>, DecodeError>>()?;
                Ok(Value::map(ty(of), all))
            }
            NodeKind::Array if wanted.is_list() => self.list(node, config, prior),
            _ => Ok(config.clone()),
        }
    }

    fn omitted(&self, node: &Node, prior: &Value) -> Result<Value, DecodeError> {
        let wanted = ty(node);
        // The provider sets computed fields, so their defaults do not count.
        if let Some(default) = node.default_value.as_ref().filter(|_| !node.computed) {
            let like = Value::null(wanted);
            return decode(Some(default), node, &like, "a default value");
        }
        if !node.computed && !is_provider_set(node) {
            return Ok(Value::null(wanted));
        }
        // The provider sets computed fields only during a deploy.
        Ok(match self.fresh {
            true => Value::unknown(wanted),
            false if prior.is_null() => Value::null(wanted),
            false => prior.clone(),
        })
    }

    /// Plans a list. An unordered list with the same elements keeps its prior order.
    fn list(&self, node: &Node, config: &Value, prior: &Value) -> Result<Value, DecodeError> {
        let (Some(of), Some(items)) = (node.items.as_deref(), config.as_slice()) else {
            return Ok(config.clone());
        };
        let by = node.sort_array_by_field.as_str();
        let before = by_key(prior, by);
        // Matched by key, because another order must not mix values of different elements.
        let one = |(index, config): (usize, &Value)| {
            let same = key(config, by).and_then(|key| before.get(&key).cloned());
            let prior = same.unwrap_or_else(|| element_of(prior, index));
            self.value(of, config, &prior)
        };
        let all = items.iter().enumerate().map(one);
        let all = all.collect::<Result<Vec<_>, DecodeError>>()?;
        let value = Value::list(ty(of), all);
        let sorted = |value: &Value| by_key(value, by).into_values().collect::<Vec<_>>();
        let (new, old) = (sorted(&value), sorted(prior));
        let whole = value.len() == prior.len() && Some(new.len()) == value.len();
        let same = new.iter().zip(&old).all(|(a, b)| a.raw_equals(b));
        match !by.is_empty() && whole && same {
            true => Ok(prior.clone()),
            false => Ok(value),
        }
    }
}

/// Returns the key of an element of an unordered list.
fn key(element: &Value, by: &str) -> Option<String> {
    if by.is_empty() {
        return None;
    }
    let key = member_of(element, by);
    let key = key.is_known().then_some(key)?;
    cty::json::to_json_value(&key)
        .ok()
        .map(|json| json.to_string())
}

fn by_key(list: &Value, by: &str) -> BTreeMap<String, Value> {
    let known = list.is_known() && !list.is_null();
    let items = if known {
        list.as_slice().unwrap_or_default()
    } else {
        &[]
    };
    let all = items
        .iter()
        .filter_map(|item| Some((key(item, by)?, item.clone())));
    all.collect()
}

/// Collects the paths that require replacement: existing fields with `mustRecreate` that change to
/// another value. Added and removed fields do not count, as in Bluelink's own host.
fn collect_replace_paths(
    node: &Node,
    prior: &Value,
    planned: &Value,
    inherited: bool,
    at: &Path,
    found: &mut Vec<Path>,
) {
    let must = inherited || node.must_recreate;
    if node.computed || prior.is_null() || planned.raw_equals(prior) {
        return;
    }
    if planned.is_known() && planned.is_null() {
        return;
    }
    // An unknown value that the provider fills may stay the same, so it forces no replacement.
    if !planned.is_known() {
        if must && !is_provider_set(node) {
            found.push(at.clone());
        }
        return;
    }
    match NodeKind::of(node) {
        NodeKind::Object if prior.as_map().is_some() => {
            for (name, of) in &node.attributes {
                let (prior, planned) = (member_of(prior, name), member_of(planned, name));
                collect_replace_paths(of, &prior, &planned, must, &at.attr(name.as_str()), found);
            }
        }
        NodeKind::Array if node.items.is_some() && prior.as_slice().is_some() => {
            let of = node.items.as_deref().unwrap_or(node);
            for index in 0..prior.len().min(planned.len()).unwrap_or(0) {
                let (prior, planned) = (element_of(prior, index), element_of(planned, index));
                collect_replace_paths(of, &prior, &planned, must, &at.index_int(index), found);
            }
        }
        NodeKind::Map if node.map_values.is_some() && prior.as_map().is_some() => {
            let of = node.map_values.as_deref().unwrap_or(node);
            for name in prior.as_map().into_iter().flat_map(|all| all.keys()) {
                let (prior, planned) = (member_of(prior, name), member_of(planned, name));
                collect_replace_paths(of, &prior, &planned, must, &at.index_str(name), found);
            }
        }
        _ if must => found.push(at.clone()),
        _ => {}
    }
}
