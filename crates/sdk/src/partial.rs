//! Completed part of a change that failed half-way. The state keeps exactly this part, so that the
//! next plan shows the rest.

use std::cmp::Ordering;

use cty::{Type, Value};

use crate::diagnostics::Failure;
use crate::provider::{Change, State};

/// Completed part of a change: the prior object with the committed attributes. For a create, the
/// object of nulls with the committed attributes.
#[derive(Clone, Debug)]
pub struct Partial {
    value: Value,
    planned: Value,
    commits: usize,
}

impl Partial {
    /// Starts with nothing committed.
    pub fn of(change: &Change) -> Partial {
        let nothing = || Value::null(change.planned.ty().clone());
        Partial {
            value: match change.prior.is_null() {
                true => with_members(&nothing(), &change.planned),
                false => change.prior.clone(),
            },
            planned: change.planned.clone(),
            commits: 0,
        }
    }

    /// Commits the planned value of an attribute such as `tags`, with everything in it, or a part
    /// of one such as `network.port`, `rules.0` or `labels.env`. Unknown values become null.
    ///
    /// # Errors
    /// There is no such attribute.
    pub fn commit(&mut self, path: &str) -> Result<(), Failure> {
        let planned = self.planned.clone();
        self.commit_from(path, &planned)
    }

    /// Commits an attribute with a value that the plan did not have, such as an id.
    ///
    /// # Errors
    /// There is no such attribute.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Failure> {
        self.commit_from(name, &Value::object([(name, value.into())]))
    }

    pub(crate) fn commit_from(&mut self, path: &str, from: &Value) -> Result<(), Failure> {
        let steps: Vec<&str> = path.split('.').collect();
        let merged = merged(&self.value, from, &steps).ok_or_else(|| {
            let detail = format!("there is no attribute {path}; this is a bug in the provider");
            Failure::new("a part of the change cannot be committed", detail)
        })?;
        self.value = merged;
        self.commits += 1;
        Ok(())
    }

    /// Returns the object with the committed part; `None` if nothing was committed.
    pub fn state(self) -> Option<State> {
        (self.commits > 0).then(|| State::new(self.value))
    }

    /// Adds the committed part to a failure that has no partial object.
    pub fn attach_to(self, failure: Failure) -> Failure {
        match (failure.partial.is_none(), self.state()) {
            (true, Some(state)) => failure.with_partial(state),
            _ => failure,
        }
    }
}

/// Returns `base` with the part of `from` that the steps lead to; `None` if `from` has no such
/// part.
fn merged(base: &Value, from: &Value, steps: &[&str]) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(from.unknown_as_null());
    };
    match from.ty() {
        Type::Object(_) => {
            let inner = from.get_attr(step)?;
            let base = with_members(base, from);
            let before = base.get_attr(step)?;
            let mut members = base.as_map()?.to_map();
            members.insert((*step).into(), merged(&before, &inner, rest)?);
            Some(Value::object_from_map(members))
        }
        Type::Map(element) => {
            let element = element.as_ref();
            let mut members = base.as_map().map(|all| all.to_map()).unwrap_or_default();
            match from.index_str(step) {
                Some(inner) => {
                    let none = Value::null(element.clone());
                    let before = members.get(*step).unwrap_or(&none);
                    let value = merged(before, &inner, rest)?;
                    members.insert((*step).into(), value);
                }
                // The plan removes the key.
                None => drop(members.remove(*step)?),
            }
            Some(Value::map(element.clone(), members))
        }
        Type::List(element) => {
            let element = element.as_ref();
            let at: usize = step.parse().ok()?;
            let inner = from.index_int(at)?;
            let mut elements = base.as_slice().unwrap_or_default().to_vec();
            let none = Value::null(element.clone());
            let value = merged(elements.get(at).unwrap_or(&none), &inner, rest)?;
            // Elements are committed in order; a gap has no value.
            match at.cmp(&elements.len()) {
                Ordering::Less => elements[at] = value,
                Ordering::Equal => elements.push(value),
                Ordering::Greater => return None,
            }
            Some(Value::list(element.clone(), elements))
        }
        _ => None,
    }
}

/// Returns an object as it is; in place of a null, an object whose attributes are null.
fn with_members(object: &Value, like: &Value) -> Value {
    match (object.is_given(), like.ty()) {
        (false, Type::Object(ty)) => {
            let null =
                |(name, ty): (&std::sync::Arc<str>, &Type)| (name.clone(), Value::null(ty.clone()));
            Value::object_from_map(ty.attributes.iter().map(null))
        }
        _ => object.clone(),
    }
}
