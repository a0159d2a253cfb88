//! No input makes the parsers panic, overflow the stack or run without end, and every error has a place in its file.

use lang::body::{Body, BodySchema};
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use lang::syntax::{self, TemplateOrigin};
use proptest::prelude::*;
use std::sync::Arc;

fn places_lie_inside(diags: &Diagnostics, sources: &SourceMap, text: &str) {
    for d in diags.iter() {
        let span = d.subject.expect("errors of syntax have a place");
        assert!(span.start <= span.end && span.start as usize <= text.len() + 1, "{span:?} in {} bytes: {}", text.len(), d.summary);
        let range = sources.range(span).expect("the file is known");
        assert!(range.start.line >= 1 && range.start.column >= 1);
        d.render(sources);
    }
}

fn read_all_ways(text: &str) {
    let sources = SourceMap::new();
    let file = sources.add("any.tf", text);
    let schema = BodySchema::new().optional(&["a", "b"]).required(&["c"]).block("x", &[]).block("y", &["one", "two"]);
    let (body, diags) = syntax::parse_file(text, file);
    places_lie_inside(&diags, &sources, text);
    for attribute in body.attributes.values() {
        attribute.expr.traversals();
        attribute.expr.as_static_traversal();
        attribute.expr.quoted_traversal();
    }
    places_lie_inside(&Body::native(Arc::new(body)).content(&schema).1, &sources, text);
    places_lie_inside(&syntax::parse_expression_at(text, file, 0).1, &sources, text);
    places_lie_inside(&syntax::parse_template_at(text, file, 0, TemplateOrigin::Bare).1, &sources, text);
    let (node, diags) = syntax::json::parse(text, file);
    places_lie_inside(&diags, &sources, text);
    places_lie_inside(&Body::json(node.clone()).content(&schema).1, &sources, text);
    node.to_expr(&mut Diagnostics::new());
}

/// Texts made of the language's own pieces: far more of the grammar is reached than by random characters.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "${",
        "%{",
        "~}",
        "$${",
        "<<EOT\n",
        "<<-EOT\n",
        "EOT\n",
        "  EOT",
        "\n",
        "\r\n",
        " ",
        "\t",
        "=",
        "==",
        "=>",
        "!=",
        "<",
        "<=",
        "?",
        ":",
        "::",
        ".",
        "...",
        ",",
        "*",
        "/",
        "%",
        "+",
        "-",
        "!",
        "&&",
        "||",
        "&",
        ";",
        "'",
        "`",
        "#",
        "//",
        "/*",
        "*/",
        "a",
        "b",
        "for",
        "in",
        "if",
        "else",
        "endif",
        "endfor",
        "null",
        "true",
        "0",
        "1.5",
        "1e3",
        ".0",
        "\\",
        "\\n",
        "\\u00e9",
        "é",
        "👨‍👩‍👧",
        "\u{feff}",
        "x",
        "y",
        "\"one\"",
        "c = 1\n",
        "x {\n",
        "[*]",
        ".*",
        "f(",
        "[for v in [1] : v]",
        "{ a = 1 }",
        "\u{0}",
        "//\n",
        "\"a\":",
        "null",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all_ways(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_of_the_language_in_any_order_never_panic(text in pieces()) {
        read_all_ways(&text);
    }
}

#[test]
fn deep_nesting_is_refused_with_a_place_and_not_a_crash() {
    let n = 20_000;
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{ a = ", " }"),
        ("f(", ")"),
        ("\"${", "}\""),
        ("-", ""),
        ("!", ""),
        ("x ? 1 : ", ""),
        ("x ? ", " : 1"),
        ("[for v in ", " : v]"),
        ("x[", "]"),
        ("1 + (", ")"),
    ] {
        let text = format!("{}1{}", open.repeat(n), close.repeat(n));
        let sources = SourceMap::new();
        let file = sources.add("deep.tf", text.as_str());
        let (_, diags) = syntax::parse_expression_at(&text, file, 0);
        assert!(diags.has_errors(), "{open} was not refused");
        assert!(diags.len() < 50, "{open}: {} errors", diags.len());
    }
    for text in ["%{if true}".repeat(n), "%{for x in y}".repeat(n)] {
        let file = SourceMap::new().add("deep.tmpl", text.as_str());
        assert!(syntax::parse_template_at(&text, file, 0, TemplateOrigin::Bare).1.has_errors());
    }
    for text in ["a {\n".repeat(n), "[*]".repeat(n), format!("v = x{}", "[*]".repeat(n)), format!("v = x{}", "[y]".repeat(n))] {
        let file = SourceMap::new().add("deep.tf", text.as_str());
        assert!(syntax::parse_file(&text, file).1.has_errors());
    }
    for text in ["[".repeat(n), "{\"a\":".repeat(n)] {
        let file = SourceMap::new().add("deep.json", text.as_str());
        assert!(syntax::json::parse(&text, file).1.has_errors());
    }
}

#[test]
fn long_chains_are_no_nesting() {
    let n = 20_000;
    for text in [
        vec!["1"; n].join(" + "),
        vec!["a"; n].join(" || "),
        vec!["1 * 2"; n].join(" - "),
        format!("a{}", ".b".repeat(n)),
        format!("[{}]", vec!["1"; n].join(",")),
        format!("\"{}\"", "${a} ".repeat(n)),
    ] {
        let file = SourceMap::new().add("long.tf", text.as_str());
        let (expr, diags) = syntax::parse_expression_at(&text, file, 0);
        assert!(!diags.has_errors(), "{:?}", diags.iter().next());
        expr.traversals();
    }
}

#[test]
fn two_hundred_levels_are_read() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{ a = ", " }"), ("x ? 1 : ", ""), ("\"${", "}\"")] {
        let text = format!("{}1{}", open.repeat(200), close.repeat(200));
        let file = SourceMap::new().add("deep.tf", text.as_str());
        let (expr, diags) = syntax::parse_expression_at(&text, file, 0);
        assert!(!diags.has_errors(), "{open}: {:?}", diags.iter().next());
        let _copy = expr.clone();
    }
}
