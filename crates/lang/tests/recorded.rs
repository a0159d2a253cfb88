//! Every text of the recorded cases is read without a panic, and valid ones without an error.

use lang::source::SourceMap;

fn cases_dir() -> std::path::PathBuf {
    std::env::var_os("FLIGHTDECK_CASES")
        .map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fidelity").into(), std::path::PathBuf::from)
}

fn cases() -> Vec<serde_json::Value> {
    let mut out = Vec::new();
    let Ok(dir) = std::fs::read_dir(cases_dir()) else { return out };
    for entry in dir.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "jsonl")) {
        let text = std::fs::read_to_string(entry.path()).expect("cases are readable");
        out.extend(text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).expect("cases are JSON")));
    }
    out
}

#[test]
fn every_text_of_a_step_without_error_parses() {
    let cases = cases();
    if cases.is_empty() {
        println!("skipped: no recorded cases at {}", cases_dir().display());
        return;
    }
    let mut failures = Vec::new();
    for case in &cases {
        for step in case["steps"].as_array().expect("steps") {
            let fails = step["expect"].get("error").is_some();
            for (path, text) in step["files"].as_object().expect("files") {
                let Some(text) = text.as_str() else { continue };
                let sources = SourceMap::new();
                let file = sources.add(path.clone(), text);
                let diags = if path.ends_with(".json") {
                    let (node, mut diags) = lang::syntax::json::parse(text, file);
                    node.to_expr(&mut diags);
                    diags
                } else if path.ends_with(".tf") || path.ends_with(".tofu") || path.ends_with(".tfvars") {
                    lang::syntax::parse_file(text, file).1
                } else {
                    continue;
                };
                if diags.has_errors() && !fails {
                    for d in diags.errors() {
                        failures.push(format!("{} {}", case["name"], d.render(&sources)));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
