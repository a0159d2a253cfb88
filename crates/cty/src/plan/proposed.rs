//! Proposed new values: the configuration, with the prior value where the provider decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema};
use crate::transform::rebuild;
use crate::{Path, Type, Value};

/// Returns the proposed new value of an object; null if both prior value and configuration are
/// null.
pub fn proposed_new(schema: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return prior.clone();
    }
    if prior.is_null() {
        of_block(schema, &schema.empty_value(), config)
    } else {
        of_block(schema, prior, config)
    }
}

impl Schema {
    /// Calls [`proposed_new`] for an object of this schema. The empty value for objects to create
    /// is computed once per schema.
    pub fn proposed_new(&self, prior: &Value, config: &Value) -> Value {
        let creates = prior.is_null() && !config.is_null();
        let prior = if creates { self.empty_value() } else { prior };
        proposed_new(&self.block, prior, config)
    }
}

/// Returns the value of a data source whose read is deferred: as configured, and unknown where the
/// provider decides.
pub fn planned_unknown_object(schema: &Block, config: &Value) -> Value {
    of_block(schema, &Value::unknown(schema.implied_type()), config)
}

/// Schema of the elements of nested blocks or nested attributes.
#[derive(Clone, Copy)]
enum Elements<'a> {
    Blocks(&'a Block),
    Objects(&'a NestedObject),
}

impl Elements<'_> {
    fn proposed(self, prior: &Value, config: &Value) -> Value {
        match self {
            Elements::Blocks(block) => proposed_new(block, prior, config),
            Elements::Objects(object) => of_object(object, prior, config),
        }
    }

    fn attribute_at(&self, path: &Path) -> Option<&Attribute> {
        match self {
            Elements::Blocks(block) => block.attribute_at(path),
            Elements::Objects(object) => object.attribute_at(path),
        }
    }
}

fn of_block(schema: &Block, prior: &Value, config: &Value) -> Value {
    // A configuration that is null or unknown as a whole leaves everything to the prior value.
    if !config.is_given() {
        return prior.clone();
    }
    let mut new = of_attributes(&schema.attributes, prior, config);
    for (name, block) in &schema.blocks {
        let empty = || block.empty_value();
        let prior = prior.get_attr(name).unwrap_or_else(empty);
        let config = config.get_attr(name).unwrap_or_else(empty);
        new.insert(name.clone(), of_nested_block(block, &prior, &config));
    }
    with_type_of(config, new)
}

/// Builds an object of these members, with the type of `config` if the members match it.
fn with_type_of(config: &Value, members: BTreeMap<Arc<str>, Value>) -> Value {
    match config.ty() {
        Type::Object(object) => Value::object_of_type(object, members),
        _ => Value::object_from_map(members),
    }
}

fn of_nested_block(schema: &NestedBlock, prior: &Value, config: &Value) -> Value {
    // An unknown `dynamic` block stays unknown until its number is known.
    if !config.is_known() {
        return config.clone();
    }
    match schema.nesting {
        Nesting::Single if config.is_null() => config.clone(),
        Nesting::Single | Nesting::Group => proposed_new(&schema.block, prior, config),
        nesting => of_elements(nesting, Elements::Blocks(&schema.block), prior, config),
    }
}

fn of_object(schema: &NestedObject, prior: &Value, config: &Value) -> Value {
    if !config.is_given() {
        return config.clone();
    }
    with_type_of(config, of_attributes(&schema.attributes, prior, config))
}

fn of_nested_attribute(schema: &NestedObject, prior: &Value, config: &Value) -> Value {
    match schema.nesting {
        Nesting::Single | Nesting::Group => of_object(schema, prior, config),
        nesting => of_elements(nesting, Elements::Objects(schema), prior, config),
    }
}

fn of_attributes(
    attributes: &BTreeMap<Arc<str>, Attribute>,
    prior: &Value,
    config: &Value,
) -> BTreeMap<Arc<str>, Value> {
    let mut new = BTreeMap::new();
    for (name, attribute) in attributes {
        let nothing = || Value::null(attribute.implied_type());
        let prior = prior.get_attr(name).unwrap_or_else(nothing);
        let config = config.get_attr(name).unwrap_or_else(nothing);
        let value = match &attribute.nested {
            // Computed and not configured: the provider decides, so its last decision is proposed.
            _ if attribute.computed && config.is_null() => {
                if has_configured_parts(attribute, &prior) {
                    config
                } else {
                    prior
                }
            }
            Some(nested) => of_nested_attribute(nested, &prior, &config),
            None => config,
        };
        new.insert(name.clone(), value);
    }
    new
}

/// Returns true if a nested attribute is optional and its prior value has parts that only a
/// configuration can have set. If it is no longer configured, the prior value must then not be
/// kept.
fn has_configured_parts(attribute: &Attribute, prior: &Value) -> bool {
    let (true, Some(nested)) = (attribute.optional, &attribute.nested) else {
        return false;
    };
    let mut found = false;
    prior.walk(&mut |path, value| {
        if !value.is_null() {
            found |= nested.attribute_at(path).is_some_and(|a| !a.computed);
        }
        !found
    });
    found
}

fn of_elements(nesting: Nesting, schema: Elements<'_>, prior: &Value, config: &Value) -> Value {
    if !config.is_given() || config.is_empty() {
        return config.clone();
    }
    match nesting {
        Nesting::Set => of_set(schema, prior, config),
        Nesting::Map => {
            let parts = config.elements().map(|(key, new)| {
                let before = key
                    .as_str()
                    .filter(|_| prior.is_given())
                    .and_then(|k| prior.index_str(k));
                (
                    key,
                    before.map_or_else(|| new.clone(), |before| schema.proposed(&before, new)),
                )
            });
            rebuild(config, parts.collect())
        }
        Nesting::List | Nesting::Single | Nesting::Group => {
            // Elements of a list correspond by their number, even if elements were inserted before.
            let parts = config.elements().map(|(key, new)| {
                let before = prior.index(&key);
                (
                    key,
                    before.map_or_else(|| new.clone(), |before| schema.proposed(&before, new)),
                )
            });
            rebuild(config, parts.collect())
        }
    }
}

/// Proposes the elements of a set. They have no keys, so each configured element uses the first
/// prior element that could be its result.
fn of_set(schema: Elements<'_>, prior: &Value, config: &Value) -> Value {
    let before = prior.as_slice().unwrap_or_default();
    let mut used = vec![false; before.len()];
    let parts = config.elements().map(|(key, new)| {
        let partner = before
            .iter()
            .enumerate()
            .position(|(i, old)| !used[i] && may_result_from(schema, old, new));
        let old = match partner {
            Some(i) => {
                used[i] = true;
                before[i].clone()
            }
            None => Value::null(config.ty().element_type().cloned().unwrap_or(Type::Dynamic)),
        };
        (key, schema.proposed(&old, new))
    });
    rebuild(config, parts.collect())
}

/// Returns true if `prior` may be the result of `config`: they differ only in computed attributes.
fn may_result_from(schema: Elements<'_>, prior: &Value, config: &Value) -> bool {
    let config = config.without_refinements();
    let prior = prior.without_refinements();
    if config.raw_equals(&prior) {
        return true;
    }
    let mut possible = true;
    prior.walk(&mut |path, old| {
        let Ok(new) = path.apply(&config) else {
            possible = false;
            return false;
        };
        if !possible || new.raw_equals(old) {
            return false;
        }
        // Nested sets have no paths to compare their elements by.
        if new.ty().is_set() {
            possible = false;
            return false;
        }
        match schema.attribute_at(path) {
            // Containers are followed: only their leaves decide.
            None => true,
            Some(attribute) if attribute.nested.is_some() => true,
            Some(attribute) => {
                possible &= attribute.computed && new.is_null();
                false
            }
        }
    });
    possible
}
