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
                // The path of a commit leads through members, which a null object does not have.
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
        // Only the named attribute is merged, so the object needs no other members.
        self.commit_from(name, &Value::object([(name, value.into())]))
    }

    pub(crate) fn commit_from(&mut self, path: &str, from: &Value) -> Result<(), Failure> {
        let steps: Vec<&str> = path.split('.').collect();
        let merged = merged(&self.value, from, &steps).ok_or_else(|| {
            let detail = format!("there is no attribute {path}; this is a bug in the provider");
            Failure::new("a part of the change cannot be committed", detail)
        })?;
        // An invalid path returns above, and leaves the earlier commits as they are.
        self.value = merged;
        self.commits += 1;
        Ok(())
    }

    /// Returns the object with the committed part; `None` if nothing was committed.
    pub fn state(self) -> Option<State> {
        // Without a partial object, a failed change leaves the prior state as it is.
        (self.commits > 0).then(|| State::new(self.value))
    }

    /// Adds the committed part to a failure that has no partial object.
    pub fn attach_to(self, failure: Failure) -> Failure {
        match (failure.partial.is_none(), self.state()) {
            // An object from the author can have more than the committed attributes, so it is kept.
            (true, Some(state)) => failure.with_partial(state),
            _ => failure,
        }
    }
}

/// Returns `base` with the part of `from` that the steps lead to; `None` if `from` has no such
/// part.
fn merged(base: &Value, from: &Value, steps: &[&str]) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        // A state cannot hold unknown values.
        return Some(from.unknown_as_null());
    };
    match from.ty() {
        Type::Object(_) => {
            let inner = from.get_attr(step)?;
            // The prior object can have a null here, in which no member could be replaced.
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
        // Sets have no keys and primitives no parts, so a path cannot lead into them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, port: i64, rules: &[&str], labels: &[(&str, &str)]) -> Value {
        let network = Value::object([("name", Value::string(name)), ("port", Value::int(port))]);
        let rules = rules.iter().map(Value::string).collect();
        let labels = labels.iter().map(|(key, text)| (*key, Value::string(text)));
        Value::object([
            ("id", Value::string("i-1")),
            ("network", network),
            ("rules", Value::list(Type::String, rules)),
            ("labels", Value::map(Type::String, labels)),
        ])
    }

    fn change(prior: Value, planned: Value) -> Change {
        Change {
            config: planned.clone(),
            prior,
            planned,
            private: Vec::new(),
        }
    }

    /// State after these commits; `None` if nothing was committed.
    fn after(commits: &[&str]) -> Option<Value> {
        let before = server("a", 1, &["x", "y"], &[("env", "old"), ("gone", "1")]);
        let planned = server("b", 2, &["z", "y", "w"], &[("env", "new")]);
        let mut partial = Partial::of(&change(before, planned));
        for path in commits {
            partial.commit(path).unwrap();
        }
        partial.state().map(|state| state.value)
    }

    #[test]
    fn s4_08_a_commit_takes_a_whole_attribute_or_a_part_of_it() {
        let (rules, labels) = (&["x", "y"][..], &[("env", "old"), ("gone", "1")][..]);
        assert_eq!(after(&[]), None);
        let cases = [
            ("network", server("b", 2, rules, labels)),
            ("network.port", server("a", 2, rules, labels)),
            ("rules", server("a", 1, &["z", "y", "w"], labels)),
            ("rules.0", server("a", 1, &["z", "y"], labels)),
            ("rules.2", server("a", 1, &["x", "y", "w"], labels)),
            (
                "labels.env",
                server("a", 1, rules, &[("env", "new"), ("gone", "1")]),
            ),
            ("labels.gone", server("a", 1, rules, &[("env", "old")])),
        ];
        for (path, wanted) in cases {
            assert_eq!(after(&[path]), Some(wanted), "{path}");
        }
        let both = after(&["network.name", "rules.0"]);
        assert_eq!(both, Some(server("b", 1, &["z", "y"], labels)));
    }

    #[test]
    fn commit_of_a_part_that_does_not_exist_is_an_error() {
        let same = || server("a", 1, &["x"], &[]);
        let mut partial = Partial::of(&change(same(), same()));
        for path in [
            "nothing",
            "network.nothing",
            "rules.1",
            "rules.x",
            "labels.no",
            "id.x",
        ] {
            let error = partial.commit(path).unwrap_err();
            let detail = &error.diagnostics.0[0].detail;
            assert!(
                detail.contains(&format!("no attribute {path};")),
                "{detail}"
            );
        }
        assert_eq!(partial.state(), None);
    }

    #[test]
    fn committed_part_of_a_create_has_nulls_for_the_rest() {
        let planned = server("a", 1, &["x"], &[]);
        let nothing = Value::null(planned.ty().clone());
        let mut partial = Partial::of(&change(nothing, planned.clone()));
        partial.set("id", "i-2").unwrap();
        partial.commit("network.name").unwrap();
        let failure = partial.attach_to(Failure::new("half", ""));
        let made = failure.partial.unwrap().value;
        assert_eq!(made.get_attr("id"), Some(Value::string("i-2")));
        assert!(made.get_attr("rules").unwrap().is_null());
        let network = made.get_attr("network").unwrap();
        assert_eq!(network.get_attr("name"), Some(Value::string("a")));
        assert!(network.get_attr("port").unwrap().is_null());
        assert_eq!(made.ty(), planned.ty());
    }
}
