mod layout;

use super::super::change::{Act, Configured, Details, Drift, OutputChange, Stage};
use super::super::test_stages::{change, represented, stage};
use super::super::{conditions::Status, show};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::schema::{Attribute, Block, Schema};
use cty::{Mark, Path, Type, Value};
use model::VariableFlag;
use model::{ConfigKey, StageSummary};
use store::records::{CompressedJson, StageRecord, StateObject, StateOutput};

fn object(n: i64) -> Value {
    Value::object([
        ("id", Value::unknown(Type::String)),
        ("count", Value::int(n)),
        ("password", Value::string("p").mark(Mark::Sensitive)),
        (
            "tags",
            Value::map(Type::String, [("a", Value::string("ü\n"))]),
        ),
        (
            "any",
            Value::tuple(vec![
                Value::bool(true),
                Value::null(Type::Dynamic),
                Value::dynamic(),
            ]),
        ),
        (
            "set",
            Value::set(Type::Number, vec![Value::int(2), Value::int(1)]),
        ),
        ("none", Value::null(Type::list(Type::String))),
    ])
}

fn schema() -> Schema {
    let types = [
        ("id", Type::String),
        ("count", Type::Number),
        ("password", Type::String),
        ("tags", Type::map(Type::String)),
        ("any", Type::Dynamic),
        ("set", Type::set(Type::Number)),
        ("none", Type::list(Type::String)),
    ];
    let attributes = types
        .into_iter()
        .map(|(name, ty)| (name.into(), Attribute::optional(ty)))
        .collect();
    Schema::new(
        1,
        Block {
            attributes,
            ..Block::default()
        },
    )
}

/// Builds a replacement with all optional parts.
fn replaced(config: Value) -> Act {
    let command = CommandView {
        command: "echo".into(),
        interpreter: None,
        environment: vec!["A=1".into()],
        working_dir: Some("x".into()),
        on_destroy: true,
        host: Some("h".into()),
        copies: true,
    };
    let details = Details {
        by: Configured {
            config: Some(config),
            create_first: true,
            forgets: true,
        },
        importing: Some("an id".into()),
        replace_paths: vec![
            Path::root().attr("count"),
            Path::root().attr("tags").index_str("a"),
            Path::root().attr("any").index_int(0),
        ],
        commands: vec![command],
    };
    Act::of(Action::ReplaceCreateFirst, details)
}

fn whole() -> Stage {
    let null = Value::null(schema().implied_type().clone());
    let mut first = change(
        "module.m[\"k\"].thing_x.a[0]",
        Action::ReplaceCreateFirst,
        object(1),
        object(2),
    );
    first.deposed = Some("0badcafe".into());
    first.previous = "thing_x.old".parse().ok();
    first.provider =
        ConfigKey::parse("module.m.provider[\"example.com/acme/thing\"].west").unwrap();
    first.reason = Some(Reason::ReplaceBecauseCannotUpdate);
    first.act = replaced(object(2));
    first.before.private = b"{}".to_vec();
    first.before.identity = Some(Value::object([("name", Value::string("a"))]));
    first.after.private = vec![0, 255, 3];
    first.after.identity = Some(Value::object([("name", Value::unknown(Type::String))]));
    first.schema_version = 1;
    first.dependencies = Arc::new(["thing_x.n".to_owned()].into());
    first.recorded.dependencies = ["thing_x.o".to_owned()].into();
    first.recorded.tainted = true;
    first.drifted = true;
    let second = change("data.thing_x.b", Action::Read, null.clone(), object(3));
    let mut third = change("thing_x.c", Action::NoOp, object(3), object(3));
    third.act = Act::NoOp {
        by: Configured::default(),
        importing: Some(Importing::Identity {
            identity: serde_json::json!({"name": "b"}),
        }),
    };
    let mut out = stage(vec![first, second, third]);
    out.request.target = vec!["thing_x.a".into()];
    out.request.variables = vec![VariableFlag::Value {
        name: "v".into(),
        text: "1".into(),
    }];
    out.outputs = vec![
        OutputChange {
            name: "o".into(),
            action: Action::Update,
            before: Some(Value::int(1)),
            after: Some(object(1)),
            null: false,
            sensitive: true,
            needs: ["x.y[0]".to_owned()].into(),
        },
        OutputChange {
            name: "gone".into(),
            action: Action::Destroy,
            before: Some(Value::string("x")),
            after: None,
            null: false,
            sensitive: false,
            needs: Default::default(),
        },
    ];
    out.drift = vec![Drift {
        deposed: Some("0badcafe".into()),
        address: "thing_x.a".parse().unwrap(),
        previous: None,
        provider: out.changes[1].provider.clone(),
        action: Action::Destroy,
        before: object(1),
        after: null,
        aspects: vec![DriftAspect::StatusChanged],
    }];
    out.connected_modules = [lang::addr::ModulePath(vec!["m".into(), "n".into()])].into();
    out.edits = vec![
        StateEdit::Move {
            from: "thing_x.old".into(),
            to: "thing_x.a".into(),
        },
        StateEdit::Put(Box::new(StateObject {
            address: "thing_x.a".into(),
            deposed: String::new(),
            provider: "provider[\"example.com/acme/thing\"]".into(),
            schema_version: 1,
            attributes: "{\"n\":1}".into(),
            sensitive: "[]".into(),
            private: vec![1],
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            dependencies: vec!["thing_x.n".into()],
            needs: vec!["thing_x.n[0]".into()],
            identity: None,
            identity_version: 0,
            rest: String::new(),
        })),
        StateEdit::PutOutput(StateOutput {
            rest: String::new(),
            name: "o".into(),
            value: "1".into(),
            ty: "\"number\"".into(),
            sensitive: false,
        }),
        StateEdit::RemoveOutput { name: "p".into() },
        StateEdit::Depose {
            address: "thing_x.a".into(),
            key: "0badcafe".into(),
        },
        StateEdit::Restore {
            address: "thing_x.a".into(),
            key: "0badcafe".into(),
        },
        StateEdit::Remove {
            address: "thing_x.a".into(),
            deposed: "0badcafe".into(),
        },
    ];
    out.statuses.record("thing_x.a", Status::Unknown);
    out.variables = [("v".into(), Value::string("s").mark(Mark::Sensitive))].into();
    out
}

#[test]
fn stage_round_trips() {
    let before = whole();
    let shown = show::summary(&before);
    let kept = record(
        &before,
        || shown.clone(),
        vec![("main.tf".into(), "x".into())],
        Some("n".into()),
    )
    .unwrap()
    .0;
    assert_eq!(stored_request(&kept).unwrap().request, before.request);
    for schemas in [true, false] {
        let after = restore(&kept, None, |address, resource| {
            assert_eq!(
                (address, resource.kind.as_ref()),
                ("example.com/acme/thing", "thing_x")
            );
            schemas.then(schema)
        })
        .unwrap();
        // `Debug` output covers every field, and shows types, marks and unknown values.
        assert_eq!(format!("{after:#?}"), format!("{before:#?}"));
        assert_eq!(
            after.changes[0].after.value.ty(),
            before.changes[0].after.value.ty()
        );
        assert_eq!(show::summary(&after), shown);
        let state = store::records::State::default();
        assert_eq!(represented(&after, &state), represented(&before, &state));
    }
    assert_eq!(kept.summary.read::<StageSummary>().unwrap(), shown);
}

#[test]
fn arbitrary_values_round_trip() {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::int),
        any::<bool>().prop_map(Value::bool),
        ".{0,12}".prop_map(Value::string),
        Just(Value::null(Type::String)),
        Just(Value::null(Type::Dynamic)),
        Just(Value::unknown(Type::Number)),
        Just(Value::dynamic()),
        Just(Value::unknown(Type::map(Type::String))),
    ];
    let marked = (leaf, 0..6u8).prop_map(|(v, n)| match n {
        0 => v.mark(Mark::Sensitive),
        1 => v.mark(Mark::Custom(4)).mark(Mark::Named("n".into())),
        2 => v.mark(Mark::Deprecated("use another".into())),
        _ => v,
    });
    let values = marked.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::tuple),
            prop::collection::btree_map("[a-c ]{0,3}", inner.clone(), 0..4).prop_map(Value::object),
            inner.prop_map(|v| v.mark(Mark::Sensitive)),
        ]
    });
    proptest!(|(before in values)| {
        let made = stage(vec![change("thing_x.a", Action::Create, Value::null(Type::Dynamic), before.clone())]);
        let kept = record(&made, || show::summary(&made), Vec::new(), None).unwrap().0;
        let after = restore(&kept, None, |_, _| None).unwrap().changes.remove(0).after.value;
        prop_assert!(after.raw_equals(&before), "{before:?} became {after:?}");
    });
}

#[test]
fn ephemeral_values_are_not_stored() {
    let mut made = whole();
    made.changes[0].act = replaced(Value::object([(
        "count",
        Value::string("fleeting").mark(Mark::Ephemeral),
    )]));
    made.variables.insert(
        "token".into(),
        Value::string("fleeting").mark(Mark::Ephemeral),
    );
    made.request.variables.push(VariableFlag::Value {
        name: "token".into(),
        text: "fleeting".into(),
    });
    let kept = record(&made, || show::summary(&made), Vec::new(), None)
        .unwrap()
        .0;
    let after = restore(&kept, None, |_, _| None).unwrap();
    assert!(after.changes[0].config().is_none());
    assert!(!after.variables.contains_key("token"));
    let encoded =
        STANDARD.encode(cty::msgpack::encode(&Value::string("fleeting"), &Type::String).unwrap());
    let detail = kept.detail.text().unwrap();
    assert!(!detail.contains("fleeting") && !detail.contains(&encoded));
}

#[test]
fn each_type_is_stored_once() {
    let all = (0..50)
        .map(|i| {
            change(
                &format!("thing_x.a[{i}]"),
                Action::Update,
                object(i),
                object(i + 1),
            )
        })
        .collect();
    let made = stage(all);
    let kept = record(&made, || show::summary(&made), Vec::new(), None)
        .unwrap()
        .0;
    let detail: Detail = kept.detail.read().unwrap();
    assert_eq!(detail.types.len(), 1);
}

#[test]
fn unusable_stage_records_are_rejected_with_a_reason() {
    let made = whole();
    let good = record(&made, || show::summary(&made), Vec::new(), None)
        .unwrap()
        .0;
    let broken = |from: &str, to: &str| {
        let good_text = good.detail.text().unwrap();
        let text = good_text.replacen(from, to, 1);
        assert_ne!(text, good_text);
        let detail = CompressedJson::try_from(text.as_str()).unwrap();
        restore(
            &StageRecord {
                detail,
                ..good.clone()
            },
            None,
            |_, _| None,
        )
        .unwrap_err()
        .to_string()
    };
    assert!(broken("\"layout\":4", "\"layout\":99").contains("layout of the stage is 99"));
    assert!(broken("thing_x.a[0]", "thing_x.a[").contains("run `flightdeck stage`"));
    let text = restore(
        &StageRecord {
            detail: CompressedJson::try_from("{").unwrap(),
            ..good.clone()
        },
        None,
        |_, _| None,
    )
    .unwrap_err()
    .to_string();
    assert!(text.contains("stage #7"));
    // Schema that the values do not fit.
    let other = || {
        Schema::new(
            2,
            Block {
                attributes: [("count".into(), Attribute::optional(Type::Bool))].into(),
                ..Block::default()
            },
        )
    };
    let text = restore(&good, None, |_, _| Some(other()))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("thing_x.a") && text.contains("schema"),
        "{text}"
    );
}
