//! Shapes of parsed expressions, and places and numbers of syntax errors.

mod bodies;

use lang::source::SourceMap;
use lang::syntax;
use lang::syntax::{Expr, ExprKind, Step, StepKind, TemplateOrigin};

fn steps(steps: &[Step]) -> String {
    steps
        .iter()
        .map(|s| match &s.kind {
            StepKind::Attr(name) => format!(".{name}"),
            StepKind::Index(key) => match key.as_str() {
                Some(text) => format!("[{text:?}]"),
                None => format!(
                    "[{}]",
                    key.as_number().map(ToString::to_string).unwrap_or_default()
                ),
            },
        })
        .collect()
}

fn all(exprs: &[Expr]) -> String {
    exprs.iter().map(shape).collect::<Vec<_>>().join(" ")
}

fn shape(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Literal(v) if v.is_null() => "null".to_owned(),
        ExprKind::Literal(v) => match (v.as_str(), v.as_number(), v.as_bool()) {
            (Some(text), ..) => format!("{text:?}"),
            (_, Some(number), _) => number.to_string(),
            (.., Some(flag)) => flag.to_string(),
            _ => "?".to_owned(),
        },
        ExprKind::Template { parts, .. } => format!("(t {})", all(parts)),
        ExprKind::TemplateWrap(e) => format!("(wrap {})", shape(e)),
        ExprKind::TemplateJoin(e) => format!("(join {})", shape(e)),
        ExprKind::Traversal(t) => format!("{}{}", t.root, steps(&t.steps)),
        ExprKind::RelativeTraversal { source, steps: s } => {
            format!("(rel {} {})", shape(source), steps(s))
        }
        ExprKind::Index { source, key, .. } => format!("(idx {} {})", shape(source), shape(key)),
        ExprKind::Splat(s) => format!(
            "({} {} {})",
            if s.full { "[*]" } else { ".*" },
            shape(&s.source),
            shape(&s.each)
        ),
        ExprKind::SplatItem => "_".to_owned(),
        ExprKind::Call(c) => format!(
            "({}! {}{})",
            c.name,
            all(&c.args),
            if c.expand_final { "..." } else { "" }
        ),
        ExprKind::Unary { op, operand, .. } => format!("({op:?} {})", shape(operand)),
        ExprKind::Binary { first, rest } => {
            let rest: String = rest
                .iter()
                .map(|(op, _, e)| format!(" {} {}", op.symbol(), shape(e)))
                .collect();
            format!("({}{rest})", shape(first))
        }
        ExprKind::Conditional { cond, then, other } => {
            format!("(if {} {} {})", shape(cond), shape(then), shape(other))
        }
        ExprKind::For(f) => format!(
            "(for {}{} in {}{} : {}{}{})",
            f.key_var
                .as_ref()
                .map(|k| format!("{k},"))
                .unwrap_or_default(),
            f.value_var,
            shape(&f.collection),
            f.key
                .as_ref()
                .map(|k| format!(" key {}", shape(k)))
                .unwrap_or_default(),
            shape(&f.value),
            if f.group { "..." } else { "" },
            f.cond
                .as_ref()
                .map(|c| format!(" if {}", shape(c)))
                .unwrap_or_default()
        ),
        ExprKind::Tuple(items) => format!("[{}]", all(items)),
        ExprKind::Object(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|i| {
                    format!(
                        "{}={}",
                        i.name
                            .as_ref()
                            .map_or_else(|| shape(&i.key), ToString::to_string),
                        shape(&i.value)
                    )
                })
                .collect();
            format!("{{{}}}", items.join(" "))
        }
        ExprKind::Parens(e) => format!("({})", shape(e)),
        ExprKind::Error | ExprKind::Faulty(_) => "<error>".to_owned(),
    }
}

fn parse(text: &str) -> (Expr, Vec<(u32, u32)>) {
    let sources = SourceMap::new();
    let (expr, diags) = syntax::parse_expression(text, "test", &sources);
    let places = diags
        .iter()
        .filter_map(|d| d.range(&sources))
        .map(|r| (r.start.line, r.start.column))
        .collect();
    (expr, places)
}

#[test]
fn expressions_parse_to_the_expected_tree() {
    for (text, want) in [
        ("1 + 2 * 3 - 4", "(1 + (2 * 3) - 4)"),
        ("1 - 2 - 3", "(1 - 2 - 3)"),
        (
            "a || b && c == d < e + f",
            "(a || (b && (c == (d < (e + f)))))",
        ),
        ("a * b + c", "((a * b) + c)"),
        ("-a.b + 1", "((Negate a.b) + 1)"),
        ("!a == b", "((Not a) == b)"),
        ("- -a", "(Negate (Negate a))"),
        ("a ? b : c ? d : e", "(if a b (if c d e))"),
        ("a.b[0].c[\"k\"].0", "a.b[0].c[\"k\"][0]"),
        ("a[b][0]", "(rel (idx a b) [0])"),
        ("a.*.b.0.c[1]", "(rel (.* a (rel _ .b[0].c)) [1])"),
        ("a[*].b[*].c", "([*] a ([*] (rel _ .b) (rel _ .c)))"),
        ("f(1, 2...)", "(f! 1 2...)"),
        ("provider::x::y(a,\n b,\n)", "(provider::x::y! a b)"),
        ("[for k, v in m : v if k]", "(for k,v in m : v if k)"),
        ("{for v in m : v.k => v...}", "(for v in m key v.k : v...)"),
        (
            "{ a = 1, \"b\" : 2, (c) = 3\n d = 4, true = 5 }",
            "{a=1 (t \"b\")=2 (c)=3 d=4 true=5}",
        ),
        ("{ a = 1, a = 2 }", "{a=1 a=2}"),
        ("(\n1 +\n2\n)", "((1 + 2))"),
        ("\"\"", "(t )"),
        ("\"a${b}c\"", "(t \"a\" b \"c\")"),
        ("\"${b}\"", "(wrap b)"),
        ("\"${b} \"", "(t b \" \")"),
        ("\"$${a} %%{b} $$${c} $ %\"", "(t \"${a} %{b} $${c} $ %\")"),
        (
            "\"\\n\\t\\\"\\\\\\u00e9\\U0001F600\"",
            "(t \"\\n\\t\\\"\\\\é😀\")",
        ),
        ("\"e\\u0301\"", "(t \"é\")"),
        (
            "\"%{if a}x%{else}y%{endif}\"",
            "(t (if a (t \"x\") (t \"y\")))",
        ),
        ("\"%{if a}x%{endif}\"", "(t (if a (t \"x\") (t )))"),
        (
            "\"%{for i, x in l}${x},%{endfor}\"",
            "(t (join (for i,x in l : (t x \",\"))))",
        ),
        ("\"a  ${~ b ~}  c\"", "(t \"a\" b \"c\")"),
        ("<<EOT\na ${b}\n  c\nEOT\n", "(t \"a \" b \"\\n  c\\n\")"),
        (
            "<<-EOT\n    a\n      b\n\n    c\n  EOT\n",
            "(t \"a\\n  b\\n\\nc\\n\")",
        ),
        (
            "<<-EOT\n    %{if x}\n    a\n    %{endif}\n  EOT\n",
            "(t \"\" (if x (t \"\\na\\n\") (t )) \"\\n\")",
        ),
        ("{ \"${a}b\" = 1 }", "{(t a \"b\")=1}"),
        ("1.5e3", "1500"),
        ("a-b", "a-b"),
        ("a - b", "(a - b)"),
    ] {
        let (expr, places) = parse(text);
        assert!(places.is_empty(), "{text}: errors at {places:?}");
        assert_eq!(shape(&expr), want, "{text}");
    }
}

#[test]
fn expression_errors_have_their_positions() {
    for (text, want) in [
        ("", vec![(1, 1)]),
        ("1 +", vec![(1, 4)]),
        ("1 + 2 3", vec![(1, 7)]),
        ("(1", vec![(1, 3)]),
        ("[1 2]", vec![(1, 4)]),
        ("f(1 2)", vec![(1, 5)]),
        ("f(1", vec![(1, 1)]),
        ("a.", vec![(1, 3)]),
        ("a.0.1", vec![(1, 3)]),
        ("a[1", vec![(1, 4)]),
        ("{ a }", vec![(1, 5)]),
        ("{ a = 1 b = 2 }", vec![(1, 9)]),
        ("[for in l : 1]", vec![(1, 9)]),
        ("[for x of l : 1]", vec![(1, 8)]),
        ("[for x in l : x => 1]", vec![(1, 15)]),
        ("{for x in l : x}", vec![(1, 15)]),
        ("\"a\\qb\"", vec![(1, 3)]),
        ("\"${a\"", vec![(1, 2)]),
        ("\"%{if a}x\"", vec![(1, 10)]),
        ("\"%{endif}\"", vec![(1, 2)]),
        ("\"%{fi a}x\"", vec![(1, 4)]),
        ("1 ? 2", vec![(1, 6)]),
        ("a & b", vec![(1, 3), (1, 3)]),
        ("'a'", vec![(1, 1), (1, 1)]),
        ("\"a\nb\"", vec![(1, 3), (1, 3)]),
    ] {
        assert_eq!(parse(text).1, want, "{text}");
    }
}

#[test]
fn references_exclude_names_bound_by_for() {
    for (text, want) in [
        (
            "var.a + [for v in var.l : v.x + local.b][0]",
            "var.a var.l local.b",
        ),
        ("{for k, v in k : k => v}", "k"),
        ("[for a in [1] : [for b in a : a + b + c]]", "c"),
        ("\"%{for x in var.l}${x}${y}%{endfor}\"", "var.l y"),
        ("{ a = b, (c) = d, \"${e}\" = f }", "b c d e f"),
        ("a[*].b[c.d]", "a c.d"),
        ("f(a, g(b...))", "a b"),
    ] {
        let (expr, _) = parse(text);
        let found: Vec<String> = expr.traversals().iter().map(ToString::to_string).collect();
        assert_eq!(found.join(" "), want, "{text}");
    }
}

#[test]
fn static_analysis_needs_no_evaluation() {
    for (text, want) in [
        ("aws_x.y[\"k\"][0].z", Some("aws_x.y[\"k\"][0].z")),
        ("a", Some("a")),
        ("\"a.b\"", None),
        ("a[b]", None),
        ("f()", None),
        ("a[*]", None),
    ] {
        let found = parse(text).0.as_static_traversal().map(|t| t.to_string());
        assert_eq!(found.as_deref(), want, "{text}");
    }
    assert_eq!(
        parse("\"a.b[0]\"")
            .0
            .quoted_traversal()
            .map(|t| t.to_string())
            .as_deref(),
        Some("a.b[0]")
    );
    assert_eq!(parse("true").0.as_keyword().as_deref(), Some("true"));
    assert_eq!(parse("destroy").0.as_keyword().as_deref(), Some("destroy"));
    assert_eq!(parse("a.b").0.as_keyword(), None);
    assert_eq!(parse("[a, 1]").0.static_list().map(<[Expr]>::len), Some(2));
    assert_eq!(parse("{ a = b }").0.static_map().map(|m| m.len()), Some(1));
    assert_eq!(
        parse("list(string)")
            .0
            .static_call()
            .map(|c| c.name.to_string())
            .as_deref(),
        Some("list")
    );
}

#[test]
fn columns_ignore_the_byte_order_mark_and_count_graphemes() {
    let sources = SourceMap::new();
    let text = "\u{feff}a = \"日本 👨‍👩‍👧\" + \n";
    let file = sources.add("bom.tf", text);
    let (_, diags) = syntax::parse_file(text, file);
    let places: Vec<_> = diags
        .iter()
        .filter_map(|d| d.range(&sources))
        .map(|r| (r.start.line, r.start.column))
        .collect();
    assert_eq!(places, [(1, 14)]);
}

#[test]
fn bare_template_keeps_line_endings() {
    let text = "a\r\n%{ for x in l ~}\n- ${x}\n%{ endfor ~}\nend$";
    let file = SourceMap::new().add("t.tmpl", text);
    let (expr, diags) = syntax::parse_template_at(text, file, 0, TemplateOrigin::Bare);
    assert!(diags.is_empty());
    assert_eq!(
        shape(&expr),
        "(t \"a\\r\\n\" (join (for x in l : (t \"- \" x \"\\n\"))) \"end$\")"
    );
}
