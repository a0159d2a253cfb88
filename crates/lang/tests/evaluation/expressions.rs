//! Arbitrary expressions evaluate without a panic.

use std::collections::BTreeMap;

use cty::Value;
use lang::diag::Diagnostics;
use lang::eval::{Bindings, Scope, evaluate};
use lang::source::SourceMap;
use lang::syntax::{Traversal, parse_expression};
use proptest::prelude::*;

use super::{names, value};

/// A folder to read templates from.
struct Folder(tempfile::TempDir);

impl Scope for Folder {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        Bindings::new(BTreeMap::new()).resolve(traversal)
    }
    fn base_dir(&self) -> &std::path::Path {
        self.0.path()
    }
}

#[test]
fn self_including_template_fails_with_recursion_error() {
    let folder = Folder(tempfile::tempdir().unwrap());
    std::fs::write(
        folder.0.path().join("self.tftpl"),
        "[${upper(jsonencode([templatefile(\"self.tftpl\", {})]))}]",
    )
    .unwrap();
    let (expr, _) = parse_expression(
        "templatefile(\"self.tftpl\", {})",
        "test",
        &SourceMap::new(),
    );
    let (_, diags) = evaluate(&expr, &folder);
    let words = &diags.errors().next().unwrap().detail;
    assert!(words.contains("maximum recursion depth"), "{words}");
}

#[test]
fn deep_expressions_fit_the_thread_stack() {
    let deep = |open: &str, middle: &str, close: &str| {
        let text = format!("{}{middle}{}", open.repeat(240), close.repeat(240));
        let (expr, _) = parse_expression(&text, "test", &SourceMap::new());
        let _ = evaluate(&expr, &Bindings::new(names()));
    };
    deep("(", "1", ")");
    deep("abs(", "1", ")");
    deep("t ? ", "1", " : 2");
    deep("[for x in [1] : ", "x", "]");
    deep("{ a = ", "1", " }");
    deep("\"a${", "1", "}\"");
    deep("try(", "1", ")");
    deep("-", "1", "");
    let chain = vec!["1"; 5000].join(" + ");
    assert_eq!(
        value(&chain).as_number().and_then(cty::Number::to_i64),
        Some(5000)
    );
}

/// Valid and invalid expressions of all kinds, over all names.
fn expression() -> impl Strategy<Value = String> {
    let known: Vec<String> = names().keys().map(ToString::to_string).collect();
    let functions: Vec<&'static str> = lang::functions::names()
        .filter(|n| !matches!(*n, "bcrypt" | "fileset" | "abspath"))
        .collect();
    let leaf = prop_oneof![
        5 => proptest::sample::select(known),
        2 => proptest::sample::select(vec!["1", "0", "-2.5", "1e3", "\"\"", "\"a,b\"", "true", "null", "[]", "{}", "\"%d\"", "\"2020-01-01T00:00:00Z\"", "\"10.0.0.0/8\""])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (
                pair.clone(),
                proptest::sample::select(vec![
                    "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||"
                ])
            )
                .prop_map(|((a, b), op)| format!("({a} {op} {b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            pair.clone().prop_map(|(a, b)| format!("({a})[{b}]")),
            inner.clone().prop_map(|a| format!("({a})[*].a")),
            inner.clone().prop_map(|a| format!("({a}).*.k")),
            pair.clone()
                .prop_map(|(a, b)| format!("[for k, v in {a} : {b}]")),
            pair.clone()
                .prop_map(|(a, b)| format!("{{for k, v in {a} : k => v... if {b}}}")),
            pair.clone().prop_map(|(a, b)| format!("{{ ({a}) = {b} }}")),
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            inner.clone().prop_map(|a| format!("\"x${{{a}}}y\"")),
            pair.prop_map(|(a, b)| format!(
                "\"%{{ for x in {a} }}${{x}}%{{ endfor }}%{{ if {b} }}z%{{ endif }}\""
            )),
            (
                proptest::sample::select(functions.clone()),
                proptest::collection::vec(inner.clone(), 0..4),
                any::<bool>()
            )
                .prop_map(|(name, args, expand)| {
                    let dots = if expand && !args.is_empty() {
                        "..."
                    } else {
                        ""
                    };
                    format!("{name}({}{dots})", args.join(", "))
                }),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn evaluation_never_panics(text in expression()) {
        let (expr, _) = parse_expression(&text, "test", &SourceMap::new());
        let (value, diags) = evaluate(&expr, &Bindings::new(names()));
        prop_assert!(diags.iter().all(|d| d.subject.is_some()), "{text}: {diags:?}");
        // After errors, the type is unknown or complete.
        prop_assert!(value.ty().is_dynamic() || *value.ty() == value.ty().without_optional());
    }

    #[test]
    fn evaluating_arbitrary_text_never_panics(text in ".{0,60}") {
        let (expr, _) = parse_expression(&text, "test", &SourceMap::new());
        let _ = evaluate(&expr, &Bindings::new(names()));
    }
}
