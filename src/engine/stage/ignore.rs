//! `lifecycle.ignore_changes`: replaces ignored parts of the configuration by the prior values
//! before the plan. Pure.

use cty::schema::Block;
use cty::{Path, PathStep, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `ignore_changes` of a resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ignore {
    /// Nothing is ignored.
    #[default]
    Nothing,
    /// `ignore_changes = all`.
    All,
    /// These attributes; if the last step is an index into a map, only that key.
    Paths(Vec<Path>),
}

/// Ignored value: all of `path`, or one key of the map there.
struct Place {
    path: Path,
    key: Option<String>,
    prior: Value,
}

impl Ignore {
    /// Returns the configuration to plan with. `prior` must be an object; neither value may have
    /// marks.
    pub fn apply(&self, block: &Block, prior: &Value, config: &Value) -> Value {
        // Without a prior object there are no values to keep.
        if prior.is_null() || !prior.is_known() || config.is_null() {
            return config.clone();
        }
        match self {
            Self::Nothing => config.clone(),
            Self::All => without_computed_only(block, prior),
            Self::Paths(paths) => {
                let places: Vec<Place> = paths
                    .iter()
                    .filter_map(|p| resolve_path(prior, p))
                    .collect();
                rewrite(config, &mut Path::root(), &places)
            }
        }
    }
}

/// Returns the prior object as a configuration: attributes that only the provider sets are null.
fn without_computed_only(block: &Block, prior: &Value) -> Value {
    let Some(map) = prior.as_map() else {
        return prior.clone();
    };
    let attributes = map.iter().map(|(name, value)| {
        let computed_only = block
            .attributes
            .get(name.as_ref())
            .is_some_and(|a| a.computed && !a.optional);
        (
            name.clone(),
            if computed_only {
                Value::null(value.ty().clone())
            } else {
                value.clone()
            },
        )
    });
    Value::object(attributes)
}

/// Resolves an ignored path. A string key at the end addresses one key of a map, or the whole value
/// if that is not a map.
fn resolve_path(prior: &Value, path: &Path) -> Option<Place> {
    let (path, key) = match path.steps().split_last() {
        Some((PathStep::Index(key), before)) if key.as_str().is_some() => {
            (Path::new(before.to_vec()), key.as_str().map(str::to_owned))
        }
        _ => (path.clone(), None),
    };
    let prior = path.apply(prior).ok()?;
    Some(Place { path, key, prior })
}

/// Returns the value with the prior values at all ignored paths.
fn rewrite(value: &Value, at: &mut Path, places: &[Place]) -> Value {
    let here: Vec<&Place> = places.iter().filter(|p| p.path == *at).collect();
    let whole = |p: &&&Place| p.key.is_none() || !value.ty().is_map();
    if let Some(whole) = here.iter().find(whole) {
        return whole.prior.clone();
    }
    if !here.is_empty() {
        return rewrite_keys(value, &here);
    }
    if value.is_null()
        || !value.is_known()
        || !places
            .iter()
            .any(|p| p.path.starts_with(at) && p.path.len() > at.len())
    {
        return value.clone();
    }
    if let Some(map) = value.as_map() {
        let is_object = value.ty().is_object();
        let inside: BTreeMap<Arc<str>, Value> = map
            .iter()
            .map(|(name, inner)| {
                at.push(if is_object {
                    PathStep::Attr(name.clone())
                } else {
                    PathStep::Index(Value::string(name))
                });
                let new = rewrite(inner, at, places);
                at.pop();
                (name.clone(), new)
            })
            .collect();
        return match value.ty().element_type() {
            // A prior element of another type does not fit into the collection, which then stays as
            // configured.
            Some(element) if !is_object => {
                Value::try_map(element.clone(), inside).unwrap_or_else(|_| value.clone())
            }
            _ => Value::object_from_map(inside),
        };
    }
    // Elements of a set have no paths that could be ignored one by one.
    if let Some(slice) = value.as_slice().filter(|_| !value.ty().is_set()) {
        let inside: Vec<Value> = slice
            .iter()
            .enumerate()
            .map(|(i, inner)| {
                at.push(PathStep::Index(Value::int(i as i64)));
                let new = rewrite(inner, at, places);
                at.pop();
                new
            })
            .collect();
        return match value.ty().element_type() {
            Some(element) => {
                Value::try_list(element.clone(), inside).unwrap_or_else(|_| value.clone())
            }
            None => Value::tuple(inside),
        };
    }
    value.clone()
}

/// Returns a map of the configuration with its ignored keys restored: added, changed back or
/// removed.
fn rewrite_keys(value: &Value, here: &[&Place]) -> Value {
    if !value.is_known() {
        return value.clone();
    }
    let mut map: BTreeMap<Arc<str>, Value> =
        value.as_map().map(cty::Members::to_map).unwrap_or_default();
    for place in here {
        let Some(key) = &place.key else { continue };
        match place.prior.as_map().and_then(|m| m.get(key.as_str())) {
            Some(old) => {
                map.insert(key.as_str().into(), old.clone());
            }
            None => {
                map.remove(key.as_str());
            }
        }
    }
    // A null map stays null: an empty one would be a change.
    match value.ty().element_type() {
        _ if map.is_empty() && value.is_null() => value.clone(),
        Some(element) => Value::try_map(element.clone(), map).unwrap_or_else(|_| value.clone()),
        None => value.clone(),
    }
}
