//! Tests of installed providers without a configuration: their metadata and types.

use crate::launches::attempts;
use crate::support::Run;
use crate::workspace::{TestWorkspace, USUAL};
use serde_json::Value;

/// Plugin path with the fake plugin, and a directory without configuration.
fn bench() -> TestWorkspace {
    let bench = TestWorkspace::empty("");
    std::fs::remove_file(bench.workspace.path().join("main.tf")).unwrap();
    bench.install(USUAL);
    bench
}

fn listed(run: &Run, address: &str) -> Value {
    let all = run.result()["plugins"].as_array().unwrap().clone();
    let found = all.iter().find(|p| p["found"]["address"] == address);
    found
        .cloned()
        .unwrap_or_else(|| panic!("no {address}: {run:#?}"))
}

const FAKE: &str = "registry.bluelink.dev/bluelink/fake";

#[test]
fn installed_providers_are_listed_without_a_configuration_and_none_is_launched() {
    let bench = bench();
    let run = bench.run(&["plugins", "--installed", "--json"]).expect(0);
    let fake = listed(&run, FAKE);
    assert_eq!(fake["state"]["state"], "discovered");
    assert_eq!(fake["found"]["version"], "1.0.0");
    assert!(attempts(&fake).is_empty() && fake["schema"].is_null());
    listed(&run, "flightdeck.internal/bundled/lab");
    assert_eq!(bench.calls("GetNamespace").len(), 0);
    let text = bench.run(&["plugins", "--installed"]).expect(0).stdout;
    assert!(text.contains("bluelink/fake  discovered  1.0.0"), "{text}");
    let left = std::fs::read_dir(bench.workspace.path()).unwrap().count();
    assert_eq!(left, 0, "a list leaves nothing behind");
    let run = bench.run(&["plugins", "--installed", "nothing"]).expect(1);
    assert!(run.stderr.contains("nothing"), "{run:#?}");
    bench.run(&["plugins", "--launch"]).expect(1);
}

#[test]
fn installed_provider_is_launched_on_request_and_describes_itself_and_its_types() {
    let bench = bench();
    let args = ["plugins", "--installed", "--launch", "bluelink/fake"];
    let run = bench.run(&[&args[..], &["--json"]].concat()).expect(0);
    let fake = listed(&run, FAKE);
    assert_eq!(attempts(&fake)[0]["verdict"]["kind"], "ready");
    let about = &fake["found"]["about"];
    assert_eq!(about["display_name"], "Fake");
    assert_eq!(about["author"], "The Fakers");
    assert_eq!(about["repository"], "https://example.com/fake");
    let resources = &fake["schema"]["resources"];
    let of_box = &resources["fake_box"];
    assert_eq!(of_box["label"], "Cardboard box");
    assert_eq!(of_box["summary"], "A box for things.");
    assert_eq!(
        of_box["description"],
        "A **box** that holds things.\nIt has a lid."
    );
    assert_eq!(
        of_box["examples"][0],
        "resources:\n  red:\n    type: fake/box"
    );
    let slow = &resources["fake_slow_thing"];
    assert!(
        slow["block"].is_object(),
        "an error for a text takes nothing else away"
    );
    assert!(slow["label"].is_null() && slow["examples"].is_null());
    assert_eq!(
        fake["schema"]["data_sources"]["fake_box"]["label"],
        "Cardboard box"
    );
    let text = bench.run(&args).expect(0).stdout;
    for words in [
        "bluelink/fake  ready  1.0.0",
        "author: The Fakers",
        "repository: https://example.com/fake",
        "Cardboard box: A box for things.",
        "It has a lid.",
        "type: fake/box",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn installed_provider_that_does_not_come_up_ends_with_3_and_says_why() {
    let mut bench = bench();
    bench.set("FLIGHTDECK_LAUNCH_ATTEMPTS", "1");
    let args = ["plugins", "--installed", "--launch", "bluelink/fake"];
    for (args, json) in [
        (args.to_vec(), false),
        ([&args[..], &["--json"]].concat(), true),
    ] {
        bench.write_fault_file("faults", "exits\n");
        let run = bench.run(&args).expect(3);
        assert!(run.stdout.contains("no licence was found"), "{run:#?}");
        if json {
            assert_eq!(listed(&run, FAKE)["state"]["state"], "gave_up");
        }
    }
}

#[test]
fn data_source_is_checked_by_the_plugin_when_it_is_validated() {
    let data = |search: &str| {
        format!(
            "variable \"name\" {{\n  type = string\n}}\ndata \"fake_box\" \"found\" {{\n  filter = [{{ field = \"name\", operator = \"=\", search = [{search}] }}]\n}}\n"
        )
    };
    let bench = TestWorkspace::with_plugin(&data("\"a\", var.name"));
    bench.run(&["validate"]).expect(0);
    let asked = bench.calls("CustomValidateDataSource");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0]["type"], "fake/box");
    assert_eq!(
        asked[0]["search"],
        serde_json::json!(["a", null]),
        "a value that is not known is a substitution"
    );
    let unnamed = data("\"forbidden\"").replace("field = \"name\"", "field = var.name");
    bench.main(&unnamed);
    bench.run(&["validate"]).expect(0);
    let asked = bench.calls("CustomValidateDataSource").len();
    assert_eq!(
        asked, 1,
        "a filter by a field that is not known is not sent"
    );
    bench.main(&data("\"forbidden\""));
    let run = bench.run(&["validate"]).expect(1);
    let words = "no box may be looked for by the name forbidden";
    assert!(run.stderr.contains(words), "{run:#?}");
    bench.write_fault_file("without-checks", "");
    bench.run(&["validate"]).expect(0);
}
