//! Replacement of an object: the paths that force it, and its reason.

use super::{NoPlan, Reason};
use calls::ProviderDiagnostic;
use cty::schema::Schema;
use cty::{Path, Value};

/// Returns the reason to show: the one that explains most.
pub(super) fn replace_reason(force: Option<Reason>, tainted: bool, paths: &[Path]) -> Reason {
    match () {
        // An explicit trigger explains more than the other reasons.
        () if force == Some(Reason::ReplaceByTriggers) => Reason::ReplaceByTriggers,
        () if tainted => Reason::ReplaceBecauseTainted,
        () if !paths.is_empty() => Reason::ReplaceBecauseCannotUpdate,
        () => force.unwrap_or(Reason::ReplaceByRequest),
    }
}

/// Returns the paths that force a replacement: those whose value changes.
pub(super) fn replace_paths(
    prior: &Value,
    planned: &Value,
    asked: &[Path],
    schema: &Schema,
) -> Result<Vec<Path>, NoPlan> {
    let mut out = Vec::new();
    for path in asked {
        // A tainted object is planned as a create, so there is nothing to compare with.
        if prior.is_null() {
            continue;
        }
        // A write-only value is null in both objects, so the provider's word has to be enough.
        let write_only = match path.steps() {
            [cty::PathStep::Attr(name)] => schema
                .block
                .attributes
                .get(name.as_ref())
                .is_some_and(|a| a.write_only),
            _ => false,
        };
        match (path.apply(prior), path.apply(planned)) {
            _ if write_only => out.push(path.clone()),
            (Ok(a), Ok(b)) => {
                // Nulls of different types are equal and do not force a replacement.
                if !b.is_known() || a.equals(&b).unmark().0.as_bool() != Some(true) {
                    out.push(path.clone());
                }
            }
            (Err(_), Err(_)) => {
                return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
                    "Provider produced invalid plan",
                    format!(
                        "The provider requires a replacement for {path}, but the object has no such attribute. This is a bug in the provider; report it to the provider's developers."
                    ),
                )]));
            }
            _ => out.push(path.clone()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reason::*;
    use cty::Type;
    use cty::schema::{Attribute, Block};

    fn schema() -> Schema {
        let token = Attribute {
            write_only: true,
            ..Attribute::optional(Type::String)
        };
        let attributes = [
            ("name".into(), Attribute::optional(Type::String)),
            ("token".into(), token),
        ];
        let attributes = attributes.into();
        Schema::new(
            0,
            Block {
                attributes,
                ..Block::default()
            },
        )
    }

    fn object(name: Value) -> Value {
        Value::object([("name", name), ("token", Value::null(Type::String))])
    }

    #[test]
    fn only_changed_and_write_only_attributes_force_a_replacement() {
        let text = Value::string;
        let (null, unknown) = (
            || Value::null(Type::String),
            || Value::unknown(Type::String),
        );
        for (before, after, attribute, forces) in [
            (text("a"), text("b"), "name", true),
            (text("a"), text("a"), "name", false),
            (text("a"), unknown(), "name", true),
            (text("a"), null(), "name", true),
            (null(), text("a"), "name", true),
            (null(), null(), "name", false),
            // Null on both sides, so there is nothing to compare.
            (text("a"), text("a"), "token", true),
        ] {
            let path = Path::root().attr(attribute);
            let label = format!("{attribute}: {before:?} to {after:?}");
            let (before, after) = (object(before), object(after));
            let found = replace_paths(&before, &after, std::slice::from_ref(&path), &schema());
            let want = if forces { vec![path] } else { Vec::new() };
            assert_eq!(found.expect("valid paths"), want, "{label}");
        }
    }

    #[test]
    fn path_that_neither_object_has_is_a_bug_of_the_provider() {
        let wrong = [Path::root().attr("colour")];
        let object = object(Value::string("a"));
        let found = replace_paths(&object, &object, &wrong, &schema());
        assert!(matches!(found, Err(NoPlan::Refused(said)) if said.len() == 1));
        // Without a prior object there is nothing to replace.
        let null = Value::null(object.ty().clone());
        let found = replace_paths(&null, &object, &wrong, &schema());
        assert_eq!(found.expect("ignored"), []);
    }

    #[test]
    fn reason_is_the_one_that_explains_most() {
        let path = || vec![Path::root().attr("name")];
        for (force, tainted, paths, reason) in [
            (Some(ReplaceByTriggers), true, path(), ReplaceByTriggers),
            (Some(ReplaceByRequest), true, path(), ReplaceBecauseTainted),
            (None, true, vec![], ReplaceBecauseTainted),
            (
                Some(ReplaceByRequest),
                false,
                path(),
                ReplaceBecauseCannotUpdate,
            ),
            (None, false, path(), ReplaceBecauseCannotUpdate),
            (Some(ReplaceByRequest), false, vec![], ReplaceByRequest),
        ] {
            assert_eq!(replace_reason(force, tainted, &paths), reason);
        }
    }
}
