//! Loads all recorded configurations: valid ones give no errors, invalid ones give errors at
//! exactly the recorded places.

mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;

use lang::config::{Flag, Inputs, load_root};
use lang::source::SourceMap;
use serde_json::Value;

fn cases_dir() -> PathBuf {
    std::env::var_os("FLIGHTDECK_CASES").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fidelity").into(),
        PathBuf::from,
    )
}

fn cases() -> Vec<Value> {
    let mut out = Vec::new();
    let Ok(dir) = std::fs::read_dir(cases_dir()) else {
        return out;
    };
    for entry in dir
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "jsonl"))
    {
        let text = std::fs::read_to_string(entry.path()).expect("cases are readable");
        out.extend(
            text.lines()
                .map(|l| serde_json::from_str::<Value>(l).expect("cases are JSON")),
        );
    }
    out
}

type Place = (String, u64);

/// The recorded places of a step's errors; `None` if some have no place, or the errors are not of
/// the plan.
fn recorded_places(step: &Value) -> Option<BTreeSet<Place>> {
    let at = step["expect"]["error"]["at"].as_array()?;
    at.iter()
        .map(|p| Some((p["file"].as_str()?.to_owned(), p["line"].as_u64()?)))
        .collect()
}

struct Outcome {
    errors: Vec<String>,
    places: BTreeSet<Place>,
}

fn load(step: &Value) -> Outcome {
    let dir = tempfile::tempdir().expect("temporary directory");
    for (path, text) in step["files"].as_object().expect("files") {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, text.as_str().expect("text")).expect("files are written");
    }
    let vars = step["args"]["vars"].as_object();
    let flags = vars.into_iter().flatten().map(|(name, text)| Flag::Var {
        name: name.clone(),
        text: text
            .as_str()
            .map_or_else(|| text.to_string(), str::to_owned),
    });
    let inputs = Inputs {
        flags: flags.collect(),
        ..Inputs::default()
    };
    let sources = SourceMap::new();
    let (_, diags) = load_root(dir.path(), &sources, &inputs);
    let errors: Vec<_> = diags.errors().collect();
    Outcome {
        places: errors
            .iter()
            .filter_map(|d| d.range(&sources))
            .map(|r| (r.filename, u64::from(r.start.line)))
            .collect(),
        errors: errors.iter().map(|d| d.render(&sources)).collect(),
    }
}

#[test]
fn configurations_load_or_fail_as_recorded() {
    let cases = cases();
    if cases.is_empty() {
        cty::testing::skipped(&format!("no recorded cases at {}", cases_dir().display()));
        return;
    }
    let mut wrong = Vec::new();
    let (mut loaded, mut refused) = (0, 0);
    for case in &cases {
        for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let outcome = load(step);
            let name = format!("{} step {index}", case["name"].as_str().unwrap_or_default());
            let is_error = step["expect"].get("error").is_some();
            if outcome.errors.is_empty() {
                loaded += 1;
                continue;
            }
            refused += 1;
            if !is_error {
                wrong.push(format!("{name}: refused\n{}", outcome.errors.join("\n")));
            } else if let Some(places) = recorded_places(step)
                && places != outcome.places
            {
                wrong.push(format!(
                    "{name}: wanted {places:?}\n{}",
                    outcome.errors.join("\n")
                ));
            }
        }
    }
    println!(
        "{loaded} configurations loaded, {refused} refused; otherwise than recorded are {}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let all = loaded + refused;
    common::at_least("configurations", all - wrong.len(), all);
}
