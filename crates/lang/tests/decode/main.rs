//! Decodes bodies by schema: nested blocks, `dynamic`, arguments as blocks, errors with places,
//! references.
#![allow(clippy::unwrap_used)]

mod faults;
mod references;

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting};
use cty::{Mark, Type, Value};
use lang::body::Body;
use lang::decode::{decode_block, refuse_ephemeral};
use lang::eval::Bindings;
use lang::source::SourceMap;
use lang::syntax::parse_file;

fn attributes<const N: usize>(list: [(&str, Attribute); N]) -> BTreeMap<Arc<str>, Attribute> {
    list.into_iter().map(|(name, a)| (name.into(), a)).collect()
}

fn nested(nesting: Nesting, block: Block) -> NestedBlock {
    NestedBlock::new(nesting, block)
}

fn port_schema() -> Block {
    let attrs = attributes([
        ("number", Attribute::required(Type::Number)),
        ("name", Attribute::optional(Type::String)),
    ]);
    Block {
        attributes: attrs,
        ..Block::default()
    }
}

fn schema() -> Block {
    Block {
        attributes: attributes([
            ("id", Attribute::computed(Type::String)),
            ("size", Attribute::required(Type::Number)),
            ("tags", Attribute::optional(Type::map(Type::String))),
        ]),
        blocks: [
            ("port".into(), nested(Nesting::List, port_schema())),
            ("unique".into(), nested(Nesting::Set, port_schema())),
            ("by_key".into(), nested(Nesting::Map, port_schema())),
            ("one".into(), nested(Nesting::Single, port_schema())),
            (
                "group".into(),
                nested(
                    Nesting::Group,
                    Block {
                        attributes: attributes([("x", Attribute::optional(Type::String))]),
                        ..Block::default()
                    },
                ),
            ),
        ]
        .into(),
        ..Block::default()
    }
}

struct Decoded {
    value: Value,
    faults: Vec<(u32, u32, String)>,
}

fn body(text: &str, sources: &SourceMap) -> Body {
    let file = sources.add("main.tf", text);
    let (native, diags) = parse_file(text, file);
    assert!(!diags.has_errors(), "{diags:?}");
    Body::native(Arc::new(native))
}

fn decode(text: &str, schema: &Block, names: &[(&str, Value)]) -> Decoded {
    let sources = SourceMap::new();
    let scope = Bindings::new(
        names
            .iter()
            .map(|(n, v)| (Arc::from(*n), v.clone()))
            .collect(),
    );
    let (value, diags) = decode_block(&body(text, &sources), schema, &scope);
    let place = |d: &lang::diag::Diagnostic| {
        let start = d.range(&sources).unwrap().start;
        (start.line, start.column, d.summary.clone())
    };
    Decoded {
        value,
        faults: diags.iter().map(place).collect(),
    }
}

fn at(value: &Value, names: &[&str]) -> Value {
    names
        .iter()
        .fold(value.clone(), |v, name| match name.parse::<usize>() {
            Ok(i) => v.as_slice().unwrap()[i].clone(),
            Err(_) => v
                .index_str(name)
                .unwrap_or_else(|| panic!("no {name} in {v:?}")),
        })
}

#[test]
fn blocks_are_decoded_by_their_nesting_mode() {
    let text = "size = \"3\"\ntags = { a = 1 }\nport { number = 1 }\nport {\n  number = 2\n  name = \"b\"\n}\nunique { number = 1 }\nunique { number = 1 }\n\
                by_key \"k\" { number = 5 }\none { number = 7 }\n";
    let got = decode(text, &schema(), &[]);
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    assert_eq!(*got.value.ty(), schema().implied_type());
    assert_eq!(
        at(&got.value, &["size"]),
        Value::number(cty::Number::parse("3").unwrap())
    );
    assert_eq!(at(&got.value, &["tags", "a"]), Value::string("1"));
    assert_eq!(at(&got.value, &["port"]).len(), Some(2));
    assert_eq!(at(&got.value, &["port", "1", "name"]), Value::string("b"));
    assert_eq!(at(&got.value, &["unique"]).len(), Some(1));
    assert!(at(&got.value, &["by_key", "k", "name"]).is_null());
    assert!(at(&got.value, &["one", "number"]).is_given());
    assert!(at(&got.value, &["group", "x"]).is_null());
    assert!(at(&got.value, &["id"]).is_null());
}

#[test]
fn dynamic_block_expands_to_one_block_per_element() {
    let text = "size = 1\ndynamic \"port\" {\n  for_each = ports\n  content {\n    number = port.value\n    name   = port.key\n  }\n}\n\
                dynamic \"by_key\" {\n  for_each = { a = 1, b = 2 }\n  iterator = it\n  labels = [\"x-${it.key}\"]\n  content { number = it.value }\n}\n";
    let ports = Value::tuple(vec![Value::int(80), Value::int(443)]);
    let got = decode(text, &schema(), &[("ports", ports)]);
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    assert_eq!(at(&got.value, &["port"]).len(), Some(2));
    assert_eq!(at(&got.value, &["port", "1", "name"]), Value::string("1"));
    assert_eq!(
        at(&got.value, &["by_key", "x-b", "number"])
            .as_number()
            .and_then(cty::Number::to_i64),
        Some(2)
    );
}

#[test]
fn unknown_for_each_makes_the_blocks_unknown() {
    let text = "size = 1\nport { number = 1 }\ndynamic \"port\" {\n  for_each = ports\n  content { number = port.value }\n}\n";
    let got = decode(
        text,
        &schema(),
        &[("ports", Value::unknown(Type::list(Type::Number)))],
    );
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    let ports = at(&got.value, &["port"]);
    assert!(!ports.is_known());
    assert_eq!(*ports.ty(), Type::list(port_schema().implied_type()));
}

#[test]
fn block_count_limits_ignore_blocks_with_an_unknown_count() {
    let mut leaf = nested(Nesting::List, port_schema());
    (leaf.min_items, leaf.max_items) = (1, 1);
    let inner = Block {
        blocks: [("leaf".into(), leaf)].into(),
        ..Block::default()
    };
    let schema = Block {
        blocks: [("branch".into(), nested(Nesting::List, inner))].into(),
        ..Block::default()
    };
    let each = |name: &str, each: &str, content: &str| {
        format!("dynamic {name:?} {{\nfor_each = {each}\ncontent {{\n{content}\n}}\n}}\n")
    };
    let two = [
        each("leaf", "branch.value", "number = 1"),
        each("leaf", "branch.value", "number = 2"),
    ]
    .concat();
    let three = each("leaf", "[1, 2, 3]", "number = 1");
    let later = each("branch", "maybe", &two) + "branch {\n  leaf {}\n  leaf {}\n}\n";
    let unknown = [("maybe", Value::unknown(Type::list(Type::Dynamic)))];
    for text in [
        each("branch", "maybe", &two),
        each("branch", "maybe", &three),
        later,
    ] {
        let got = decode(&text, &schema, &unknown);
        assert!(
            got.faults.is_empty() && !at(&got.value, &["branch"]).is_known(),
            "{text}: {:?}",
            got.faults
        );
    }
    // The schema of the content is still checked, and a required block is missing.
    let null = decode(
        &each("branch", "maybe", &each("leaf", "null", "number = 1")),
        &schema,
        &unknown,
    );
    assert_eq!(
        null.faults,
        [
            (5, 12, "Invalid dynamic for_each value".to_owned()),
            (3, 9, "Insufficient leaf blocks".to_owned())
        ]
    );
    let known = decode(&each("branch", "[[1, 2]]", &two), &schema, &unknown);
    assert_eq!(known.faults.len(), 1, "{:?}", known.faults);
    assert_eq!(known.faults[0].2, "Too many leaf blocks");
}

#[test]
fn sensitive_for_each_marks_the_blocks() {
    let text =
        "size = 1\ndynamic \"port\" {\n  for_each = ports\n  content { number = port.value }\n}\n";
    let ports = Value::tuple(vec![Value::int(1)]).mark(Mark::Sensitive);
    let got = decode(text, &schema(), &[("ports", ports)]);
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    assert!(at(&got.value, &["port", "0"]).has_mark(&Mark::Sensitive));
    assert!(at(&got.value, &["port", "0", "number"]).has_mark(&Mark::Sensitive));
}

#[test]
fn nested_dynamic_blocks_see_outer_iterators() {
    let inner = Block {
        blocks: [("leaf".into(), nested(Nesting::List, port_schema()))].into(),
        ..Block::default()
    };
    let schema = Block {
        blocks: [("branch".into(), nested(Nesting::List, inner))].into(),
        ..Block::default()
    };
    let text = "dynamic \"branch\" {\n  for_each = [[1, 2], [3]]\n  content {\n    dynamic \"leaf\" {\n      for_each = branch.value\n\
                      content {\n        number = leaf.value\n        name = \"${branch.key}-${leaf.key}\"\n      }\n    }\n  }\n}\n";
    let got = decode(text, &schema, &[]);
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    assert_eq!(
        at(&got.value, &["branch", "0", "leaf", "1", "name"]),
        Value::string("0-1")
    );
    assert_eq!(at(&got.value, &["branch", "1", "leaf"]).len(), Some(1));
}

#[test]
fn legacy_object_lists_may_be_written_as_blocks() {
    let object = Type::object([("cidr", Type::String), ("port", Type::Number)]);
    let schema = Block {
        attributes: attributes([("rule", Attribute::optional(Type::list(object.clone())))]),
        ..Block::default()
    };
    let as_blocks = decode(
        "rule {\n  cidr = \"a\"\n}\nrule { port = 2 }\n",
        &schema,
        &[],
    );
    let as_argument = decode(
        "rule = [{ cidr = \"a\", port = null }, { cidr = null, port = 2 }]\n",
        &schema,
        &[],
    );
    assert!(as_blocks.faults.is_empty(), "{:?}", as_blocks.faults);
    assert_eq!(as_blocks.value, as_argument.value);
    let made = decode(
        "dynamic \"rule\" {\n  for_each = [1, 2]\n  content { port = rule.value }\n}\n",
        &schema,
        &[],
    );
    assert_eq!(
        at(&made.value, &["rule"]).len(),
        Some(2),
        "{:?}",
        made.faults
    );
    assert!(at(&decode("", &schema, &[]).value, &["rule"]).is_null());

    let modern = NestedObject {
        attributes: attributes([("x", Attribute::optional(Type::String))]),
        nesting: Nesting::List,
    };
    let newer = Block {
        attributes: attributes([
            ("rule", Attribute::optional(Type::list(object))),
            (
                "modern",
                Attribute {
                    nested: Some(modern),
                    optional: true,
                    ..Attribute::default()
                },
            ),
        ]),
        ..Block::default()
    };
    assert_eq!(decode("rule { port = 2 }\n", &newer, &[]).faults.len(), 1);
    let got = decode("modern = [{}, { x = \"y\" }]\n", &newer, &[]);
    assert!(got.faults.is_empty(), "{:?}", got.faults);
    assert!(at(&got.value, &["modern", "0", "x"]).is_null());
}

#[test]
fn ephemeral_values_are_accepted_only_in_write_only_arguments() {
    let mut schema = schema();
    schema.attributes.insert(
        "secret".into(),
        Attribute {
            write_only: true,
            ..Attribute::optional(Type::String)
        },
    );
    let sources = SourceMap::new();
    let body = body("size = 1\nsecret = e\ntags = { a = e }\n", &sources);
    let scope = Bindings::new(BTreeMap::from([(
        Arc::from("e"),
        Value::string("x").mark(Mark::Ephemeral),
    )]));
    let (value, diags) = decode_block(&body, &schema, &scope);
    assert!(diags.is_empty(), "{diags:?}");
    let refused = refuse_ephemeral(&value, &schema, &body);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        refused
            .iter()
            .next()
            .unwrap()
            .range(&sources)
            .unwrap()
            .start
            .line,
        3
    );
}
