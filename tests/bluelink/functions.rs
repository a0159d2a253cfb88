//! Tests of provider functions in the configuration, and of function calls between plugins through
//! flightdeck.

use crate::bench::Bench;
use crate::support::Run;
use serde_json::Value;

fn output(bench: &Bench, name: &str) -> Value {
    let run = bench.run(&["output", "--json"]).expect(0);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    all[name]["value"].clone()
}

fn said(run: &Run) -> String {
    let all = run.diagnostics();
    let text = |d: &Value| format!("{} {}", d["summary"], d["detail"]);
    all.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn they_are_called_with_values_of_their_types_and_what_may_be_left_out() {
    let bench = Bench::new(
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
fn s2_11_a_call_from_plugin_to_plugin_is_a_call_that_is_seen_with_who_has_asked() {
    let bench = Bench::new("output \"loud\" {\n  value = provider::fake::shout(\"hi\")\n}\n");
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
fn two(main: &str, functions: &str) -> Bench {
    let bench = Bench::two(main);
    std::fs::write(bench.other("functions"), functions).unwrap();
    bench
}

#[test]
fn s2_11_another_plugins_function_is_reached_and_ones_own_comes_first() {
    let main = r#"
output "a" { value = provider::fake::through("double", "x") }
output "b" { value = provider::other::through("measure", "x") }
resource "fake_box" "a" { name = "a" }
resource "other_box" "b" { name = "b" }
"#;
    let bench = two(main, "through double");
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
fn s2_11_what_nobody_has_or_several_have_or_has_no_end_is_refused_to_the_plugin_in_words() {
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
        let bench = two(used, "double");
        let third = "providers/bluelink/third/1.0.0";
        bench.install(third);
        let folder = bench.root().join(third);
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
        let told = said(&run).replace('\\', "");
        assert!(told.contains(words), "{call}: {told}");
    }
}

#[test]
fn what_a_function_says_is_wrong_and_what_no_configuration_can_call_is_said_at_its_place() {
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
        let bench = Bench::new(&format!(
            "output \"a\" {{\n  value = provider::fake::{call}\n}}\n"
        ));
        let run = bench.stage().expect(1);
        let told = said(&run);
        assert!(told.contains(words), "{call}: {told}");
        let first = &run.diagnostics()[0];
        assert!(first["range"]["filename"] == "main.tf", "{call}: {first:#}");
    }
}

#[test]
fn a_plugin_that_is_older_than_functions_has_none() {
    let bench = Bench::new("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
    bench.tell("old", "");
    bench.deploy().expect(0);
    bench.main("output \"a\" {\n  value = provider::fake::double(\"x\")\n}\n");
    let run = bench.stage().expect(1);
    assert!(said(&run).contains("has no function"), "{run:#?}");
}
