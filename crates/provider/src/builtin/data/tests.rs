use super::*;
use model::Severity;

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

/// Each row is a change with the values that it makes unknown and replaces.
#[test]
fn terraform_data_plans_match_the_reference_engine() {
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
fn apply_fills_in_only_unknown_values() {
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
fn read_only_attributes_are_rejected() {
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
fn stored_state_is_decoded_with_its_types() {
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
fn only_null_resource_state_is_moved() {
    let request = |source: &str| MoveRequest {
        source_type: source.into(),
        target_type: "terraform_data".into(),
        raw_json: Bytes::from_static(br#"{"id":"77","triggers":{"a":"b"}}"#),
        ..Default::default()
    };
    let moved = convert_null_resource(request("null_resource"));
    assert_eq!(attr(&moved.state, "id"), Value::string("77"));
    assert_eq!(
        attr(&moved.state, "triggers_replace"),
        Value::object([("a", Value::string("b"))])
    );
    assert!(
        !convert_null_resource(request("time_sleep"))
            .diagnostics
            .is_empty()
    );
}
