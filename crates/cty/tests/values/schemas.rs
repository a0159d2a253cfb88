//! Tests of values derived from schemas.

use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting};
use cty::{Marks, Path, Type, Value};

fn sample_block() -> Block {
    let nested = |nesting, sensitive: bool| Attribute {
        nested: Some(NestedObject {
            attributes: [
                ("key".into(), Attribute::required(Type::String)),
                (
                    "secret".into(),
                    Attribute {
                        sensitive,
                        ..Attribute::optional(Type::String)
                    },
                ),
            ]
            .into(),
            nesting,
        }),
        optional: true,
        ..Attribute::default()
    };
    let inner = Block {
        attributes: [(
            "password".into(),
            Attribute::optional(Type::String).sensitive(),
        )]
        .into(),
        ..Block::default()
    };
    let open = Block {
        attributes: [("any".into(), Attribute::optional(Type::Dynamic))].into(),
        ..Block::default()
    };
    Block {
        attributes: [
            ("id".into(), Attribute::computed(Type::String)),
            ("items".into(), nested(Nesting::List, true)),
        ]
        .into(),
        blocks: [
            (
                "login".into(),
                NestedBlock::new(Nesting::List, inner.clone()),
            ),
            ("group".into(), NestedBlock::new(Nesting::Group, inner)),
            ("open".into(), NestedBlock::new(Nesting::Map, open)),
        ]
        .into(),
        ..Block::default()
    }
}

#[test]
fn schema_implies_type_and_empty_value() {
    let block = sample_block();
    assert_eq!(
        format!("{:?}", block.conversion_type()),
        "object({group = object({password = string}), id = string, items = list(object({key = string, secret = optional(string)})), \
         login = list(object({password = string})), open = any})"
    );
    assert!(!block.implied_type().has_optional());
    let empty = block.empty_value();
    assert!(empty.ty().conforms_to(&block.implied_type()));
    assert_eq!(empty.get_attr("open"), Some(Value::empty_object()));
    assert_eq!(
        empty.get_attr("group").unwrap().get_attr("password"),
        Some(Value::null(Type::String))
    );
}

#[test]
fn schema_reports_sensitive_paths_of_a_value() {
    let block = sample_block();
    let item = Value::object([("key", "k".into()), ("secret", "s".into())]);
    let login = Value::object([("password", "p".into())]);
    let value = Value::object([
        ("id", "i".into()),
        (
            "items",
            Value::list(Type::Dynamic, vec![item.clone(), item]),
        ),
        ("login", Value::list(Type::Dynamic, vec![login.clone()])),
        ("group", login),
        ("open", Value::empty_object()),
    ]);
    let mut paths: Vec<String> = block
        .sensitive_paths(&value)
        .iter()
        .map(Path::to_string)
        .collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            ".group.password",
            ".items[0].secret",
            ".items[1].secret",
            ".login[0].password"
        ]
    );
    let marks: Vec<(Path, Marks)> = block
        .sensitive_paths(&value)
        .into_iter()
        .map(|p| (p, Marks::sensitive()))
        .collect();
    assert!(!value.mark_with_paths(&marks).to_string().contains("\"s\""));
    assert!(
        block
            .attribute_at(&Path::root().attr("items").index_int(0).attr("secret"))
            .unwrap()
            .sensitive
    );
    assert!(
        block
            .attribute_at(&Path::root().attr("items").index_int(0))
            .is_none()
    );
}
