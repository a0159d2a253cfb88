//! Tests of provider functions in the configuration, and of function calls between plugins through
//! flightdeck.

use crate::support::Run;
use crate::workspace::TestWorkspace;
use serde_json::Value;

fn output(bench: &TestWorkspace, name: &str) -> Value {
    let run = bench.run(&["output", "--json"]).expect(0);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    all[name]["value"].clone()
}

fn output_text(run: &Run) -> String {
    let all = run.diagnostics();
    let text = |d: &Value| format!("{} {}", d["summary"], d["detail"]);
    all.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn functions_are_called_with_typed_values_and_optional_arguments() {
    let bench = TestWorkspace::with_plugin(
        r#"
output "twice" { value = provider::fake::double(12) }
output "shout" { value = [provider::fake::shout("hi"), provider::fake::shout("hi", "?")] }
output "size"  { value = provider::fake::measure([1, 2.5], "more", true) }
"#,
    );
    bench.deploy().expect(0);
    assert_eq!(output(&bench, "twice"), "1212");
    assert_eq!(
        output(&bench, "shout"),
        serde_json::json!(["HIHI!", "HIHI?"])
    );
    assert_eq!(
        output(&bench, "size"),
        serde_json::json!({"count": 4, "note": null})
    );
}

#[test]
fn s2_11_call_between_plugins_is_a_visible_call_with_its_caller() {
    let bench = TestWorkspace::with_plugin(
        "output \"loud\" {\n  value = provider::fake::shout(\"hi\")\n}\n",
    );
    let run = bench.stage().expect(0);
    let lines = run.lines();
    let asked = lines.iter().find(|e| {
        e["type"] == "call_started" && e["resource"] == "asked by bluelink/fake in shout"
    });
    let asked = asked.unwrap_or_else(|| panic!("{run:#?}"));
    assert_eq!(asked["method"], "CallFunction");
    assert_eq!(asked["slot"], 0, "whoever asks may hold one");
    let ended = lines
        .iter()
        .find(|e| e["type"] == "call_finished" && e["call"] == asked["call"]);
    assert_eq!(ended.unwrap()["outcome"], "ok");
    let calls = bench.calls("CallFunction");
    let names: Vec<&Value> = calls.iter().map(|c| &c["function"]).collect();
    assert!(
        names.len() >= 2 && names[0] == "shout" && names[1] == "double",
        "{names:?}"
    );
}

/// Workspace with two plugins; the second serves only these functions.
fn workspace_with_two_plugins(main: &str, functions: &str) -> TestWorkspace {
    let bench = TestWorkspace::with_two_plugins(main);
    std::fs::write(bench.other("functions"), functions).unwrap();
    bench
}

#[test]
fn s2_11_function_of_another_plugin_is_called_unless_the_provider_has_its_own() {
    let main = r#"
output "a" { value = provider::fake::through("double", "x") }
output "b" { value = provider::other::through("measure", "x") }
resource "fake_box" "a" { name = "a" }
resource "other_box" "b" { name = "b" }
"#;
    let bench = workspace_with_two_plugins(main, "through double");
    // The second plugin does not serve `double` itself, so the call reaches the first.
    let run = bench.stage();
    let chain = "asked by bluelink/other in through";
    let lines = run.lines();
    let reached = lines
        .iter()
        .find(|e| e["type"] == "call_started" && e["resource"] == chain);
    let reached = reached.unwrap_or_else(|| panic!("{run:#?}"));
    assert_eq!(reached["plugin"], "bluelink/fake");
    let own = lines
        .iter()
        .find(|e| e["resource"] == "asked by bluelink/fake in through");
    assert_eq!(
        own.unwrap()["plugin"],
        "bluelink/fake",
        "and not the other's"
    );
}

#[test]
fn s2_11_missing_ambiguous_and_endless_function_calls_are_refused() {
    let table = [
        (
            "provider::fake::through(\"nothing\", \"x\")",
            "no plugin in use has a function \"nothing\"",
        ),
        (
            "provider::third::through(\"double\", \"x\")",
            "so the request is ambiguous: bluelink/fake, bluelink/other",
        ),
        (
            "provider::fake::endless(\"x\")",
            "more than 64 levels deep; the last call is of \"endless\"",
        ),
    ];
    for (call, words) in table {
        let used = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\nresource \"other_box\" \"b\" {\n  name = \"b\"\n}\n";
        let bench = workspace_with_two_plugins(used, "double");
        let third = "providers/bluelink/third/1.0.0";
        bench.install(third);
        let folder = bench.plugin_path().join(third);
        std::fs::write(folder.join("id"), "bluelink/third").unwrap();
        std::fs::write(folder.join("functions"), "through").unwrap();
        let head = bench.workspace.read("main.tf");
        let head = head.replace(
            "other =",
            "third = { source = \"bluelink/third\" }\n    other =",
        );
        bench.workspace.write(
            "main.tf",
            &format!("{head}output \"a\" {{\n  value = {call}\n}}\n"),
        );
        let run = bench.stage().expect(1);
        let told = output_text(&run).replace('\\', "");
        assert!(told.contains(words), "{call}: {told}");
    }
}

#[test]
fn function_errors_and_uncallable_functions_are_reported_at_their_place() {
    let table = [
        ("shout(\"\")", "there is nothing to shout"),
        ("shout(\"a\", \"b\", \"c\")", "the function takes at most 2"),
        ("shout(\"a\", [1])", "string required"),
        ("measure(\"x\")", "list of number required"),
        (
            "partly(\"x\")",
            "the function returned another function, double, but configurations cannot use functions as values",
        ),
        ("mapper(\"x\")", "has no function"),
        ("own(\"x\")", "has no function"),
    ];
    for (call, words) in table {
        let bench = TestWorkspace::with_plugin(&format!(
            "output \"a\" {{\n  value = provider::fake::{call}\n}}\n"
        ));
        let run = bench.stage().expect(1);
        let told = output_text(&run);
        assert!(told.contains(words), "{call}: {told}");
        let first = &run.diagnostics()[0];
        assert!(first["range"]["filename"] == "main.tf", "{call}: {first:#}");
    }
}

#[test]
fn plugin_older_than_functions_has_none() {
    let bench = TestWorkspace::with_plugin("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
    bench.write_fault_file("old", "");
    bench.deploy().expect(0);
    bench.main("output \"a\" {\n  value = provider::fake::double(\"x\")\n}\n");
    let run = bench.stage().expect(1);
    assert!(output_text(&run).contains("has no function"), "{run:#?}");
}
