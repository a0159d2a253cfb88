//! Tests of an operator's work with resources of a Bluelink plugin, from the first stage to the
//! destroy.

use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

fn full_box(name: &str, label: &str, parts: &str) -> String {
    format!(
        "provider \"fake\" {{\n  region    = \"north\"\n  token     = \"hush-token\"\n  variables = {{ \"endpoints.s3\" = \"here\" }}\n}}\n\
         resource \"fake_box\" \"a\" {{\n  name   = {name:?}\n  labels = {{ x = {label:?} }}\n  ports  = [1, 2]\n  parts  = [{parts}]\n  secret = \"hush-hush\"\n  either = 5\n}}\n"
    )
}

const PARTS: &str = "{ name = \"lid\", weight = 2 }, { name = \"base\" }";
const TURNED: &str = "{ name = \"base\" }, { name = \"lid\", weight = 2 }";

fn paths(changes: &Value) -> Vec<&str> {
    let all = changes.as_array().unwrap().iter();
    all.map(|c| c["path"].as_str().or(c.as_str()).unwrap())
        .collect()
}

#[test]
fn object_is_created_kept_updated_replaced_and_destroyed() {
    let bench = TestWorkspace::with_plugin(&full_box("a", "1", PARTS));
    let run = bench.run(&["deploy", "--auto-approve"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains("hush"), "nothing secret is shown: {said}");
    let created = bench.calls("DeployResource").remove(0);
    assert_eq!(
        (&created["state"], &created["must_recreate"]),
        (&json!(false), &json!(false)),
        "without a state it is a create"
    );
    assert_eq!(created["type"], "fake/box");
    assert_eq!(created["name"], "fake_box.a");
    assert_eq!(
        created["context"]["config"],
        json!({"region": "north", "token": "hush-token", "retries": 7, "endpoints.s3": "here"}),
        "the configuration goes with each call, with defaults and values under names of their own"
    );
    assert_eq!(created["spec"]["size"], 3, "a default of the schema");
    assert_eq!(
        created["spec"]["parts"][0]["weight"].to_string(),
        "2.0",
        "a float stays one"
    );
    assert_eq!(
        created["spec"]["ports"][0].to_string(),
        "1",
        "and an integer too"
    );
    let secret = created["new"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["path"] == "spec.secret");
    assert_eq!(secret.unwrap()["sensitive"], true);
    assert_eq!(
        paths(&created["computed"]),
        ["spec.health", "spec.id", "spec.lastSeen", "spec.zone"]
    );
    let stored = bench.state_attributes("fake_box")["attributes"].clone();
    assert_eq!(
        (&stored["id"], &stored["zone"]),
        (&json!("a-1"), &json!("north")),
        "what the plugin has set is merged"
    );

    bench.main(&full_box("a", "1", TURNED));
    assert_eq!(
        change_counts(&bench.stage().expect(0)),
        "",
        "the order of parts means nothing"
    );

    bench.main(&full_box("a", "2", TURNED));
    assert_eq!(change_counts(&bench.stage().expect(0)), "update 1");
    bench.deploy().expect(0);
    let changed = bench.calls("DeployResource").remove(1);
    assert_eq!(
        (&changed["state"], &changed["must_recreate"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(paths(&changed["modified"]), ["spec.labels.x"]);
    assert_eq!(
        (
            &changed["modified"][0]["from"],
            &changed["modified"][0]["to"]
        ),
        (&json!("1"), &json!("2"))
    );
    assert!(
        paths(&changed["unchanged"]).contains(&"spec.parts[0].name"),
        "{changed:#}"
    );
    assert_eq!(
        changed["resource"], created["resource"],
        "it keeps the name that the host has for it"
    );
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["id"],
        "a-1"
    );

    bench.main(&full_box("b", "2", TURNED));
    assert_eq!(
        change_counts(&bench.stage().expect(0)),
        "replace 1",
        "the name cannot be changed in place"
    );
    bench.deploy().expect(0);
    assert_eq!(
        bench.calls("DestroyResource")[0]["state"],
        true,
        "a destroy has the state, or the plugin could not tell what is meant"
    );
    assert_eq!(bench.calls("DeployResource")[2]["state"], false);
    let names: Vec<Value> = bench
        .plugin_objects()
        .iter()
        .map(|o| o["name"].clone())
        .collect();
    assert_eq!(names, ["b"]);

    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
    assert_eq!(bench.calls("DestroyResource").len(), 2);
}

#[test]
fn removed_argument_is_unset_and_unset_computed_value_stays() {
    let bench = TestWorkspace::with_plugin(
        "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  colour = \"red\"\n  zone   = \"south\"\n  placement = { rack = \"r1\" }\n}\n",
    );
    bench.deploy().expect(0);
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["zone"],
        "south",
        "it is not the plugin's where it is given"
    );
    bench.main("resource \"fake_box\" \"a\" {\n  name = \"a\"\n  placement = { rack = \"r1\", row = 4 }\n}\n");
    let run = bench.deploy().expect(0);
    assert!(run.stdout.contains("fake_box.a"));
    let changed = bench.calls("DeployResource").remove(1);
    assert_eq!(paths(&changed["removed"]), ["spec.colour"]);
    assert_eq!(
        paths(&changed["new"]),
        ["spec.placement.row"],
        "what is new needs no other object"
    );
    bench.main("resource \"fake_box\" \"a\" {\n  name = \"a\"\n  placement = { rack = \"r2\", row = 4 }\n}\n");
    assert_eq!(
        change_counts(&bench.stage().expect(0)),
        "replace 1",
        "it passes on to what is in it"
    );
}

#[test]
fn s1_11_slow_object_is_polled_until_stable_and_late_values_are_stored() {
    let bench = TestWorkspace::with_plugin(
        "resource \"fake_slow_thing\" \"s\" {\n  name  = \"s\"\n  looks = 3\n}\noutput \"endpoint\" {\n  value = fake_slow_thing.s.endpoint\n}\n",
    );
    bench.deploy().expect(0);
    assert_eq!(bench.calls("ResourceHasStabilised").len(), 3);
    let output = bench.run(&["output", "endpoint"]).expect(0);
    assert!(output.stdout.contains("https://s-1"), "{output:#?}");
}

#[test]
fn object_that_is_not_stable_in_time_fails_and_is_kept() {
    let mut bench = TestWorkspace::with_plugin(
        "resource \"fake_slow_thing\" \"s\" {\n  name  = \"s\"\n  looks = 3000\n}\n",
    );
    bench.set(
        "CELERITY_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS",
        "200",
    );
    let run = bench.deploy().expect(5);
    assert!(
        run.diagnostics()
            .iter()
            .any(|d| d["summary"] == "failed to stabilise"),
        "{run:#?}"
    );
    let looks = bench.calls("ResourceHasStabilised").len();
    // A busy machine polls less often, but never more often than the time limit allows.
    assert!((1..=5).contains(&looks), "{looks}");
    let stored = bench.state_attributes("fake_slow_thing");
    assert_eq!(
        (&stored["status"], &stored["attributes"]["id"]),
        (&json!("tainted"), &json!("s-1"))
    );
}

#[test]
fn resources_of_both_dialects_refer_to_each_other() {
    let bench = TestWorkspace::empty("");
    bench.install(crate::workspace::USUAL);
    let file = bench.workspace.path().join("lab.json");
    let main = format!(
        "terraform {{\n  required_providers {{\n    fake = {{ source = \"bluelink/fake\" }}\n    lab  = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\n\
         provider \"lab\" {{\n  file = {:?}\n}}\n\
         resource \"fake_box\" \"first\" {{\n  name = \"first\"\n}}\n\
         resource \"lab_bucket\" \"second\" {{\n  name = \"after-${{fake_box.first.id}}\"\n}}\n\
         resource \"fake_box\" \"third\" {{\n  name = \"then-${{lab_bucket.second.name}}\"\n}}\n",
        file.display().to_string()
    );
    bench.workspace.write("main.tf", &main);
    assert_eq!(change_counts(&bench.stage().expect(0)), "create 3");
    bench.deploy().expect(0);
    let names: Vec<Value> = bench
        .plugin_objects()
        .iter()
        .map(|o| o["name"].clone())
        .collect();
    assert_eq!(names, ["first", "then-after-first-1"]);
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
}

#[test]
fn existing_object_is_imported_by_its_id() {
    let main = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
    let bench = TestWorkspace::with_plugin(main);
    bench.deploy().expect(0);
    bench.run(&["state", "rm", "fake_box.a"]).expect(0);
    bench.main(&format!(
        "{main}import {{\n  to = fake_box.a\n  id = \"a-1\"\n}}\n"
    ));
    bench.deploy().expect(0);
    assert_eq!(bench.calls("DeployResource").len(), 1, "nothing was made");
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["lastSeen"],
        "at 2"
    );
    bench.main(&format!("{main}import {{\n  to = fake_box.b\n  id = \"b-9\"\n}}\nresource \"fake_box\" \"b\" {{\n  name = \"b\"\n}}\n"));
    let refused = bench.run(&["stage"]);
    assert_ne!(refused.code, Some(0), "there is no such object");
}

#[test]
fn data_source_is_read_by_filter_and_retried_after_transient_errors() {
    let main = |filter: &str| {
        format!(
            "resource \"fake_box\" \"a\" {{\n  name  = \"a\"\n  ports = [7]\n}}\n\
             data \"fake_box\" \"found\" {{\n  filter     = [{filter}]\n  depends_on = [fake_box.a]\n}}\n\
             output \"port\" {{\n  value = data.fake_box.found.ports[0] + data.fake_box.found.size\n}}\n"
        )
    };
    let bench = TestWorkspace::with_plugin(&main(
        "{ field = \"name\", operator = \"=\", search = [\"a\"] }",
    ));
    bench.write_fault_file("retry", "3 0.01 0.05 2");
    bench.write_fault_file("troubles", "FetchDataSource transient 2\n");
    bench.deploy().expect(0);
    assert_eq!(bench.run(&["output", "port"]).expect(0).stdout.trim(), "10");
    let calls = bench.calls("FetchDataSource");
    assert_eq!(calls.len(), 3);
    assert_eq!(
        (&calls[0]["search"], &calls[0]["exports"]),
        (&json!(["a"]), &json!(["id", "ports", "size"]))
    );
    for (filter, words) in [
        (
            "{ field = \"colour\", operator = \"=\", search = [\"a\"] }",
            "is not a filter field. Filter fields: name",
        ),
        (
            "{ field = \"name\", operator = \"<\", search = [\"a\"] }",
            "name does not support the operator \"<\". Supported operators: =, in",
        ),
    ] {
        bench.main(&main(filter));
        let run = bench.run(&["validate"]);
        assert_ne!(run.code, Some(0));
        assert!(
            format!("{run:?}").replace("\\", "").contains(words),
            "{run:#?}"
        );
    }
    bench.write_fault_file("old", "");
    bench.main("resource \"fake_box\" \"a\" {\n  name  = \"a\"\n  ports = [7]\n}\n");
    bench.stage().expect(0);
}
