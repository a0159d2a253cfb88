//! `terraform_data`: keeps a value, and is replaced when another one changes. Pure but for the ids
//! it makes.

use crate::engine::calls::ProviderDiagnostic;
use crate::engine::provider::*;
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type};

/// Types of any kind: input and output always have the same, triggers have their own.
pub(super) fn schema() -> Schema {
    let attributes = [
        ("id", Attribute::computed(Type::String)),
        ("input", Attribute::optional(Type::Dynamic)),
        ("output", Attribute::computed(Type::Dynamic)),
        ("triggers_replace", Attribute::optional(Type::Dynamic)),
    ];
    Schema::new(
        0,
        Block {
            attributes: attributes.map(|(n, a)| (n.to_owned(), a)).into(),
            ..Default::default()
        },
    )
}

fn attr(value: &Value, name: &str) -> Value {
    value
        .get_attr(name)
        .unwrap_or_else(|| Value::null(Type::Dynamic))
}

/// The object with some of its attributes changed.
fn with<const N: usize>(value: &Value, changes: [(&str, Value); N]) -> Value {
    let mut attributes = value.as_map().map(cty::Members::to_map).unwrap_or_default();
    attributes.extend(changes.map(|(name, v)| (name.into(), v)));
    Value::object_from_map(attributes)
}

/// What the provider sets cannot be set by a configuration.
pub(super) fn validate(config: &Value) -> Vec<ProviderDiagnostic> {
    if config.is_null() {
        return Vec::new();
    }
    let set = ["id", "output"]
        .into_iter()
        .filter(|name| !attr(config, name).is_null());
    set.map(|name| ProviderDiagnostic::error(format!("{name:?} attribute is read-only"), ""))
        .collect()
}

pub(super) fn upgrade(request: &UpgradeRequest) -> UpgradeResponse {
    let schema = schema();
    match cty::json::decode(&request.raw_json, schema.implied_type()) {
        Ok(state) => UpgradeResponse {
            state,
            diagnostics: Vec::new(),
        },
        Err(e) => UpgradeResponse {
            state: Value::null(schema.implied_type().clone()),
            diagnostics: vec![ProviderDiagnostic::error(
                "The stored state cannot be read",
                e.to_string(),
            )],
        },
    }
}

/// What `output` will be once `input` is known: of the same type always, null where that is null.
fn coming_output(input: &Value) -> Value {
    if input.is_null() {
        input.clone()
    } else {
        Value::unknown(input.ty().clone())
    }
}

fn coming_id() -> Value {
    Value::unknown(Type::String).refine_not_null()
}

pub(super) fn plan(request: PlanRequest) -> PlanResponse {
    let answer = |planned: Value, requires_replace: Vec<Path>| PlanResponse {
        planned,
        requires_replace,
        private: request.prior_private.clone(),
        identity: None,
        legacy: false,
        diagnostics: Vec::new(),
    };
    let (prior, proposed) = (&request.prior, &request.proposed);
    if proposed.is_null() {
        return answer(proposed.clone(), Vec::new());
    }
    let (input, triggers) = (attr(proposed, "input"), attr(proposed, "triggers_replace"));
    if prior.is_null() {
        return answer(
            with(
                proposed,
                [("id", coming_id()), ("output", coming_output(&input))],
            ),
            Vec::new(),
        );
    }
    // Types count: "1" and 1 are different triggers.
    if !attr(prior, "triggers_replace").raw_equals(&triggers) {
        let planned = with(
            proposed,
            [("id", coming_id()), ("output", coming_output(&input))],
        );
        return answer(planned, vec![Path::root().attr("triggers_replace")]);
    }
    if !attr(prior, "input").raw_equals(&input) {
        return answer(
            with(proposed, [("output", Value::unknown(input.ty().clone()))]),
            Vec::new(),
        );
    }
    answer(proposed.clone(), Vec::new())
}

pub(super) fn apply(request: ApplyRequest) -> ApplyResponse {
    let mut state = request.planned;
    if !state.is_null() {
        if !attr(&state, "output").is_known() {
            state = with(&state, [("output", attr(&state, "input"))]);
        }
        if !attr(&state, "id").is_known() {
            state = with(
                &state,
                [("id", Value::string(uuid::Uuid::new_v4().to_string()))],
            );
        }
    }
    ApplyResponse {
        new_state: Some(state),
        private: request.private,
        identity: None,
        legacy: false,
        diagnostics: Vec::new(),
    }
}

/// There is nothing in the world to look at: the id is all that there is.
pub(super) fn import(request: &ImportRequest) -> ImportResponse {
    let state = with(
        &schema().block.empty_value(),
        [("id", Value::string(&request.id))],
    );
    let imported = Imported {
        type_name: request.type_name.clone(),
        state,
        private: Bytes::new(),
        identity: None,
    };
    ImportResponse {
        imported: vec![imported],
        diagnostics: Vec::new(),
    }
}

/// Takes over a `null_resource`, whose triggers become an object.
pub(super) fn take_over(request: MoveRequest) -> MoveResponse {
    let empty = schema().block.empty_value();
    let answer = |state: Value, diagnostics| MoveResponse {
        state,
        private: request.source_private.clone(),
        identity: None,
        diagnostics,
    };
    let refuse = |error| answer(Value::null(empty.ty().clone()), vec![error]);
    if request.source_type != "null_resource" {
        let detail = format!(
            "Only a null_resource can become a {}, not a {}.",
            request.target_type, request.source_type
        );
        return refuse(ProviderDiagnostic::error("Unsupported move", detail));
    }
    let ty = Type::object([("id", Type::String), ("triggers", Type::map(Type::String))]);
    let old = match cty::json::decode(&request.raw_json, &ty) {
        Ok(old) => old,
        Err(e) => {
            return refuse(ProviderDiagnostic::error(
                "The stored state cannot be read",
                e.to_string(),
            ));
        }
    };
    let mut state = with(&empty, [("id", attr(&old, "id"))]);
    if let Some(triggers) = attr(&old, "triggers").as_map() {
        state = with(
            &state,
            [(
                "triggers_replace",
                Value::object_from_map(triggers.to_map()),
            )],
        );
    }
    answer(state, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::words::Severity;

    fn object(id: Value, input: Value, output: Value, triggers: Value) -> Value {
        Value::object([
            ("id", id),
            ("input", input),
            ("output", output),
            ("triggers_replace", triggers),
        ])
    }

    fn none() -> Value {
        Value::null(Type::Dynamic)
    }

    fn planned(prior: Value, proposed: Value) -> PlanResponse {
        plan(PlanRequest {
            type_name: "terraform_data".into(),
            prior,
            config: proposed.clone(),
            proposed,
            prior_private: Bytes::new(),
            prior_identity: None,
        })
    }

    fn applied(planned: Value) -> Value {
        let nothing = Value::null(planned.ty().clone());
        apply(ApplyRequest {
            type_name: "terraform_data".into(),
            prior: nothing.clone(),
            config: nothing,
            planned,
            private: Bytes::new(),
            planned_identity: None,
        })
        .new_state
        .expect("a state")
    }

    fn prior(input: Value, triggers: Value) -> Value {
        object(Value::string("i"), input.clone(), input, triggers)
    }

    /// One row: what changes, and what is then unknown and replaced.
    #[test]
    fn plans_as_the_reference_engine_does() {
        let s = |t: &str| Value::string(t);
        let rows = [
            (
                "create",
                None,
                s("a"),
                none(),
                ["id", "output"].as_slice(),
                false,
            ),
            ("create without input", None, none(), none(), &["id"], false),
            (
                "nothing",
                Some(prior(s("a"), s("t"))),
                s("a"),
                s("t"),
                &[],
                false,
            ),
            (
                "input",
                Some(prior(s("a"), s("t"))),
                s("b"),
                s("t"),
                &["output"],
                false,
            ),
            (
                "type of input",
                Some(prior(s("1"), none())),
                Value::int(1),
                none(),
                &["output"],
                false,
            ),
            (
                "input to null",
                Some(prior(s("a"), none())),
                none(),
                none(),
                &["output"],
                false,
            ),
            (
                "triggers",
                Some(prior(s("a"), s("t"))),
                s("a"),
                s("u"),
                &["id", "output"],
                true,
            ),
            (
                "type of triggers",
                Some(prior(s("a"), s("1"))),
                s("a"),
                Value::int(1),
                &["id", "output"],
                true,
            ),
            (
                "triggers, no input",
                Some(prior(none(), s("t"))),
                none(),
                s("u"),
                &["id"],
                true,
            ),
            (
                "triggers known later",
                Some(prior(s("a"), s("t"))),
                s("a"),
                Value::unknown(Type::String),
                &["id", "output", "triggers_replace"],
                true,
            ),
        ];
        for (what, prior, input, triggers, unknown, replaced) in rows {
            let prior = prior.unwrap_or_else(|| Value::null(schema().implied_type().clone()));
            let (id, output) = (
                attr_or_null(&prior, "id", Type::String),
                attr_or_null(&prior, "output", Type::Dynamic),
            );
            let answer = planned(prior, object(id, input.clone(), output, triggers));
            let names = ["id", "input", "output", "triggers_replace"];
            let got: Vec<_> = names
                .into_iter()
                .filter(|n| !attr(&answer.planned, n).is_known())
                .collect();
            assert_eq!(got, unknown, "{what}");
            assert_eq!(!answer.requires_replace.is_empty(), replaced, "{what}");
            if unknown.contains(&"output") {
                assert_eq!(
                    attr(&answer.planned, "output").ty(),
                    input.ty(),
                    "{what}: the output keeps the type of the input"
                );
            }
        }
    }

    fn attr_or_null(value: &Value, name: &str, ty: Type) -> Value {
        if value.is_null() {
            Value::null(ty)
        } else {
            attr(value, name)
        }
    }

    #[test]
    fn apply_fills_in_what_was_unknown_and_nothing_else() {
        let created = applied(
            planned(
                Value::null(schema().implied_type().clone()),
                object(Value::null(Type::String), Value::int(7), none(), none()),
            )
            .planned,
        );
        assert!(created.is_wholly_known());
        assert_eq!(attr(&created, "output"), Value::int(7));
        let id = attr(&created, "id");
        assert!(uuid::Uuid::parse_str(id.as_str().expect("an id")).is_ok());
        let updated = planned(
            created.clone(),
            with(&created, [("input", Value::string("x"))]),
        )
        .planned;
        let updated = applied(updated);
        assert_eq!(
            (attr(&updated, "id"), attr(&updated, "output")),
            (id, Value::string("x"))
        );
        let gone = applied(Value::null(schema().implied_type().clone()));
        assert!(gone.is_null());
    }

    #[test]
    fn read_only_attributes_are_refused() {
        let config = object(
            Value::string("mine"),
            none(),
            Value::unknown(Type::String),
            none(),
        );
        let errors = validate(&config);
        assert_eq!(
            errors
                .iter()
                .map(|d| d.summary.as_str())
                .collect::<Vec<_>>(),
            [
                "\"id\" attribute is read-only",
                "\"output\" attribute is read-only"
            ]
        );
        assert!(errors.iter().all(|d| d.severity == Severity::Error));
        assert!(
            validate(&object(
                Value::null(Type::String),
                Value::int(1),
                none(),
                none()
            ))
            .is_empty()
        );
    }

    #[test]
    fn stored_state_comes_back_with_its_types() {
        let raw = br#"{"id":"x","input":{"value":["a"],"type":["list","string"]},"output":{"value":["a"],"type":["list","string"]},"triggers_replace":null}"#;
        let request = UpgradeRequest {
            type_name: "terraform_data".into(),
            version: 0,
            raw_json: Bytes::from_static(raw),
        };
        let answer = upgrade(&request);
        assert_eq!(answer.diagnostics, []);
        assert_eq!(
            attr(&answer.state, "input"),
            Value::list(Type::String, vec![Value::string("a")])
        );
        let broken = upgrade(&UpgradeRequest {
            raw_json: Bytes::from_static(b"{"),
            ..request
        });
        assert!(broken.state.is_null() && !broken.diagnostics.is_empty());
    }

    #[test]
    fn a_null_resource_is_taken_over_and_nothing_else() {
        let request = |source: &str| MoveRequest {
            source_type: source.into(),
            target_type: "terraform_data".into(),
            raw_json: Bytes::from_static(br#"{"id":"77","triggers":{"a":"b"}}"#),
            ..Default::default()
        };
        let moved = take_over(request("null_resource"));
        assert_eq!(attr(&moved.state, "id"), Value::string("77"));
        assert_eq!(
            attr(&moved.state, "triggers_replace"),
            Value::object([("a", Value::string("b"))])
        );
        assert!(!take_over(request("time_sleep")).diagnostics.is_empty());
    }
}
