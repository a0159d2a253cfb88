//! Expressions, templates and functions against rows recorded from the tests of OpenTofu and
//! HCL.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::{Type, Value};
use lang::diag::Diagnostics;
use lang::eval::{Bindings, Scope, evaluate};
use lang::functions::{Function, Param, find};
use lang::source::SourceMap;
use lang::syntax::{TemplateOrigin, Traversal, parse_expression, parse_template_at};
use serde_json::Value as Json;

/// Variables and functions of one row.
struct Row<'a> {
    names: Bindings<'a>,
    functions: BTreeMap<String, Arc<Function>>,
}

impl Scope for Row<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        self.names.resolve(traversal)
    }

    fn function(&self, name: &str) -> Option<Arc<Function>> {
        self.functions.get(name).cloned()
    }
}

impl Row<'_> {
    fn of(ctx: &Json) -> Self {
        let vars = ctx["vars"].as_object().into_iter().flatten();
        let values = vars
            .map(|(name, value)| (Arc::from(name.as_str()), cty::testing::recorded(value)))
            .collect();
        let mut functions = BTreeMap::new();
        for name in ctx["funcs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
        {
            let function = match name {
                "negate" => Some(Function::new(
                    vec![Param::new("num", Type::Number)],
                    Type::Number,
                    |a, _, _| Ok(a[0].neg()),
                )),
                "foo::upper" => find("upper").map(|f| (*f).clone()),
                _ => None,
            };
            functions.extend(function.map(|f| (name.to_owned(), Arc::new(f))));
        }
        Row {
            names: Bindings::new(values),
            functions,
        }
    }
}

/// Rows whose single syntax error the reference reports twice: it evaluates the failed part, and
/// its placeholder repeats the parser's diagnostic (`hclsyntax.ExprSyntaxError`). Files with syntax
/// errors are never evaluated, neither there nor here.
const TOLD_TWICE: [&str; 1] = [r#"double::::upper("foo")"#];

fn run(name: &str, parse: fn(&str, &SourceMap) -> (lang::syntax::Expr, Diagnostics)) {
    let Some(rows) = cty::testing::vectors(&format!("{name}.jsonl")) else {
        return;
    };
    let mut passed = 0;
    for row in &rows {
        let input = row["input"].as_str().unwrap();
        let sources = SourceMap::new();
        let (expr, mut diags) = parse(input, &sources);
        let want = cty::testing::recorded(&row["want"]);
        let mut count = row["diags"].as_u64().unwrap() as usize;
        if TOLD_TWICE.contains(&input) {
            count -= 1;
        }
        // The reference does not evaluate templates with syntax errors, so such rows have no value.
        // It does evaluate expressions with them.
        let value = if name == "hcl_template" && diags.has_errors() {
            want.clone()
        } else {
            let (value, more) = evaluate(&expr, &Row::of(&row["ctx"]));
            diags.append(more);
            value
        };
        if value.raw_equals(&want) && diags.len() == count {
            passed += 1;
            continue;
        }
        println!(
            "differs: {input}\n  got  {value:?} with {} of {count} diagnostics\n  want {want:?}",
            diags.len()
        );
        for diag in diags.iter() {
            println!("  {}", diag.render(&sources).replace('\n', "\n  "));
        }
    }
    common::at_least(name, passed, rows.len());
}

#[test]
fn expressions_have_the_recorded_values() {
    run("hcl_expr", |text, sources| {
        parse_expression(text, "test", sources)
    });
}

#[test]
fn templates_have_the_recorded_values() {
    run("hcl_template", |text, sources| {
        let file = sources.add("test", text);
        parse_template_at(text, file, 0, TemplateOrigin::Bare)
    });
}

/// The folder that the recorded calls read from.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("hello.txt"), "hello!").unwrap();
        std::fs::write(dir.path().join("hello.tmpl"), "Hello, ${name}!").unwrap();
        std::fs::create_dir(dir.path().join("subdirectory")).unwrap();
        for name in ["hello.txt", "hello.tmpl"] {
            std::fs::write(dir.path().join("subdirectory").join(name), "hello!").unwrap();
        }
        Folder(dir)
    }
}

impl Scope for Folder {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        Bindings::new(BTreeMap::new()).resolve(traversal)
    }

    fn base_dir(&self) -> &Path {
        self.0.path()
    }
}

#[test]
fn function_calls_have_the_recorded_values() {
    let Some(rows) = cty::testing::vectors("lang_functions.jsonl") else {
        return;
    };
    let folder = Folder::new();
    let mut passed = 0;
    for row in &rows {
        let source = row["src"].as_str().unwrap();
        let sources = SourceMap::new();
        let (expr, mut diags) = parse_expression(source, "test", &sources);
        let (value, more) = evaluate(&expr, &folder);
        diags.append(more);
        let want = cty::testing::recorded(&row["want"]);
        if value.raw_equals(&want) && diags.is_empty() {
            passed += 1;
            continue;
        }
        println!("differs: {source}\n  got  {value:?}\n  want {want:?}");
        for diag in diags.iter() {
            println!("  {}", diag.render(&sources).replace('\n', "\n  "));
        }
    }
    common::at_least("lang_functions", passed, rows.len());
}
