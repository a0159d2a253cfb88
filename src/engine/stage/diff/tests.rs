//! Tables of pairs of elements, and of documents inside texts.

use super::*;
use cty::{Mark, Type};

fn block(attributes: &[(&str, &str)]) -> Value {
    Value::object(attributes.iter().map(|(n, v)| (*n, Value::string(v))))
}

fn list(blocks: &[&[(&str, &str)]]) -> Value {
    let tuple = blocks.iter().map(|b| block(b)).collect();
    Value::object([("rule", Value::tuple(tuple))])
}

/// Changed rows: `path before > after`, with the path before in parentheses if it differs.
fn changed(before: &Value, after: &Value, forcing: &[Path]) -> Vec<String> {
    attributes(before, after, forcing)
        .into_iter()
        .filter(|row| row.changed)
        .map(text)
        .collect()
}

fn text(row: AttributeChange) -> String {
    let or_none = |side: Option<String>| side.unwrap_or("none".to_owned());
    let from = row.before_path.map_or(String::new(), |p| format!(" ({p})"));
    let forces = if row.forces_replacement { " !" } else { "" };
    format!(
        "{}{from} {} > {}{forces}",
        row.path,
        or_none(row.before),
        or_none(row.after)
    )
}

/// Attributes of a block with their values.
type Block = Vec<(&'static str, &'static str)>;

const A: &[(&str, &str)] = &[("port", "80"), ("proto", "tcp"), ("note", "a")];
const B: &[(&str, &str)] = &[("port", "443"), ("proto", "tcp"), ("note", "b")];
const NEW: &[(&str, &str)] = &[("port", "22"), ("proto", "udp"), ("note", "n")];

#[test]
fn block_put_first_is_one_addition() {
    let added = [
        "rule[0].note none > \"n\"",
        "rule[0].port none > \"22\"",
        "rule[0].proto none > \"udp\"",
    ];
    assert_eq!(changed(&list(&[A, B]), &list(&[NEW, A, B]), &[]), added);
    // The same if another block changes, and the provider computes an attribute of the new one.
    let changed_b: &[(&str, &str)] = &[("port", "8443"), ("proto", "tcp"), ("note", "b")];
    let expected = [
        &added[..],
        &["rule[2].port (rule[1].port) \"443\" > \"8443\""],
    ]
    .concat();
    assert_eq!(
        changed(&list(&[A, B]), &list(&[NEW, A, changed_b]), &[]),
        expected
    );
}

#[test]
fn lists_are_matched_by_identity_value_likeness_or_position() {
    let named = |name: &'static str, size: &'static str| vec![("name", name), ("size", size)];
    let table: Vec<(Vec<Block>, Vec<Block>, Vec<&str>)> = vec![
        // A removed block, with the path that it had.
        (
            vec![A.to_vec(), B.to_vec()],
            vec![B.to_vec()],
            vec![
                "rule[0].note \"a\" > none",
                "rule[0].port \"80\" > none",
                "rule[0].proto \"tcp\" > none",
            ],
        ),
        // The identity decides, even if other attributes are more alike.
        (
            vec![named("a", "1"), named("b", "2")],
            vec![named("b", "1"), named("c", "9")],
            vec![
                "rule[0].name \"a\" > none",
                "rule[0].size \"1\" > none",
                "rule[0].size (rule[1].size) \"2\" > \"1\"",
                "rule[1].name none > \"c\"",
                "rule[1].size none > \"9\"",
            ],
        ),
        // A renamed block.
        (
            vec![named("a", "1"), named("b", "2")],
            vec![named("a", "1"), named("c", "2")],
            vec!["rule[1].name \"b\" > \"c\""],
        ),
        // The order is visible.
        (
            vec![named("a", "1"), named("b", "2")],
            vec![named("b", "2"), named("a", "1")],
            vec![
                "rule[0].name \"a\" > none",
                "rule[0].size \"1\" > none",
                "rule[1].name none > \"a\"",
                "rule[1].size none > \"1\"",
            ],
        ),
        // Nothing in common: by position.
        (
            vec![vec![("x", "1"), ("y", "1")]],
            vec![vec![("x", "2"), ("y", "2")]],
            vec!["rule[0].x \"1\" > \"2\"", "rule[0].y \"1\" > \"2\""],
        ),
    ];
    for (before, after, expected) in table {
        let value = |side: &[Block]| list(&side.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(changed(&value(&before), &value(&after), &[]), expected);
    }
}

#[test]
fn reason_of_a_replacement_inside_a_list_is_never_lost() {
    // The provider compared positions: the first blocks have the same port.
    let new: &[(&str, &str)] = &[("port", "80"), ("proto", "udp"), ("note", "n")];
    let port = |i: i64| Path::root().attr("rule").index(Value::int(i)).attr("port");
    let rows = changed(&list(&[A, B]), &list(&[new, A, B]), &[port(1)]);
    assert!(
        rows.contains(&"rule[1].port \"443\" > \"80\" !".to_owned()),
        "{rows:?}"
    );
}

#[test]
fn hidden_values_do_not_decide_which_blocks_are_paired() {
    let secret = |name: &str, secret: &str| {
        Value::object([
            ("name", Value::string(name)),
            ("secret", Value::string(secret).mark(Mark::Sensitive)),
        ])
    };
    let list = |all: Vec<Value>| Value::object([("user", Value::tuple(all))]);
    let before = list(vec![secret("a", "one"), secret("b", "two")]);
    let after = list(vec![
        secret("new", "one"),
        secret("a", "one"),
        secret("b", "two"),
    ]);
    // By name.
    assert_eq!(
        changed(&before, &after, &[]),
        [
            "user[0].name none > \"new\"",
            "user[0].secret none > (sensitive value)"
        ]
    );
    // Without a name, by position: equal secrets at other positions stay unknown to the reader.
    let bare = |s: &str| Value::object([("secret", Value::string(s).mark(Mark::Sensitive))]);
    let (before, after) = (
        list(vec![bare("one")]),
        list(vec![bare("two"), bare("one")]),
    );
    assert_eq!(
        changed(&before, &after, &[]),
        [
            "user[0].secret (sensitive value) > (sensitive value)",
            "user[1].secret none > (sensitive value)"
        ]
    );
}

#[test]
fn set_elements_are_matched_by_identity() {
    let set = |size: &str| {
        let element = |name: &str, size: &str| block(&[("name", name), ("size", size)]);
        let ty = Type::object([("name", Type::String), ("size", Type::String)]);
        let all = vec![element("a", size), element("b", "1")];
        Value::object([("disk", Value::set(ty, all))])
    };
    assert_eq!(
        changed(&set("1"), &set("2"), &[]),
        ["disk[0].size \"1\" > \"2\""]
    );
}

#[test]
fn revealed_rows_are_the_rows_with_values_in_clear() {
    let value = |s: &str| {
        Value::object([
            ("a", Value::string("x")),
            ("b", Value::string(s).mark(Mark::Sensitive)),
        ])
    };
    let masked = attributes(&value("one"), &value("two"), &[]);
    let shown = revealed_attributes(&value("one"), &value("two"), &[]);
    assert_eq!(masked.len(), shown.len());
    assert_eq!(masked[1].after.as_deref(), Some(SENSITIVE));
    assert_eq!(shown[1].before.as_deref(), Some("\"one\""));
    assert_eq!(shown[1].after.as_deref(), Some("\"two\""));
}

fn compared(before: &str, after: &str) -> Option<(&'static str, Vec<String>)> {
    let found = document(before, after)?;
    let rows = found.rows.into_iter().filter(|r| r.changed);
    Some((found.format, rows.map(text).collect()))
}

#[test]
fn json_is_compared_by_structure() {
    let statement = |sid: &str, tag: &str| {
        format!(
            r#"{{"Sid":"{sid}","Condition":{{"StringEquals":{{"aws:tag":"{tag}"}}}},"Action":["s3:Get"]}}"#
        )
    };
    let policy = |all: &[String]| format!(r#"{{"Version":"1","Statement":[{}]}}"#, all.join(","));
    let one = policy(&[statement("A", "v1"), statement("B", "v1")]);
    let table = [
        (
            one.clone(),
            policy(&[statement("A", "v1"), statement("B", "v2")]),
            vec![r#"Statement[Sid=B].Condition.StringEquals.aws:tag "v1" > "v2""#],
        ),
        (
            one.clone(),
            policy(&[
                statement("N", "v0"),
                statement("A", "v1"),
                statement("B", "v1"),
            ]),
            vec![
                r#"Statement[Sid=N] none > { Action = ["s3:Get"], Condition = { StringEquals = { "aws:tag" = "v0" } }, Sid = "N" }"#,
            ],
        ),
        // Elements without an identity, nulls, members with dots, and a null that goes.
        (
            r#"{"a":[1,2,3],"b":null,"c.d":{"e":1}}"#.to_owned(),
            r#"{"a":[0,1,2,3],"c.d":{"e":2}}"#.to_owned(),
            vec!["a[0] none > 0", "b null > none", "[\"c.d\"].e 1 > 2"],
        ),
        ("[1]".to_owned(), "[2]".to_owned(), vec!["[0] 1 > 2"]),
    ];
    for (before, after, expected) in table {
        let (format, rows) = compared(&before, &after).expect("a document");
        assert_eq!(
            (format, rows.iter().map(String::as_str).collect()),
            ("JSON", expected)
        );
    }
}

#[test]
fn yaml_is_compared_by_structure() {
    let pod = |limit: &str, first: &str| {
        format!(
            "kind: Pod\nspec:\n  containers:\n{first}  - name: web\n    limits:\n      cpu: {limit}\n  - name: log\n    limits: {{cpu: 10m}}\n"
        )
    };
    let (format, rows) = compared(&pod("500m", ""), &pod("750m", "")).expect("a document");
    assert_eq!(format, "YAML");
    assert_eq!(
        rows,
        ["spec.containers[name=web].limits.cpu \"500m\" > \"750m\""]
    );
    let (_, rows) =
        compared(&pod("500m", ""), &pod("500m", "  - name: init\n")).expect("a document");
    assert_eq!(
        rows,
        ["spec.containers[name=init] none > { name = \"init\" }"]
    );
}

#[test]
fn documents_of_a_yaml_text_are_compared_one_by_one() {
    let config = |name: &str, size: &str| {
        format!("kind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  size: {size}\n")
    };
    let text = |all: &[String]| all.join("---\n");
    let (a, b) = (config("a", "small"), config("b", "small"));
    let table = [
        // A changed and an added document; a separator before the first one is layout.
        (
            text(&[a.clone(), b.clone()]),
            format!(
                "---\n{}",
                text(&[config("new", "big"), a.clone(), config("b", "big")])
            ),
            vec![
                "ConfigMap/b.data.size \"small\" > \"big\"",
                "ConfigMap/new none > { data = { size = \"big\" }, kind = \"ConfigMap\", metadata = { name = \"new\" } }",
            ],
        ),
        // Documents in another order are a list.
        (
            text(&[a.clone(), b.clone()]),
            text(&[b.clone(), a.clone()]),
            vec![
                "[0] { data = { size = \"small\" }, kind = \"ConfigMap\", metadata = { name = \"a\" } } > none",
                "[1] none > { data = { size = \"small\" }, kind = \"ConfigMap\", metadata = { name = \"a\" } }",
            ],
        ),
        // Documents without a name.
        (
            "a: 1\n---\nb: 1\n".to_owned(),
            "a: 1\n---\nb: 2\n".to_owned(),
            vec!["[1].b 1 > 2"],
        ),
    ];
    for (before, after, expected) in table {
        let (format, rows) = compared(&before, &after).expect("a document");
        assert_eq!(
            (format, rows.iter().map(String::as_str).collect()),
            ("YAML", expected)
        );
    }
    // One document is no YAML mapping.
    assert_eq!(
        document("a: 1\n---\nno mapping\n", "a: 2\n---\nno mapping\n"),
        None
    );
}

#[test]
fn texts_whose_difference_the_structure_does_not_express_are_no_documents() {
    let table = [
        // No documents.
        ("a", "b"),
        ("1", "2"),
        ("Note: read this\n", "Note: read that\n"),
        ("echo: one\nnot yaml", "echo: two\nnot yaml"),
        ("my note: a\nb: c\n", "my note: b\nb: c\n"),
        // One side only, or another format.
        ("{\"a\":1}", "text"),
        ("{\"a\":1}", "a: 1\nb: 2\n"),
        // Layout and order only.
        ("{\"a\":1}", "{ \"a\": 1 }"),
        ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"),
        // Texts of equal values differ.
        ("{\"a\":1.0,\"b\":1}", "{\"a\":1,\"b\":2}"),
        ("a: 1.10\nb: 1\n", "a: 1.1\nb: 2\n"),
        ("a: yes\nb: 1\n", "a: true\nb: 2\n"),
        ("a: 0x1f\nb: 1\n", "a: 31\nb: 2\n"),
        ("a: !Ref x\nb: 1\n", "a: !Sub x\nb: 2\n"),
        ("a: [1, on]\nb: 1\n", "a: [1, true]\nb: 2\n"),
        // Comments are not part of the structure.
        ("# one\na: 1\nb: 2\n", "# two\na: 1\nb: 3\n"),
        ("a: 1 # one\nb: 2\n", "a: 1 # two\nb: 3\n"),
    ];
    for (before, after) in table {
        assert_eq!(document(before, after), None, "{before:?} {after:?}");
    }
}
