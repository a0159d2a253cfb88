//! Formatting rules one by one (the expected texts are those of OpenTofu's `fmt`), and
//! unchanged meaning after formatting.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use lang::format::format;
use lang::source::FileId;
use proptest::prelude::*;
use regex::Regex;

fn formatted(text: &str) -> String {
    format(text, FileId(0)).unwrap_or_else(|d| panic!("{text:?} cannot be parsed: {d:?}"))
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    assert_eq!(formatted(before), after);
    assert_eq!(formatted(after), after, "laid out twice");
}

#[test]
fn format_indents_lines_by_open_brackets() {
    becomes(
        "a {\nb {\n  c = 1\n      }\n}\n",
        "a {\n  b {\n    c = 1\n  }\n}\n",
    );
    becomes(
        "x = [{\na = 1\n}, {\nb = 2\n}]\n",
        "x = [{\n  a = 1\n  }, {\n  b = 2\n}]\n",
    );
    becomes("x = f(g({\na = 1\n}))\n", "x = f(g({\n  a = 1\n}))\n");
    becomes("x = f(\n  g(\n 1))\n", "x = f(\n  g(\n1))\n");
    becomes("  # c\n  a = 1\n\n\n\t\n", "# c\na = 1\n\n\n\n");
}

#[test]
fn format_aligns_equals_signs_and_comments() {
    becomes(
        "a=1\nlong =   2\n\nb= 3 # x\ncc =44# y\n",
        "a    = 1\nlong = 2\n\nb  = 3  # x\ncc = 44 # y\n",
    );
    becomes(
        "a = 1\nb = [\n1\n]\nccc = 2\n",
        "a = 1\nb = [\n  1\n]\nccc = 2\n",
    );
    becomes(
        "a = { # x\nb = 1 // y\nlonger = 2 // z\n}\n",
        "a = {        # x\n  b      = 1 // y\n  longer = 2 // z\n}\n",
    );
    becomes("ä = 1\nbb = 2\n", "ä  = 1\nbb = 2\n");
    becomes("a = 1 /* x */\nbb = 2\n", "a  = 1 /* x */\nbb = 2\n");
}

#[test]
fn format_normalizes_spaces_between_tokens() {
    becomes("a=f (1,2 ,x ...)\n", "a = f(1, 2, x...)\n");
    becomes("a = - 1 - - b*!  c\n", "a = -1 - -b * !c\n");
    becomes(
        "a = [ 1,2 ]\nb = {c=1}\nd = { }\n",
        "a = [1, 2]\nb = { c = 1 }\nd = {}\n",
    );
    becomes(
        "a = [for k,v in[1]:v if k==0]\n",
        "a = [for k, v in [1] : v if k == 0]\n",
    );
    becomes("a = x . y [ 0 ] . z [*]\n", "a = x.y[0].z[*]\n");
    becomes("a = b?c:d\n", "a = b ? c : d\n");
    becomes("a = provider :: x :: y (1)\n", "a = provider::x::y(1)\n");
    becomes(
        "a = \"x${ b }y${  {c=1}.c }z\"\n",
        "a = \"x${b}y${ { c = 1 }.c}z\"\n",
    );
    becomes("a \"b\"{}\n", "a \"b\" {}\n");
    becomes("a{b=1}\n", "a { b = 1 }\n");
}

#[test]
fn format_keeps_heredocs_strings_and_comments() {
    let heredoc = "a = <<-EOT\n      x   =  1\n  ${ b }\n    EOT\n";
    becomes(heredoc, "a = <<-EOT\n      x   =  1\n  ${b}\n    EOT\n");
    becomes(
        "x {\na = <<EOT\n{\nEOT\nb = 1\n}\n",
        "x {\n  a = <<EOT\n{\nEOT\n  b = 1\n}\n",
    );
    becomes(
        "a = \"  x  \"\n# a   b\n/* c\n    d */\n",
        "a = \"  x  \"\n# a   b\n/* c\n    d */\n",
    );
}

#[test]
fn format_keeps_line_endings_and_the_end_of_file() {
    becomes("a=1\r\nbb=2\r\n", "a  = 1\r\nbb = 2\r\n");
    becomes("a=1", "a = 1");
    becomes("", "");
    becomes("\n\n", "\n\n");
}

#[test]
fn format_quotes_block_labels() {
    becomes("resource a b {\n}\n", "resource \"a\" \"b\" {\n}\n");
    becomes("a \"\\u0041\\n\" \"\" {\n}\n", "a \"A\\n\" \"\" {\n}\n");
    // OpenTofu drops such a label, and also a comment before one.
    becomes("a   \"$${x}\" {\n}\n", "a \"$${x}\" {\n}\n");
    becomes("a /* why */ \"b\" {\n}\n", "a /* why */ \"b\" {\n}\n");
}

#[test]
fn format_unwraps_strings_that_are_only_an_interpolation() {
    becomes("a = \"${b.c}\"\n", "a = b.c\n");
    becomes("a = \"${f(\"${b}\")}\"\n", "a = f(\"${b}\")\n");
    becomes("a = \"${b}${c}\"\n", "a = \"${b}${c}\"\n");
    becomes("a = \"${b}x\"\n", "a = \"${b}x\"\n");
    becomes("a = \"${\n  b ?\n  c : d\n}\"\n", "a = (b ?\nc : d)\n");
    becomes("a = [\"${b}\"]\n", "a = [\"${b}\"]\n");
    becomes(
        "a = \"${b}\" /* why */ # what\n",
        "a = b /* why */ # what\n",
    );
}

#[test]
fn format_modernizes_legacy_variable_types() {
    let of = |ty: &str| format!("variable \"a\" {{\n  type = {ty}\n}}\n");
    for (before, after) in [
        ("list", "list(any)"),
        ("map", "map(any)"),
        ("set", "set(any)"),
        ("\"string\"", "string"),
        ("\"list\"", "list(string)"),
        ("\"map\"", "map(string)"),
        ("\"number\"", "\"number\""),
        ("number", "number"),
        ("\"${list}\"", "\"${list}\""),
    ] {
        becomes(&of(before), &of(after));
    }
    becomes(
        "output \"a\" {\n  type = list\n}\n",
        "output \"a\" {\n  type = list\n}\n",
    );
    becomes(
        "x {\n  variable \"a\" {\n    type = list\n  }\n}\n",
        "x {\n  variable \"a\" {\n    type = list\n  }\n}\n",
    );
}

#[test]
fn format_rejects_text_that_cannot_be_parsed() {
    for broken in ["a = \n", "a {\n", "a = \"x\n", "a = 1\na = 2\n", "= 1\n"] {
        assert!(format(broken, FileId(0)).is_err(), "{broken:?}");
    }
}

/// The syntax tree without its places.
fn tree(text: &str) -> String {
    let (body, diags) = lang::syntax::parse_file(text, FileId(0));
    assert!(!diags.has_errors(), "{text}: {diags:?}");
    Regex::new(r"Span \{[^}]*\}")
        .unwrap()
        .replace_all(&format!("{body:?}"), "")
        .into_owned()
}

/// Spaces that are valid anywhere in a line.
fn space() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["", " ", "   ", "\t", " /* c */ "])
}

/// Expressions with arbitrary spacing.
fn expression() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "in", "for_each", "x-y", "ärger", "null", "true"]);
    let text = prop::sample::select(vec![
        "\"\"",
        "\" x \"",
        "\"a${ b }c\"",
        "\"%{ if a }x%{ endif }\"",
        "\"$${\\\"}\"",
        "\"${a}${b}\"",
    ]);
    let leaf = prop_oneof![
        name.prop_map(str::to_owned),
        text.prop_map(str::to_owned),
        (0u32..1000).prop_map(|n| n.to_string())
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let all = prop::collection::vec(inner.clone(), 0..4);
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", "&&", "||",
        ]);
        let pair = (inner.clone(), space(), inner.clone(), space());
        prop_oneof![
            (pair.clone(), operator).prop_map(|((a, s, b, t), o)| format!("({a}{s} {o}{t}({b}))")),
            (all.clone(), space())
                .prop_map(|(all, s)| format!("[{s}{}{s}]", all.join(&format!("{s},{s}")))),
            (all.clone(), space())
                .prop_map(|(all, s)| format!("f{s}({s}{}{s})", all.join(&format!("{s},")))),
            (all, space()).prop_map(|(all, s)| {
                let items: Vec<String> = all
                    .iter()
                    .enumerate()
                    .map(|(i, v)| format!("\n{s}k{i}{s}={s}{v}"))
                    .collect();
                format!("{{{}\n{s}}}", items.concat())
            }),
            pair.clone()
                .prop_map(|(a, s, b, t)| format!("[for{s} k,{t}v in{s} [{a}]{t}:{s}{b}{t}]")),
            pair.prop_map(|(a, s, b, t)| format!("(a{s}?{t}{a}{s}:{t}{b})")),
            (inner.clone(), space()).prop_map(|(a, s)| format!("-{s}({a})")),
            (inner.clone(), space()).prop_map(|(a, s)| format!("!{s}({a})")),
            (inner, space()).prop_map(|(a, s)| format!("a{s}.b[{s}{a}].c")),
        ]
    })
}

/// Lines of a body; `{` opens a block that the next `}` closes.
fn body() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => (expression(), space(), space()).prop_map(|(e, s, t)| format!("{s}NAME{s}={t}{e}{s}")),
        2 => space().prop_map(|s| format!("{s}{{")),
        2 => space().prop_map(|s| format!("{s}}}")),
        1 => space().prop_map(|s| format!("{s}# a  comment")),
        1 => space().prop_map(|s| format!("{s}NAME ={s}<<-EOT\n   {{ ${{ a }}\n {s}\n  EOT")),
        1 => Just(String::new()),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| {
        let (mut out, mut open) = (String::new(), 0);
        for (i, line) in lines.iter().enumerate() {
            let line = match line.trim_end().chars().last() {
                Some('{') if !line.contains("NAME") => {
                    open += 1;
                    line.replace('{', &format!("block{i} \"l\"  {{"))
                }
                Some('}') if !line.contains("NAME") && open == 0 => continue,
                Some('}') if !line.contains("NAME") => {
                    open -= 1;
                    line.clone()
                }
                _ => line.replace("NAME", &format!("n{}", "x".repeat(i))),
            };
            out += &line;
            out.push('\n');
        }
        out + &"}\n".repeat(open)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn format_preserves_meaning_and_is_idempotent(text in body()) {
        let new = formatted(&text);
        prop_assert_eq!(tree(&new), tree(&text), "{}\nbecame\n{}", text, new);
        prop_assert_eq!(formatted(&new), new.clone());
        let comments = |text: &str| text.matches("/* c */").count() + text.matches("# a  comment").count();
        prop_assert_eq!(comments(&new), comments(&text));
        prop_assert_eq!(new.lines().count(), text.lines().count());
    }
}
