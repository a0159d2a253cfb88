use super::super::change::{Act, Details, OutputChange};
use super::super::conditions::Status;
use super::super::managed::Reason;
use super::super::test_stages::{bare, change, represented, stage};
use super::*;
use cty::{Mark, Number, Type};
use store::records::{StateEdit, StateObject, StateOutput};

fn object() -> Value {
    Value::object([
        ("id", Value::unknown(Type::String)),
        (
            "n",
            Value::number(Number::parse("123456789012345678901234567890.5").unwrap()),
        ),
        ("secret", Value::string("s").mark(Mark::Sensitive)),
        (
            "list",
            Value::list(
                Type::String,
                vec![Value::string("a"), Value::unknown(Type::String)],
            ),
        ),
        (
            "map",
            Value::map(
                Type::String,
                [
                    ("k", Value::unknown(Type::String)),
                    ("l", Value::string("x")),
                ],
            ),
        ),
        ("unknown_list", Value::unknown(Type::list(Type::String))),
        ("none", Value::null(Type::String)),
    ])
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

fn only_change(change: Change) -> Json {
    represented(&stage(vec![change]), &State::default())["resource_changes"][0].clone()
}

#[test]
fn unknown_values_are_omitted_and_listed_in_after_unknown() {
    let null = Value::null(object().ty().clone());
    let got = only_change(change("thing_x.a", Action::Create, null, object()));
    let want = parse(
        r#"{"address":"thing_x.a","mode":"managed","type":"thing_x","name":"a","provider_name":"example.com/acme/thing",
        "change":{"actions":["create"],"before":null,
          "after":{"n":123456789012345678901234567890.5,"secret":"s","list":["a",null],"map":{"l":"x"},"none":null},
          "after_unknown":{"id":true,"list":[false,true],"map":{"k":true},"unknown_list":true},
          "before_sensitive":false,"after_sensitive":{"secret":true,"list":[false,false],"map":{},"unknown_list":[]}}}"#,
    );
    assert_eq!(got, want);
}

#[test]
fn plan_json_includes_names_keys_paths_and_reasons() {
    let known = Value::object([("a", Value::int(1))]);
    let mut replaced = change(
        "module.m[\"k\"].thing_x.a[3]",
        Action::ReplaceCreateFirst,
        known.clone(),
        known.clone(),
    );
    replaced.previous = "thing_x.old".parse().ok();
    replaced.deposed = Some("0badcafe".into());
    replaced.reason = Some(Reason::ReplaceBecauseCannotUpdate);
    let details = Details {
        importing: Some("an id".into()),
        replace_paths: vec![Path::root().attr("tags").index_str("k").index_int(2)],
        ..Details::default()
    };
    replaced.act = Act::of(Action::ReplaceCreateFirst, details);
    let got = only_change(replaced);
    let want = parse(
        r#"{"address":"module.m[\"k\"].thing_x.a[3]","module_address":"module.m[\"k\"]","mode":"managed","type":"thing_x","name":"a",
        "index":3,"provider_name":"example.com/acme/thing","deposed":"0badcafe","previous_address":"thing_x.old",
        "change":{"actions":["create","delete"],"before":{"a":1},"after":{"a":1},"after_unknown":{},"before_sensitive":{},
          "after_sensitive":{},"replace_paths":[["tags","k",2]],"importing":{"id":"an id"}},
        "action_reason":"replace_because_cannot_update"}"#,
    );
    assert_eq!(got, want);
}

#[test]
fn changes_are_sorted_and_include_no_ops() {
    let got = represented(
        &stage(vec![
            bare("module.m.thing_x.a", Action::NoOp, &[], &[]),
            bare("thing_x.b[10]", Action::NoOp, &[], &[]),
            bare("thing_x.b[9]", Action::Destroy, &[], &[]),
            bare("data.thing_x.b", Action::Read, &[], &[]),
        ]),
        &State::default(),
    );
    let all: Vec<(&str, &Json)> = got["resource_changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["address"].as_str().unwrap(), &c["change"]["actions"][0]))
        .collect();
    let want = [
        ("data.thing_x.b", json!("read")),
        ("thing_x.b[9]", json!("delete")),
        ("thing_x.b[10]", json!("no-op")),
        ("module.m.thing_x.a", json!("no-op")),
    ];
    assert_eq!(all, want.iter().map(|(a, j)| (*a, j)).collect::<Vec<_>>());
}

#[test]
fn output_changes_report_sensitivity_before_and_after() {
    let mut made = stage(Vec::new());
    let one = |name: &str, action, before, after, sensitive| OutputChange {
        name: name.into(),
        action,
        before,
        after,
        null: false,
        sensitive,
        needs: Default::default(),
    };
    made.outputs = vec![
        one("gone", Action::Destroy, Some(Value::int(1)), None, false),
        one("new", Action::Create, None, Some(Value::string("s")), true),
        one(
            "part",
            Action::Update,
            Some(Value::int(1)),
            Some(Value::tuple(vec![Value::int(1), Value::dynamic()])),
            false,
        ),
        one(
            "later",
            Action::Create,
            None,
            Some(Value::unknown(Type::String)),
            false,
        ),
    ];
    let got = represented(&made, &State::default());
    let want = parse(
        r#"{"gone":{"actions":["delete"],"before":1,"after":null,"after_unknown":false,"before_sensitive":false,"after_sensitive":false},
        "new":{"actions":["create"],"before":null,"after":"s","after_unknown":false,"before_sensitive":true,"after_sensitive":true},
        "part":{"actions":["update"],"before":1,"after":[1,null],"after_unknown":[false,true],"before_sensitive":false,"after_sensitive":false},
        "later":{"actions":["create"],"before":null,"after_unknown":true,"before_sensitive":false,"after_sensitive":false}}"#,
    );
    assert_eq!(got["output_changes"], want);
}

#[test]
fn check_results_have_the_address_form_of_their_kind() {
    let mut made = stage(Vec::new());
    for (address, status) in [
        ("thing_x.a", Status::Pass),
        ("module.m.module.n.data.thing_x.a", Status::Unknown),
        ("module.m.output.o", Status::Fail),
        ("check.c", Status::Error),
        ("var.v", Status::Pass),
    ] {
        made.statuses.record(address, status);
    }
    let want = parse(
        r#"[{"address":{"kind":"check","name":"c","to_display":"check.c"},"status":"error"},
        {"address":{"to_display":"module.m.module.n.data.thing_x.a","module":"module.m.module.n","kind":"resource","mode":"data","type":"thing_x","name":"a"},"status":"unknown"},
        {"address":{"to_display":"module.m.output.o","module":"module.m","kind":"output_value","name":"o"},"status":"fail"},
        {"address":{"to_display":"thing_x.a","kind":"resource","mode":"managed","type":"thing_x","name":"a"},"status":"pass"},
        {"address":{"to_display":"var.v","kind":"var","name":"v"},"status":"pass"}]"#,
    );
    assert_eq!(represented(&made, &State::default())["checks"], want);
}

fn stored(address: &str, deposed: &str, attributes: &str, sensitive: &str) -> StateObject {
    StateObject {
        address: address.into(),
        deposed: deposed.into(),
        provider: "module.m.provider[\"example.com/acme/thing\"].west".into(),
        schema_version: 2,
        attributes: attributes.into(),
        sensitive: sensitive.into(),
        private: vec![1],
        tainted: !deposed.is_empty(),
        create_before_destroy: false,
        skip_destroy: false,
        dependencies: vec!["thing_x.n".into()],
        needs: Vec::new(),
        identity: None,
        identity_version: 0,
        rest: String::new(),
    }
}

#[test]
fn prior_state_is_the_refreshed_state() {
    let secret = r#"[[{"type":"get_attr","value":"s"},{"type":"index","value":{"value":1,"type":"number"}}]]"#;
    let state = State {
        objects: vec![
            stored("module.m[0].module.n.thing_x.a", "", r#"{"n":1}"#, "[]"),
            stored("thing_x.old", "", r#"{"s":["a","b"]}"#, secret),
            stored("thing_x.old", "0badcafe", r#"{"s":[]}"#, "[]"),
            stored("thing_x.gone", "", "{}", "[]"),
        ],
        outputs: vec![StateOutput {
            rest: String::new(),
            name: "o".into(),
            value: "[1]".into(),
            ty: r#"["list","number"]"#.into(),
            sensitive: true,
        }],
        ..State::default()
    };
    let mut made = stage(Vec::new());
    made.edits = vec![
        StateEdit::Move {
            from: "thing_x.old".into(),
            to: "thing_x.new".into(),
        },
        StateEdit::Remove {
            address: "thing_x.gone".into(),
            deposed: String::new(),
        },
    ];
    let got = represented(&made, &state);
    let want = parse(
        r#"{"outputs":{"o":{"sensitive":true,"value":[1],"type":["list","number"]}},
        "root_module":{"resources":[
            {"address":"thing_x.new","mode":"managed","type":"thing_x","name":"new","provider_name":"example.com/acme/thing","schema_version":2,
             "sensitive_values":{"s":[false,true]},"values":{"s":["a","b"]},"depends_on":["thing_x.n"]},
            {"address":"thing_x.new","mode":"managed","type":"thing_x","name":"new","provider_name":"example.com/acme/thing","schema_version":0,
             "sensitive_values":{"s":[]},"values":{"s":[]},"depends_on":["thing_x.n"],"tainted":true,"deposed_key":"0badcafe"}],
          "child_modules":[{"address":"module.m[0]","child_modules":[{"resources":[
            {"address":"module.m[0].module.n.thing_x.a","mode":"managed","type":"thing_x","name":"a","provider_name":"example.com/acme/thing",
             "schema_version":2,"sensitive_values":{},"values":{"n":1},"depends_on":["thing_x.n"]}],"address":"module.m[0].module.n"}]}]}}"#,
    );
    assert_eq!(got["prior_state"]["values"], want);
}

#[test]
fn planned_values_include_unchanged_and_created_objects() {
    let known = Value::object([("a", Value::int(1).mark(Mark::Sensitive))]);
    let null = Value::null(known.ty().clone());
    let mut made = stage(vec![
        change("thing_x.stays", Action::NoOp, known.clone(), known.clone()),
        change(
            "module.m.thing_x.comes",
            Action::Create,
            null.clone(),
            known.clone(),
        ),
        change("thing_x.goes", Action::Destroy, known, null),
    ]);
    made.variables = [("v".into(), Value::int(3))].into();
    let got = represented(&made, &State::default());
    let root = &got["planned_values"]["root_module"];
    assert_eq!(root["resources"].as_array().unwrap().len(), 1);
    assert_eq!(root["resources"][0]["sensitive_values"], json!({"a": true}));
    assert_eq!(
        root["child_modules"][0]["resources"][0]["address"],
        json!("module.m.thing_x.comes")
    );
    assert_eq!(got["variables"], json!({"v": {"value": 3}}));
    assert_eq!(got["format_version"], json!("1.2"));
    assert_eq!(got["timestamp"], json!("2023-11-14T22:13:20Z"));
    assert_eq!(got["errored"], json!(false));
}
