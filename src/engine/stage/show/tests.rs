mod reasons;

use super::super::change::Drift;
use super::super::test_stages::{bare, change, replacing, stage};
use super::*;
use cty::{Mark, Path, Type, Value};

fn text(s: &str) -> Value {
    Value::string(s)
}

fn secret(s: &str) -> Value {
    Value::string(s).mark(Mark::Sensitive)
}

fn row(
    path: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> (String, Option<String>, Option<String>) {
    (
        path.to_owned(),
        before.map(str::to_owned),
        after.map(str::to_owned),
    )
}

fn rows(before: &Value, after: &Value) -> Vec<(String, Option<String>, Option<String>)> {
    diff::attributes(before, after, &[])
        .into_iter()
        .map(|a| (a.path, a.before, a.after))
        .collect()
}

#[test]
fn values_are_flattened_to_leaf_attributes() {
    let before = Value::object([
        ("name", text("a")),
        (
            "tags",
            Value::map(Type::String, [("k e", text("v")), ("gone", text("x"))]),
        ),
        (
            "rule",
            Value::list(
                Type::object([("port", Type::Number)]),
                vec![Value::object([("port", Value::int(80))])],
            ),
        ),
        ("none", Value::null(Type::String)),
        ("empty", Value::list(Type::String, vec![])),
    ]);
    let after = Value::object([
        ("name", text("a")),
        ("tags", Value::map(Type::String, [("k e", text("w"))])),
        (
            "rule",
            Value::list(
                Type::object([("port", Type::Number)]),
                vec![
                    Value::object([("port", Value::int(80))]),
                    Value::object([("port", Value::int(443))]),
                ],
            ),
        ),
        ("none", Value::null(Type::String)),
        ("empty", Value::list(Type::String, vec![])),
    ]);
    let expected = vec![
        row("empty", Some("[]"), Some("[]")),
        row("name", Some("\"a\""), Some("\"a\"")),
        row("rule[0].port", Some("80"), Some("80")),
        row("rule[1].port", None, Some("443")),
        row("tags[\"gone\"]", Some("\"x\""), None),
        row("tags[\"k e\"]", Some("\"v\""), Some("\"w\"")),
    ];
    assert_eq!(rows(&before, &after), expected);
    let changed: Vec<bool> = diff::attributes(&before, &after, &[])
        .iter()
        .map(|a| a.changed)
        .collect();
    assert_eq!(changed, [false, false, false, true, true, true]);
}

#[test]
fn create_and_destroy_show_one_side() {
    let object = Value::object([
        ("a", Value::int(1)),
        ("b", Value::object([("c", text("x"))])),
    ]);
    let null = Value::null(object.ty().clone());
    assert_eq!(
        rows(&null, &object),
        vec![row("a", None, Some("1")), row("b.c", None, Some("\"x\""))]
    );
    assert_eq!(
        rows(&object, &null),
        vec![row("a", Some("1"), None), row("b.c", Some("\"x\""), None)]
    );
    assert!(
        diff::attributes(&object, &null, &[])
            .iter()
            .all(|a| a.changed)
    );
}

#[test]
fn set_elements_are_matched_by_value() {
    let set = |all: &[&str]| {
        Value::object([(
            "s",
            Value::set(Type::String, all.iter().map(|s| text(s)).collect()),
        )])
    };
    let all = diff::attributes(&set(&["a", "b", "c"]), &set(&["b", "c", "d"]), &[]);
    let changed: Vec<_> = all
        .iter()
        .filter(|a| a.changed)
        .map(|a| (a.before.as_deref(), a.after.as_deref()))
        .collect();
    assert_eq!(changed, [(Some("\"a\""), None), (None, Some("\"d\""))]);
    assert_eq!(all.len(), 4);
    let paths: BTreeSet<&str> = all.iter().map(|a| a.path.as_str()).collect();
    assert_eq!(paths.len(), 4, "paths tell rows apart");
}

#[test]
fn unknown_values_are_shown_as_known_after_apply() {
    let before = Value::object([
        ("id", text("i-1")),
        ("tags", Value::map(Type::String, [("a", text("b"))])),
    ]);
    let after = Value::object([
        ("id", Value::unknown(Type::String)),
        ("tags", Value::unknown(Type::map(Type::String))),
    ]);
    let all = diff::attributes(&before, &after, &[Path::root().attr("id")]);
    assert_eq!(all[0].after.as_deref(), Some("(known after apply)"));
    assert!(all[0].unknown && all[0].changed && all[0].forces_replacement);
    assert_eq!(all[1].before.as_deref(), Some("{ a = \"b\" }"));
    assert!(all[1].unknown && !all[1].forces_replacement);
}

#[test]
fn replacement_is_attributed_only_to_changed_attributes() {
    let object = |a: i64, b: i64| {
        Value::object([(
            "t",
            Value::object([("a", Value::int(a)), ("b", Value::int(b))]),
        )])
    };
    let all = diff::attributes(&object(1, 1), &object(1, 2), &[Path::root().attr("t")]);
    assert_eq!(
        all.iter().map(|a| a.forces_replacement).collect::<Vec<_>>(),
        [false, true]
    );
    // The path of a set element contains its value.
    let set = |n: i64| Value::object([("t", Value::set(Type::Number, vec![Value::int(n)]))]);
    let into_set = Path::root()
        .attr("t")
        .index(Value::object([("x", text("y"))]));
    assert!(
        diff::attributes(&set(1), &set(2), &[into_set])
            .iter()
            .all(|a| a.forces_replacement)
    );
}

#[test]
fn summaries_contain_no_sensitive_values() {
    const SECRET: &str = "hunter2";
    let plain = Value::object([
        ("a", Value::object([("b", text(SECRET))])),
        ("c", text("open")),
    ]);
    let at = |path: Path| {
        plain
            .clone()
            .mark_with_paths(&[(path, cty::Marks::sensitive())])
    };
    let whole = plain.clone().mark(Mark::Sensitive);
    let deep = at(Path::root().attr("a").attr("b"));
    let outer = at(Path::root().attr("a"));
    let null = Value::null(plain.ty().clone());
    let other_kind = Value::object([
        ("a", Value::tuple(vec![secret(SECRET)])),
        ("c", text("open")),
    ]);
    let set = Value::object([
        (
            "a",
            Value::set(Type::String, vec![text(SECRET)]).mark(Mark::Sensitive),
        ),
        ("c", text("open")),
    ]);
    let set_inside = Value::object([
        ("a", Value::set(Type::String, vec![secret(SECRET)])),
        ("c", text("open")),
    ]);
    let in_map = Value::object([
        ("a", Value::map(Type::String, [("x", secret(SECRET))])),
        ("c", text("open")),
    ]);
    let ephemeral = Value::object([
        ("a", text(SECRET).mark(Mark::Ephemeral)),
        ("c", text("open")),
    ]);
    // A text is masked on both sides if only the other side is sensitive.
    let pairs: Vec<(Value, Value)> = vec![
        (null.clone(), deep.clone()),
        (deep.clone(), null.clone()),
        (plain.clone(), deep.clone()),
        (deep.clone(), plain.clone()),
        (outer.clone(), plain.clone()),
        (outer, deep.clone()),
        (whole.clone(), plain.clone()),
        (null.clone(), whole),
        (deep.clone(), other_kind.clone()),
        (other_kind, plain.clone()),
        (null.clone(), set),
        (null.clone(), set_inside),
        (null.clone(), in_map),
        (null, ephemeral),
    ];
    for (before, after) in pairs {
        let mut changed = change("thing_x.a", Action::Replace, before.clone(), after.clone());
        changed.act = replacing(vec![Path::root().attr("a")]);
        let mut staged = stage(vec![changed]);
        staged.outputs = vec![
            OutputChange {
                name: "o".into(),
                action: Action::Update,
                before: Some(text(SECRET)),
                after: Some(text(SECRET)),
                null: false,
                sensitive: true,
                needs: Default::default(),
            },
            OutputChange {
                name: "p".into(),
                action: Action::Create,
                before: None,
                after: Some(deep.clone()),
                null: false,
                sensitive: false,
                needs: Default::default(),
            },
        ];
        staged.drift = vec![Drift {
            deposed: None,
            address: "thing_x.a".parse().unwrap(),
            previous: None,
            provider: staged.changes[0].provider.clone(),
            action: Action::Update,
            before: before.clone(),
            after: after.clone(),
            aspects: Vec::new(),
        }];
        staged.variables = [("v".into(), secret(SECRET))].into();
        let shown = serde_json::to_string(&summary(&staged)).unwrap();
        assert!(
            !shown.contains(SECRET),
            "{before:?} -> {after:?} shows {shown}"
        );
    }
}

#[test]
fn change_of_sensitivity_alone_is_a_change() {
    let before = Value::object([("a", text("x"))]);
    let after = Value::object([("a", secret("x"))]);
    let all = diff::attributes(&before, &after, &[]);
    assert!(all[0].changed && all[0].sensitive);
    assert_eq!(
        (all[0].before.as_deref(), all[0].after.as_deref()),
        (Some(diff::SENSITIVE), Some(diff::SENSITIVE))
    );
}
