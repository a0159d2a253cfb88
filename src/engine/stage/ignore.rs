//! `lifecycle.ignore_changes`: what the configuration says is replaced by what is there already,
//! before the plan. Pure.

use cty::schema::Block;
use cty::{Path, PathStep, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a resource's `ignore_changes` says.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ignore {
    /// Nothing is ignored.
    #[default]
    Nothing,
    /// `ignore_changes = all`.
    All,
    /// These attributes; a last index step into a map is one key of it.
    Paths(Vec<Path>),
}

/// One ignored place: the whole value at `path`, or one key of the map there.
struct Place {
    path: Path,
    key: Option<String>,
    prior: Value,
}

impl Ignore {
    /// The configuration as it is to be planned. `prior` must be an object; both without marks.
    pub fn apply(&self, block: &Block, prior: &Value, config: &Value) -> Value {
        if prior.is_null() || !prior.is_known() || config.is_null() {
            return config.clone();
        }
        match self {
            Self::Nothing => config.clone(),
            Self::All => without_computed_only(block, prior),
            Self::Paths(paths) => {
                let places: Vec<Place> = paths.iter().filter_map(|p| place(prior, p)).collect();
                rewrite(config, &mut Path::root(), &places)
            }
        }
    }
}

/// The prior object as a configuration: what only the provider sets is null.
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

/// A key at the end of a path means the map around it, or, where that is no map, all of it.
fn place(prior: &Value, path: &Path) -> Option<Place> {
    let (path, key) = match path.steps().split_last() {
        Some((PathStep::Index(key), before)) if key.as_str().is_some() => {
            (Path::new(before.to_vec()), key.as_str().map(str::to_owned))
        }
        _ => (path.clone(), None),
    };
    let prior = path.apply(prior).ok()?;
    Some(Place { path, key, prior })
}

/// The value with every ignored place inside it put back to what it was.
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
            Some(element) if !is_object => {
                Value::try_map(element.clone(), inside).unwrap_or_else(|_| value.clone())
            }
            _ => Value::object_from_map(inside),
        };
    }
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

/// A map of the configuration with the ignored keys as they were: added, changed back or removed.
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
    match value.ty().element_type() {
        _ if map.is_empty() && value.is_null() => value.clone(),
        Some(element) => Value::try_map(element.clone(), map).unwrap_or_else(|_| value.clone()),
        None => value.clone(),
    }
}
