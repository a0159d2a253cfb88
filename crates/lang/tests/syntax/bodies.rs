//! Bodies of both syntaxes, read by schema.

use std::sync::Arc;

use lang::body::{Body, BodySchema};
use lang::source::SourceMap;
use lang::syntax;

use super::shape;

fn schema() -> BodySchema {
    BodySchema::new()
        .optional(&["a", "b"])
        .required(&["need"])
        .block("x", &[])
        .block("two", &["type", "name"])
}

#[test]
fn native_and_json_bodies_give_the_same_content() {
    let native = "need = 1\na = \"x\"\nx {\n  k = 1\n}\nx {}\ntwo \"t\" n {}\n";
    let json = r#"{"//": "c", "need": 1, "a": "x", "x": [{"k": 1}, {}], "two": {"t": {"n": {}}}}"#;
    let sources = SourceMap::new();
    let file = sources.add("b.tf", native);
    let (body, diags) = syntax::parse_file(native, file);
    assert!(diags.is_empty());
    let (node, diags) = syntax::json::parse(json, sources.add("b.tf.json", json));
    assert!(diags.is_empty());
    for body in [Body::native(Arc::new(body)), Body::json(node)] {
        let (content, diags) = body.content(&schema());
        assert!(diags.is_empty(), "{:?}", diags.iter().next());
        assert_eq!(
            content.attributes.keys().map(|k| &**k).collect::<Vec<_>>(),
            ["need", "a"]
        );
        let blocks: Vec<String> = content
            .blocks
            .iter()
            .map(|b| {
                format!(
                    "{}{:?}",
                    b.type_name,
                    b.labels.iter().map(|l| &*l.text).collect::<Vec<_>>()
                )
            })
            .collect();
        assert_eq!(blocks, ["x[]", "x[]", "two[\"t\", \"n\"]"]);
        let (attributes, diags) = content.blocks[0].body.just_attributes();
        assert!(diags.is_empty() && attributes.contains_key("k"));
        let (first, rest, _) = body.partial_content(&BodySchema::new().optional(&["a"]));
        assert!(
            first.attribute("a").is_some()
                && !rest.has_attribute("a")
                && rest.has_attribute("need")
        );
    }
}

#[test]
fn unknown_names_are_reported_at_their_position() {
    for (name, text, want) in [
        ("b.tf", "ned = 1\n", vec![(1, 1), (1, 1)]),
        ("b.tf", "need = 1\nneed = 2\n", vec![(2, 1)]),
        ("b.tf", "need = 1\nxx {}\n", vec![(2, 1)]),
        ("b.tf", "need = 1\nx \"l\" {}\n", vec![(2, 3)]),
        ("b.tf", "need = 1\ntwo \"t\" {\n}\n", vec![(2, 9)]),
        ("b.tf.json", r#"{"need": 1, "z": 2}"#, vec![(1, 13)]),
        ("b.tf.json", r#"{"need": 1, "x": 2}"#, vec![(1, 18)]),
        ("b.tf.json", r#"{"a": 1}"#, vec![(1, 8)]),
        (
            "b.tf.json",
            r#"{"need": 1, "two": {"t": {}}}"#,
            vec![(1, 26)],
        ),
    ] {
        let sources = SourceMap::new();
        let file = sources.add(name, text);
        let (body, mut diags) = if name.ends_with("json") {
            let (node, diags) = syntax::json::parse(text, file);
            (Body::json(node), diags)
        } else {
            let (body, diags) = syntax::parse_file(text, file);
            (Body::native(Arc::new(body)), diags)
        };
        diags.append(body.content(&schema()).1);
        let mut places: Vec<_> = diags
            .iter()
            .filter_map(|d| d.range(&sources))
            .map(|r| (r.start.line, r.start.column))
            .collect();
        places.sort_unstable();
        assert_eq!(places, want, "{text}");
    }
}

#[test]
fn override_replaces_arguments_and_blocks_by_type() {
    let parse = |text: &str| {
        let file = SourceMap::new().add("o.tf", text);
        Body::native(Arc::new(syntax::parse_file(text, file).0))
    };
    let merged = Body::merged(
        parse("need = 1\na = 1\nx {\n}\ntwo \"t\" \"n\" {\n}\n"),
        parse("a = 2\nx {\n  k = 1\n}\nx {\n}\n"),
    );
    let (content, diags) = merged.content(&schema());
    assert!(diags.is_empty());
    assert_eq!(shape(&content.attributes["a"].expr), "2");
    assert_eq!(content.blocks_of("x").count(), 2);
    assert_eq!(content.blocks_of("two").count(), 1);
}

#[test]
fn json_strings_are_parsed_as_templates_and_references() {
    let text = r#"{"a": "${b.c}", "d": "x ${e}", "f": "g.h[0]", "i": ["${j}", null, 1.50]}"#;
    let sources = SourceMap::new();
    let (node, _) = syntax::json::parse(text, sources.add("j.tf.json", text));
    let (attributes, diags) = Body::json(node).just_attributes();
    assert!(diags.is_empty());
    assert_eq!(shape(&attributes["a"].expr), "(wrap b.c)");
    assert_eq!(shape(&attributes["d"].expr), "(t \"x \" e)");
    assert_eq!(
        attributes["f"]
            .expr
            .as_static_traversal()
            .map(|t| t.to_string())
            .as_deref(),
        Some("g.h[0]")
    );
    assert_eq!(shape(&attributes["i"].expr), "[(wrap j) null 1.5]");
    let span = attributes["d"].expr.traversals()[0].root_span;
    assert_eq!(sources.snippet(span), "e");
}
