//! Parsers never panic, overflow the stack or hang, and every error has a place in its file.

use lang::body::{Body, BodySchema};
use lang::config::{Flag, Inputs, load_root};
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use lang::syntax::{self, TemplateOrigin};
use proptest::prelude::*;
use std::sync::Arc;

fn places_lie_inside(diags: &Diagnostics, sources: &SourceMap, text: &str) {
    for d in diags.iter() {
        let span = d.subject.expect("errors of syntax have a place");
        assert!(
            span.start <= span.end && span.start as usize <= text.len() + 1,
            "{span:?} in {} bytes: {}",
            text.len(),
            d.summary
        );
        let range = sources.range(span).expect("the file is known");
        assert!(range.start.line >= 1 && range.start.column >= 1);
        d.render(sources);
    }
}

fn read_all_ways(text: &str) {
    let sources = SourceMap::new();
    let file = sources.add("any.tf", text);
    let schema = BodySchema::new()
        .optional(&["a", "b"])
        .required(&["c"])
        .block("x", &[])
        .block("y", &["one", "two"]);
    let (body, diags) = syntax::parse_file(text, file);
    places_lie_inside(&diags, &sources, text);
    for attribute in body.attributes.values() {
        attribute.expr.traversals();
        attribute.expr.as_static_traversal();
        attribute.expr.quoted_traversal();
    }
    places_lie_inside(
        &Body::native(Arc::new(body)).content(&schema).1,
        &sources,
        text,
    );
    places_lie_inside(
        &syntax::parse_expression_at(text, file, 0).1,
        &sources,
        text,
    );
    places_lie_inside(
        &syntax::parse_template_at(text, file, 0, TemplateOrigin::Bare).1,
        &sources,
        text,
    );
    let (node, diags) = syntax::json::parse(text, file);
    places_lie_inside(&diags, &sources, text);
    places_lie_inside(&Body::json(node.clone()).content(&schema).1, &sources, text);
    node.to_expr(&mut Diagnostics::new());
}

/// Texts made of tokens of the language, which reach more of the grammar than random characters.
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

/// Configurations of valid block types with random labels, arguments and nested blocks.
fn blocks() -> impl Strategy<Value = String> {
    let header = prop::sample::select(vec![
        "variable \"v\"",
        "variable",
        "output \"o\"",
        "locals",
        "resource \"a\" \"b\"",
        "resource \"a\"",
        "data \"a\" \"b\"",
        "module \"m\"",
        "provider \"p\"",
        "terraform",
        "moved",
        "removed",
        "import",
        "check \"c\"",
        "language",
        "ephemeral \"a\" \"b\"",
        "required_providers",
        "\"x\"",
        "lifecycle",
    ]);
    let item = prop::sample::select(vec![
        "type = list(object({ a = optional(string, 1) }))",
        "type = nope(",
        "default = [{}]",
        "default = null",
        "nullable = false",
        "sensitive = x",
        "value = a.b.c",
        "source = \"./m\"",
        "source = \"${var.v}\"",
        "version = 1",
        "count = 1",
        "for_each = {}",
        "provider = p.q",
        "provider = f()",
        "depends_on = [a.b, \"a.b\", 1]",
        "providers = { p = p.q, q.r = p }",
        "from = a.b[0]",
        "from = module.m",
        "to = data.a.b",
        "to = a[1][2]",
        "id = 1",
        "alias = \"q\"",
        "lifecycle {\n ignore_changes = [a, b[0]]\n enabled = 1\n replace_triggered_by = [a.b, each.key]\n}",
        "lifecycle {\n precondition {\n condition = a.b.c\n }\n}",
        "validation {\n condition = var.v\n error_message = 1\n}",
        "provisioner \"local-exec\" {\n when = destroy\n}",
        "provisioner {\n}",
        "connection {\n}",
        "_ {\n count = 1\n}",
        "assert {\n}",
        "data \"a\" \"b\" {\n}",
        "required_providers {\n p = { source = \"a/b/c/d\", configuration_aliases = [p.q] }\n q = \"~> 1\"\n}",
        "backend \"x\" {\n}",
        "cloud {\n}",
        "edition = 1",
        "experiments = [a]",
        "x {",
        "}",
    ]);
    let block = (header, prop::collection::vec(item, 0..6))
        .prop_map(|(h, items)| format!("{h} {{\n{}\n}}\n", items.join("\n")));
    prop::collection::vec(block, 0..8).prop_map(|blocks| blocks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all_ways(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn loading_arbitrary_files_never_panics(tf in blocks(), json in "[\\[\\]{}:,\"a-z0-9 ]{0,80}", tfvars in pieces()) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
        write("main.tf", &tf);
        write("x_override.tf", &tf);
        write("j.tf.json", &json);
        write("terraform.tfvars", &tfvars);
        write("z.auto.tfvars.json", &json);
        let flags = vec![Flag::Var { name: "v".to_owned(), text: tfvars }];
        let sources = SourceMap::new();
        let (_, diags) = load_root(dir.path(), &sources, &Inputs { flags, ..Inputs::default() });
        for d in diags.iter() {
            d.render(&sources);
        }
    }

    #[test]
    fn parsing_random_token_sequences_never_panics(text in pieces()) {
        read_all_ways(&text);
    }
}

#[test]
fn deep_nesting_is_rejected_with_a_diagnostic() {
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
        assert!(
            syntax::parse_template_at(&text, file, 0, TemplateOrigin::Bare)
                .1
                .has_errors()
        );
    }
    for text in [
        "a {\n".repeat(n),
        "[*]".repeat(n),
        format!("v = x{}", "[*]".repeat(n)),
        format!("v = x{}", "[y]".repeat(n)),
    ] {
        let file = SourceMap::new().add("deep.tf", text.as_str());
        assert!(syntax::parse_file(&text, file).1.has_errors());
    }
    for text in ["[".repeat(n), "{\"a\":".repeat(n)] {
        let file = SourceMap::new().add("deep.json", text.as_str());
        assert!(syntax::json::parse(&text, file).1.has_errors());
    }
}

#[test]
fn long_flat_expressions_do_not_count_as_nesting() {
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
fn nesting_of_two_hundred_levels_is_accepted() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{ a = ", " }"),
        ("x ? 1 : ", ""),
        ("\"${", "}\""),
    ] {
        let text = format!("{}1{}", open.repeat(200), close.repeat(200));
        let file = SourceMap::new().add("deep.tf", text.as_str());
        let (expr, diags) = syntax::parse_expression_at(&text, file, 0);
        assert!(!diags.has_errors(), "{open}: {:?}", diags.iter().next());
        let _copy = expr.clone();
        let names = lang::eval::Bindings::new([("x".into(), cty::Value::bool(false))].into());
        let (_, diags) = lang::eval::evaluate(&expr, &names);
        assert!(!diags.has_errors(), "{open}: {:?}", diags.iter().next());
    }
}

#[test]
fn load_time_grows_with_the_file_size() {
    let block = |i: usize| {
        format!(
            "# comment {i}\nresource \"aws_x\" \"r{i}\" {{\n  name = \"n-${{var.env}}-{i}\"\n  tags = {{ a = {i}, b = [1, 2, aws_x.r0.id] }}\n}}\n\n"
        )
    };
    let seconds = |n: usize| {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::write(
            dir.path().join("main.tf"),
            (0..n).map(block).collect::<String>(),
        )
        .expect("written");
        let start = std::time::Instant::now();
        let (loaded, diags) = load_root(dir.path(), &SourceMap::new(), &Inputs::default());
        assert!(!diags.has_errors() && loaded.root.resources.len() == n);
        start.elapsed().as_secs_f64()
    };
    let (small, large) = (seconds(1_000), seconds(8_000));
    assert!(
        large < small * 40.0 + 0.5,
        "1000 blocks: {small} s, 8000 blocks: {large} s"
    );
}
