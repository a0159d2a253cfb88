//! What a body refers to, and the way back from a value to the text.

use std::sync::Arc;

use cty::schema::{Block, Nesting};
use cty::{Path, Value};
use lang::decode::{live_references, place_of, references};
use lang::eval::Bindings;
use lang::source::SourceMap;

use super::{body, nested, port_schema, schema};

#[test]
fn what_no_block_is_made_of_refers_to_nothing() {
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
        let found = live_references(&body(&text(each), &sources), &schema, &scope);
        let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
        found.sort();
        found.join(" ")
    };
    assert_eq!(refers("[[], [1]]"), "far.x wrong.value");
    assert_eq!(refers("[[]]"), "far.x");
    assert_eq!(refers("[]"), "far.x");
    assert_eq!(refers("maybe"), "far.x maybe");
}

#[test]
fn references_leave_out_what_dynamic_blocks_bind() {
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
fn paths_lead_back_to_the_text() {
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
