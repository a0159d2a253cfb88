//! References of a body, and places of values in the text.

use std::sync::Arc;

use cty::schema::{Block, Nesting};
use cty::{Path, Type, Value};
use lang::decode::{Outline, decode_block, live_references, place_of, references};
use lang::eval::Bindings;
use lang::source::SourceMap;
use lang::syntax::Traversal;

use super::{body, nested, port_schema, schema};

fn said(found: &[Traversal]) -> String {
    let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
    found.sort();
    found.join(" ")
}

#[test]
fn content_of_unexpanded_dynamic_blocks_has_no_references() {
    let inner = Block {
        blocks: [("leaf".into(), nested(Nesting::List, port_schema()))].into(),
        ..Block::default()
    };
    let schema = Block {
        blocks: [("branch".into(), nested(Nesting::List, inner))].into(),
        ..Block::default()
    };
    let text = |each: &str| {
        format!(
            "dynamic \"branch\" {{\n  for_each = {each}\n  content {{\n    dynamic \"leaf\" {{\n      for_each = concat(branch.value, far.x)\n\
             content {{\n        number = wrong.value\n      }}\n    }}\n  }}\n}}\n"
        )
    };
    let sources = SourceMap::new();
    let names = [
        ("far", Value::object([("x", Value::empty_tuple())])),
        ("maybe", Value::dynamic()),
    ];
    let scope = Bindings::new(
        names
            .iter()
            .map(|(n, v)| (Arc::from(*n), v.clone()))
            .collect(),
    );
    let refers = |each: &str| {
        let body = body(&text(each), &sources);
        let found = live_references(&body, &schema, &scope);
        let outline = Outline::of(&body, &schema, &schema.implied_type());
        assert_eq!(said(&outline.references(&schema, &scope)), said(&found));
        said(&found)
    };
    assert_eq!(refers("[[], [1]]"), "far.x wrong.value");
    assert_eq!(refers("[[]]"), "far.x");
    assert_eq!(refers("[]"), "far.x");
    assert_eq!(refers("maybe"), "far.x maybe");
}

/// An outline keeps nothing of a scope: blocks made in one are not those made in the next.
#[test]
fn cached_outline_decodes_like_a_new_one() {
    let schema = schema();
    let texts = [
        "size = each\ntags = { a = each }\nport { number = each }\none { number = 1 }\n",
        "size = 1\ndynamic \"port\" {\n  for_each = range(each)\n  content {\n    number = port.value + far\n  }\n}\n",
        "dynamic \"port\" {\n  for_each = [each]\n  content {\n    number = port.value\n  }\n}\ntags = each\nodd = 1\n",
        "size = 1\ndynamic \"nothing\" {\n  for_each = [each]\n  content {}\n}\n",
    ];
    for text in texts {
        let sources = SourceMap::new();
        let body = body(text, &sources);
        let ty = schema.implied_type();
        let outline = Outline::of(&body, &schema, &ty);
        for n in [2, 0, 1] {
            let names = [("each", Value::int(n)), ("far", Value::int(7))];
            let names = names.map(|(name, value)| (Arc::from(name), value));
            let scope = Bindings::new(names.into());
            let (value, faults) = outline.decode(&schema, &scope);
            let (anew, faults_anew) = decode_block(&body, &schema, &scope);
            assert!(value.raw_equals(&anew), "{text}: {value:?} {anew:?}");
            assert_eq!(format!("{faults:?}"), format!("{faults_anew:?}"));
            let live = live_references(&body, &schema, &scope);
            let always = outline.references(&schema, &scope);
            assert_eq!(said(&always), said(&live), "{text}");
            let shared = |value: &Value| match (value.ty(), &ty) {
                (Type::Object(of), Type::Object(implied)) => Arc::ptr_eq(of, implied),
                _ => false,
            };
            assert!(faults.has_errors() || shared(&value), "{text}");
        }
    }
}

#[test]
fn references_exclude_iterators_of_dynamic_blocks() {
    let text = "size = var.a\ndynamic \"port\" {\n  for_each = local.b\n  iterator = it\n  content {\n    number = it.value + var.c\n    name = port.d\n  }\n}\n\
                one { number = [for x in y.z : x][0] }\n";
    let sources = SourceMap::new();
    let mut found: Vec<String> = references(&body(text, &sources), &schema())
        .iter()
        .map(ToString::to_string)
        .collect();
    found.sort();
    assert_eq!(found, ["local.b", "port.d", "var.a", "var.c", "y.z"]);
}

#[test]
fn value_paths_map_to_source_positions() {
    let text = "size = 1\ntags = {\n  a = \"x\"\n}\nport { number = 1 }\nport {\n  number = 2\n}\nby_key \"k\" {\n  number = 3\n}\n";
    let sources = SourceMap::new();
    let body = body(text, &sources);
    let place = |path: Path| {
        let start = sources.range(place_of(&body, &path)).unwrap().start;
        (start.line, start.column)
    };
    assert_eq!(place(Path::root().attr("size")), (1, 8));
    assert_eq!(place(Path::root().attr("tags").index_str("a")), (3, 7));
    assert_eq!(
        place(Path::root().attr("port").index_int(1).attr("number")),
        (7, 12)
    );
    assert_eq!(
        place(Path::root().attr("by_key").index_str("k").attr("number")),
        (10, 12)
    );
    assert_eq!(place(Path::root().attr("nothing")), (1, 1));
}
