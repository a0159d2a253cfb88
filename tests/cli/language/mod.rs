//! Tests of the language's edge cases, one minimal configuration for each. Each expected verdict
//! was recorded from OpenTofu: accepted configurations give the same plan, refused ones give errors
//! on the same lines.

mod checks;
mod dynamic_blocks;
mod edge_cases;
mod encryption;
mod formerly_accepted;
mod formerly_refused;
mod fuzzed_rules;
mod load_time_values;
mod moves_failures_modules;
mod opentofu_1_7_to_1_12;
mod override_errors;
mod overrides;
mod provider_instance_references;
mod provider_instances;
mod provisioners;
mod test_files;
mod unknown_module_values;
mod validate_without_plan;
mod warnings;

use crate::support::{Run, Workspace};
use serde_json::Value;

/// Configuration and its expected verdict.
pub(super) struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    verdict: Verdict,
}

pub(super) enum Verdict {
    /// Accepted, with exactly these changes (address, actions, reason).
    Staged(&'static [(&'static str, &'static str, &'static str)]),
    /// Accepted, with exactly these outputs as JSON.
    Outputs(&'static [(&'static str, &'static str)]),
    /// Refused with errors at exactly these places: file and line.
    Refused(&'static [(&'static str, u64)]),
    /// Refused by `validate`, at exactly these places.
    Invalid(&'static [(&'static str, u64)]),
    /// Accepted by `validate`; refused by the stage, at exactly these places.
    OnlyValid(&'static [(&'static str, u64)]),
    /// Accepted by `validate`, with warnings at exactly these places.
    Warned(&'static [(&'static str, u64)]),
}

/// Runs all cases of a table, then fails with all differences.
pub(super) fn assert_verdicts(cases: &[Case]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| differs(case).map(|how| format!("{}: {how}", case.name)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differs(case: &Case) -> Option<String> {
    let workspace = Workspace::new(case.files);
    if let Verdict::Invalid(places) = case.verdict {
        let run = workspace.run(&["validate", "--json"]);
        return match run.code {
            Some(1) => other_places(&run, "error", places),
            _ => Some(format!("valid: {run:#?}")),
        };
    }
    if let Verdict::OnlyValid(_) | Verdict::Warned(_) = case.verdict {
        let run = workspace.run(&["validate", "--json"]);
        if run.code != Some(0) {
            return Some(format!("not valid: {run:#?}"));
        }
        if let Verdict::Warned(places) = case.verdict {
            return other_places(&run, "warning", places);
        }
    }
    let run = workspace.run(&["stage", "--json", "--plan-json", "plan.json"]);
    if let Verdict::Refused(places) | Verdict::OnlyValid(places) = case.verdict {
        return if run.code == Some(1) {
            other_places(&run, "error", places)
        } else {
            Some(format!("staged: {run:#?}"))
        };
    }
    if run.code != Some(0) {
        return Some(format!("refused: {run:#?}"));
    }
    let plan: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace.path().join("plan.json")).unwrap())
            .unwrap();
    match case.verdict {
        Verdict::Staged(changes) => {
            let all = plan["resource_changes"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let got: Vec<(String, String, String)> = all.iter().map(change).collect();
            let want: Vec<_> = changes
                .iter()
                .map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned()))
                .collect();
            (got != want).then(|| format!("{got:?} instead of {want:?}"))
        }
        Verdict::Outputs(outputs) => {
            let is = |(name, want): &(&str, &str)| {
                plan["output_changes"][*name]["after"]
                    == serde_json::from_str::<Value>(want).unwrap()
            };
            let other: Vec<_> = outputs.iter().filter(|output| !is(output)).collect();
            (!other.is_empty()).then(|| format!("not {other:?}: {}", plan["output_changes"]))
        }
        Verdict::Refused(_) | Verdict::Invalid(_) | Verdict::OnlyValid(_) | Verdict::Warned(_) => {
            None
        }
    }
}

fn other_places(run: &Run, severity: &str, places: &[(&str, u64)]) -> Option<String> {
    let mut got: Vec<(String, u64)> = run
        .diagnostics()
        .iter()
        .filter(|d| d["severity"] == severity)
        .map(place)
        .collect();
    got.sort();
    let want: Vec<(String, u64)> = places
        .iter()
        .map(|(file, line)| ((*file).to_owned(), *line))
        .collect();
    (got != want).then(|| format!("{got:?} instead of {want:?}: {run:#?}"))
}

fn place(diagnostic: &Value) -> (String, u64) {
    let range = &diagnostic["range"];
    (
        range["filename"].as_str().unwrap_or_default().to_owned(),
        range["start"]["line"].as_u64().unwrap_or_default(),
    )
}

fn change(one: &Value) -> (String, String, String) {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let actions = one["change"]["actions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect::<Vec<_>>()
        .join(" ");
    (text(&one["address"]), actions, text(&one["action_reason"]))
}
