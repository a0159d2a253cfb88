//! Emits an event for each step of work on an object, for programs that follow a run. The event has
//! the attribute that identifies the object to operators.

use super::Walk;
use cty::{Type, Value};
use lang::addr::AbsInstance;
use model::bus::emit_step;
use model::{Action, ObjectPhase, ObjectStep, ObjectWork};

impl Walk {
    /// Reports a step of work on an object; `value` is its current value.
    pub fn report_step(
        &self,
        address: &AbsInstance,
        work: ObjectWork,
        phase: ObjectPhase,
        value: Option<&Value>,
    ) {
        emit_step(self.providers.sink(), || {
            let begins = phase == ObjectPhase::Begun;
            // The id may be unknown when a change begins. As in OpenTofu, only this step falls back
            // to the name or a tag then.
            let acts = matches!(work, ObjectWork::Apply(action) if action != Action::Read);
            ObjectStep {
                address: address.to_string(),
                known_by: value.and_then(|value| identified_by(value, begins && acts)),
                work,
                phase,
            }
        });
    }
}

/// Returns the attribute that identifies an object, chosen as in OpenTofu: `id`, otherwise `name`;
/// with `tags` the name tag if there is neither.
fn identified_by(value: &Value, tags: bool) -> Option<(String, String)> {
    if value.is_null() || !value.is_known() {
        return None;
    }
    let ty = value.ty();
    let has = |name: &str| ty.attribute(name) == Some(&Type::String);
    let of = |name: &str| Some((name.to_owned(), text(&value.get_attr(name)?)?));
    let known = match (has("id"), has("name")) {
        (true, _) => of("id"),
        (false, true) => of("name"),
        (false, false) => None,
    };
    if known.is_some() || !tags {
        return known;
    }
    // The `id` is unknown or hidden, but the name may still identify the object.
    if has("name") {
        return of("name");
    }
    if ty.attribute("tags") != Some(&Type::map(Type::String)) {
        return None;
    }
    let tags = value.get_attr("tags").filter(may_be_shown)?.unmark().0;
    if tags.is_null() || !tags.is_wholly_known() {
        return None;
    }
    let members = tags.as_map()?;
    let name = ["name", "Name"]
        .into_iter()
        .find_map(|key| Some((key, members.get(key)?)))?;
    Some((format!("tags.{}", name.0), text(name.1)?))
}

/// Returns true if the value may be shown.
fn may_be_shown(value: &Value) -> bool {
    !value.marks().needs_redaction()
}

fn text(value: &Value) -> Option<String> {
    let value = Some(value)
        .filter(|value| may_be_shown(value))?
        .clone()
        .unmark()
        .0;
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Mark;

    fn object(attributes: &[(&str, Value)]) -> Value {
        Value::object(attributes.iter().map(|(n, v)| (*n, v.clone())))
    }

    #[test]
    fn object_is_identified_by_id_or_name_but_never_by_a_sensitive_value() {
        let (id, name) = (Value::string("i-1"), Value::string("web"));
        let known = |value: &Value| identified_by(value, false);
        let by = |n: &str, t: &str| Some((n.to_owned(), t.to_owned()));
        let both = object(&[("id", id.clone()), ("name", name.clone())]);
        assert_eq!(known(&both), by("id", "i-1"));
        assert_eq!(known(&object(&[("name", name.clone())])), by("name", "web"));
        let hidden = object(&[("id", id.mark(Mark::Sensitive)), ("name", name.clone())]);
        assert_eq!(known(&hidden), None);
        assert_eq!(identified_by(&hidden, true), by("name", "web"));
        let unknown = object(&[("id", Value::unknown(Type::String))]);
        assert_eq!(known(&unknown), None);
        let tags = Value::map(Type::String, [("Name", name)]);
        let tagged = object(&[("tags", tags)]);
        assert_eq!(known(&tagged), None);
        assert_eq!(identified_by(&tagged, true), by("tags.Name", "web"));
    }
}
