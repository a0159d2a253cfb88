//! Locals and outputs of recorded cases that only need planned values of resources: their values,
//! and the places of their errors. A small scope replaces the engine; the evaluator is the real
//! one.
#![allow(clippy::unwrap_used)]

mod module;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;
use lang::body::{Body, BodySchema};
use lang::eval::{Bindings, evaluate};
use lang::source::SourceMap;
use lang::syntax::parse_file;
use serde_json::Value as Json;

use self::module::{Module, shown, suitable};

#[path = "../common/mod.rs"]
mod common;

struct Outcome {
    outputs: BTreeMap<String, Value>,
    errors: Vec<(u64, u64)>,
    words: String,
}

fn run(step: &Json) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in step["files"].as_object().unwrap() {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_str().unwrap()).unwrap();
    }
    let sources = SourceMap::new();
    let text = step["files"]["main.tf"].as_str().unwrap();
    let file = sources.add("main.tf", text);
    let (native, mut diags) = parse_file(text, file);
    let schema = BodySchema::new()
        .block("locals", &[])
        .block("terraform", &[])
        .block("resource", &["type", "name"])
        .block("output", &["name"])
        .block("variable", &["name"]);
    let (content, more) = Body::native(Arc::new(native)).content(&schema);
    diags.append(more);
    let mut module = Module {
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        resources: BTreeMap::new(),
        known: RefCell::default(),
        faults: RefCell::default(),
        folder: dir.path().canonicalize().unwrap(),
        sources: sources.clone(),
    };
    let mut outputs = Vec::new();
    for block in &content.blocks {
        let (attributes, _) = block.body.just_attributes();
        match &*block.type_name {
            "terraform" => {}
            "locals" => module
                .locals
                .extend(attributes.into_iter().map(|(name, a)| (name, a.expr))),
            "resource" => {
                module
                    .resources
                    .insert(block.labels[1].text.clone(), attributes);
            }
            "output" => outputs.extend(
                attributes
                    .get("value")
                    .map(|a| (block.labels[0].text.to_string(), a.expr.clone())),
            ),
            _ => {
                let mut value = attributes
                    .get("default")
                    .map_or_else(Value::dynamic, |a| evaluate(&a.expr, &module).0);
                for (flag, mark) in [
                    ("sensitive", cty::Mark::Sensitive),
                    ("ephemeral", cty::Mark::Ephemeral),
                ] {
                    if attributes.contains_key(flag) {
                        value = value.mark(mark);
                    }
                }
                if let Some(ty) = attributes.get("type") {
                    // Converts the value to the variable's type with `convert`.
                    let convert = format!("convert(v, {})", sources.snippet(ty.expr.span));
                    let (expr, _) = lang::syntax::parse_expression(&convert, "type", &sources);
                    value = evaluate(&expr, &Bindings::new([(Arc::from("v"), value)].into())).0;
                }
                module.variables.insert(block.labels[0].text.clone(), value);
            }
        }
    }
    let mut values = BTreeMap::new();
    for (name, expr) in outputs {
        let (value, more) = evaluate(&expr, &module);
        diags.append(more);
        values.insert(name, value);
    }
    let names: Vec<_> = module.locals.keys().cloned().collect();
    for name in names {
        let (expr, _) =
            lang::syntax::parse_expression(&format!("local.{name}"), "test", &SourceMap::new());
        let _ = evaluate(&expr, &module);
    }
    diags.append(module.faults.take());
    let errors = diags.errors().map(|d| {
        d.range(&sources).map_or((0, 0), |r| {
            (u64::from(r.start.line), u64::from(r.start.column))
        })
    });
    let errors = errors.collect();
    let words = diags
        .iter()
        .map(|d| d.render(&sources))
        .collect::<Vec<_>>()
        .join("  ");
    Outcome {
        outputs: values,
        errors,
        words,
    }
}

/// Compares JSON; numbers by value.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn check(step: &Json) -> Result<(), String> {
    let outcome = run(step);
    let expect = &step["expect"];
    if let Some(places) = expect["error"]["at"]
        .as_array()
        .filter(|_| expect["error"]["during"] == "plan")
    {
        let key = |p: &Json| {
            (
                p["line"].as_u64().unwrap_or(0),
                p["column"].as_u64().unwrap_or(0),
            )
        };
        let mut want: Vec<_> = places.iter().map(key).collect();
        let mut got = outcome.errors.clone();
        want.sort_unstable();
        got.sort_unstable();
        want.dedup();
        got.dedup();
        // A recorded error without a place matches any error.
        let missing: Vec<_> = want
            .iter()
            .filter(|p| p.0 != 0 && !got.contains(p))
            .collect();
        let extra = got.iter().filter(|p| !want.contains(p)).count();
        let placeless = want.iter().filter(|p| p.0 == 0).count();
        if missing.is_empty() && extra <= placeless && !got.is_empty() {
            return Ok(());
        }
        return Err(format!(
            "errors at {got:?}, not {want:?}\n  {}",
            outcome.words
        ));
    }
    if !outcome.errors.is_empty() {
        return Err(format!("unexpected errors\n  {}", outcome.words));
    }
    let mut wrong = String::new();
    for (name, change) in expect["plan"]["output_changes"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let Some(value) = outcome.outputs.get(name) else {
            wrong.push_str(&format!("\n  no output {name}"));
            continue;
        };
        let (bare, _) = value.clone().unmark_deep();
        let got = shown(&bare);
        if !same(&got, &change["after"]) {
            wrong.push_str(&format!("\n  {name}: {got}\n    not {}", change["after"]));
        }
        let unknown = change["after_unknown"]
            .as_array()
            .is_some_and(|a| !a.is_empty());
        if unknown == bare.is_wholly_known() {
            wrong.push_str(&format!("\n  {name}: unknown parts differ: {bare:?}"));
        }
        let sensitive = change["after_sensitive"]
            .as_array()
            .is_some_and(|a| !a.is_empty());
        if sensitive != value.contains_mark(&cty::Mark::Sensitive) {
            wrong.push_str(&format!("\n  {name}: sensitive parts differ: {value:?}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Runs a group of cases. With `resources`, errors of resources are not compared.
fn group(name: &str, resources: bool) {
    let Some(folder) = common::folder("FLIGHTDECK_CASES", "fidelity") else {
        return;
    };
    let (mut passed, mut total) = (0, 0);
    for case in common::rows(&folder, &format!("{name}.jsonl")) {
        let steps = case["steps"].as_array().unwrap();
        let declares = |step: &Json| {
            step["files"]["main.tf"]
                .as_str()
                .is_some_and(|t| t.contains("resource \""))
        };
        if !steps.iter().all(suitable) || (!resources && steps.iter().any(declares)) {
            continue;
        }
        total += 1;
        // Later steps need objects in the state, which this scope does not have.
        let first = if declares(&steps[0]) { 1 } else { steps.len() };
        match steps.iter().take(first).try_for_each(check) {
            Ok(()) => passed += 1,
            Err(why) => println!("differs: {}: {why}", case["name"]),
        }
    }
    common::at_least(&format!("cases_{name}"), passed, total);
}

#[test]
fn functions_behave_as_recorded() {
    group("functions", true);
}

#[test]
fn expressions_behave_as_recorded() {
    group("expr", true);
}

#[test]
fn sensitive_values_behave_as_recorded() {
    group("sensitive", true);
}

#[test]
fn unknown_values_behave_as_recorded() {
    group("unknowns", true);
}

#[test]
fn errors_have_the_recorded_positions() {
    group("errors", false);
}

#[test]
fn locals_and_outputs_behave_as_recorded() {
    group("outputs_locals", true);
}
