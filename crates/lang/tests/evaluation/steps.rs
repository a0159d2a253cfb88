//! Evaluations that would run for hours without using memory end with an error.

use std::collections::BTreeMap;
use std::path::Path;

use cty::Value;
use lang::diag::Diagnostics;
use lang::eval::{Bindings, Scope, evaluate};
use lang::source::SourceMap;
use lang::syntax::{Traversal, parse_expression};

/// Scope without names, with a base directory and a low step limit.
struct Few<'a> {
    names: Bindings<'a>,
    dir: &'a Path,
    steps: u64,
}

impl Scope for Few<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        self.names.resolve(traversal)
    }

    fn base_dir(&self) -> &Path {
        self.dir
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}

/// Evaluates a text. The error has the text at the first error's place, and its message.
fn run(text: &str, dir: &Path, steps: u64) -> Result<Value, (String, String)> {
    let sources = SourceMap::new();
    let (expr, parsed) = parse_expression(text, "test", &sources);
    assert!(!parsed.has_errors(), "{text}: {parsed:?}");
    let scope = Few {
        names: Bindings::new(BTreeMap::new()),
        dir,
        steps,
    };
    let (value, diags) = evaluate(&expr, &scope);
    match diags.errors().next() {
        None => Ok(value),
        Some(d) => {
            let span = d.subject.expect("a place");
            let place = text[span.start as usize..span.end as usize].to_owned();
            Err((place, format!("{}: {}", d.summary, d.detail)))
        }
    }
}

#[test]
fn evaluation_exceeding_the_step_limit_fails_at_the_expression() {
    let dir = tempfile::tempdir().unwrap();
    let twice = "${ n > 0 ? \"${templatefile(\"twice.tftpl\", { n = n - 1 })}${templatefile(\"twice.tftpl\", { n = n - 1 })}\" : \"\" }";
    std::fs::write(dir.path().join("twice.tftpl"), twice).unwrap();
    for (text, place) in [
        (
            "length([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c if false]]])",
            "[for c in range(1000) : c if false]",
        ),
        (
            "{ for a in range(1000) : a => [for b in range(1000) : b if false] }",
            "[for b in range(1000) : b if false]",
        ),
        (
            "length([for a in range(1000) : [for b in range(1000) : b][*]])",
            "[for b in range(1000) : b][*]",
        ),
        (
            "\"%{ for a in range(1000) }%{ for b in range(1000) }%{ endfor }%{ endfor }\"",
            "%{ for b in range(1000) }%{ endfor }",
        ),
        (
            "length([for a in range(1000) : length(join(\",\", range(1000)))])",
            "[for a in range(1000) : length(",
        ),
        (
            "templatefile(\"twice.tftpl\", { n = 30 })",
            "templatefile(\"twice.tftpl\", { n = 30 })",
        ),
        ("bcrypt(\"x\", 31)", "bcrypt("),
        ("distinct(range(1000))", "distinct("),
        (
            "matchkeys(range(900), range(900), range(1000, 1100))",
            "matchkeys(",
        ),
    ] {
        let (at, words) = run(text, dir.path(), 20_000).expect_err(text);
        assert!(words.contains("million steps"), "{text}: {words}");
        assert!(
            at.starts_with(place) || place.starts_with(&at),
            "{text}: at {at}"
        );
    }
}

#[test]
fn try_and_can_do_not_catch_the_step_limit() {
    let dir = tempfile::tempdir().unwrap();
    const LONG: &str = "[for a in range(1000) : [for b in range(1000) : b if false]]";
    for text in [
        format!("try({LONG}, \"else\")"),
        format!("can({LONG})"),
        format!("[try({LONG}, 1), try({LONG}, 2)]"),
    ] {
        let (_, words) = run(&text, dir.path(), 20_000).expect_err(&text);
        assert!(words.contains("million steps"), "{text}: {words}");
    }
}

#[test]
fn long_evaluation_within_the_step_limit_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let text = "length([for a in range(1000) : [for b in range(100) : a * b if a == b]])";
    let value = run(text, dir.path(), lang::eval::MAX_STEPS).unwrap();
    assert_eq!(value, Value::int(1000));
}
