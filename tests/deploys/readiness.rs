//! Tests of readiness: an apply waits until its object is ready, if the overlay asks for it.

use crate::Lab;
use crate::support::Run;
use serde_json::Value;

/// A database that needs some time after its create, and a thing that uses it.
fn two(ready_ms: u32) -> String {
    format!(
        r#"
resource "lab_thing" "first" {{
  name     = "first"
  ready_ms = {ready_ms}
}}
resource "lab_thing" "second" {{
  name = "second"
  kind = lab_thing.first.status
}}
"#
    )
}

const WAITS: &str = r#"
type "lab_thing" {
  ready = self.status == "ready"
  wait {
    interval = "1s"
    timeout  = "20s"
  }
}
"#;

fn lab(ready_ms: u32, overlay: &str) -> Lab {
    let lab = Lab::new(&two(ready_ms));
    lab.workspace.write("types.flightdeck.hcl", overlay);
    lab
}

/// Value of an attribute in the state.
fn attribute(lab: &Lab, address: &str, name: &str) -> Value {
    let shown = lab.workspace.run(&["show", "--json"]).expect(0).stdout;
    let state: Value = serde_json::from_str(&shown).unwrap();
    let resources = &state["values"]["root_module"]["resources"];
    let all = resources.as_array().unwrap();
    let found = all.iter().find(|r| r["address"] == address);
    found.unwrap_or_else(|| panic!("{address} in {state}"))["values"][name].clone()
}

#[test]
fn s1_11_dependents_wait_until_the_object_is_ready_not_only_until_it_exists() {
    let lab = lab(2_500, WAITS);
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let said = "lab_thing.first: created, waiting until ready: 1st look, next in 1 s";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    // The state has the object as the last look found it, and the dependent has used that.
    assert_eq!(attribute(&lab, "lab_thing.first", "status"), "ready");
    assert_eq!(attribute(&lab, "lab_thing.second", "kind"), "ready");
    let again = lab.workspace.run(&["stage"]).expect(0).stdout;
    assert!(again.contains("no changes"), "{again}");
    // Existence and readiness are separate facts about it.
    let rows = lab.workspace.run(&["state", "list", "--json"]).expect(0);
    let observation = &rows.result()["resources"][0]["observation"];
    assert_eq!(observation["exists"], true, "{observation}");
    assert_eq!(observation["readiness"], "available", "{observation}");
    let store = rusqlite::Connection::open(lab.workspace.store()).unwrap();
    let history = "SELECT group_concat(readiness, ' ') FROM (SELECT readiness
                   FROM observation_change WHERE address = 'lab_thing.first' ORDER BY id)";
    let readiness: String = store.query_row(history, [], |row| row.get(0)).unwrap();
    assert_eq!(readiness, "creating available");
}

#[test]
fn built_in_readiness_is_only_displayed() {
    let lab = Lab::new(&two(30_000));
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(
        !run.stdout.contains("waiting until ready"),
        "{}",
        run.stdout
    );
    assert_eq!(attribute(&lab, "lab_thing.second", "kind"), "creating");
}

#[test]
fn object_that_is_not_ready_in_time_fails_with_its_own_class_and_is_not_tainted() {
    let overlay = WAITS.replace("20s", "2s");
    let lab = lab(600_000, &overlay);
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let said = format!("{}{}", run.stdout, run.stderr);
    for part in [
        "The object is not ready in time",
        "within 2 s it is \"creating\"",
        "not tainted",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let failures = lab
        .workspace
        .run(&["failures", "--json"])
        .expect(0)
        .result();
    assert_eq!(failures["failures"][0]["class"], "not_ready", "{failures}");
    let state = lab.workspace.run(&["state", "list"]).expect(0).stdout;
    assert!(
        state.contains("lab_thing.first  creating (read 20") && !state.contains("tainted"),
        "{state}"
    );
    assert!(!state.contains("lab_thing.second"), "{state}");
    // The next deploy does not replace it.
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(run.stdout.contains("lab_thing.second"), "{}", run.stdout);
    assert!(
        !run.stdout.contains("lab_thing.first: created"),
        "{}",
        run.stdout
    );
}

#[test]
fn wrong_overlay_is_named_with_its_place_and_stops_nothing() {
    let lab = lab(
        0,
        "type \"lab_thing\" {\n  ready = self.statsu == \"ready\"\n}\n",
    );
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("types.flightdeck.hcl:2"), "{said}");
    assert!(said.contains("statsu"), "{said}");
    assert!(!said.contains("waiting until ready"), "{said}");
}

#[test]
fn redacted_attributes_are_sensitive_everywhere() {
    let overlay = "type \"lab_thing\" {\n  redact = [self.kind]\n}\n";
    let lab =
        Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"topsecret\"\n}\n");
    lab.workspace.write("types.flightdeck.hcl", overlay);
    for args in [
        &["stage"][..],
        &["deploy", "--auto-approve"],
        &["show"],
        &["state", "show", "lab_thing.a"],
        &["history", "1"],
    ] {
        let run = lab.workspace.run(args).expect(0);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains("topsecret"), "{args:?}: {said}");
    }
}

#[test]
fn redaction_hides_a_value_that_the_state_has_already() {
    let lab =
        Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"topsecret\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let show = ["state", "show", "lab_thing.a"];
    let text = lab.workspace.run(&show).expect(0).stdout;
    assert!(text.contains("topsecret"), "{text}");
    let overlay = "type \"lab_thing\" {\n  redact = [self.kind]\n}\n";
    lab.workspace.write("types.flightdeck.hcl", overlay);
    let text = lab.workspace.run(&show).expect(0).stdout;
    assert!(!text.contains("topsecret"), "{text}");
}

#[test]
fn failure_has_the_class_that_the_overlay_gives_its_message() {
    let lab = Lab::new(
        "resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  fault {\n    kind = \"permanent\"\n    text = \"the quota is still being raised\"\n  }\n}\n",
    );
    let overlay =
        "type \"lab_thing\" {\n  errors = { \"still being raised\" = \"transient\" }\n}\n";
    lab.workspace.write("types.flightdeck.hcl", overlay);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let failures = lab
        .workspace
        .run(&["failures", "--json"])
        .expect(0)
        .result();
    assert_eq!(failures["failures"][0]["class"], "transient", "{failures}");
}

#[test]
fn calls_have_the_deadline_that_the_overlay_gives_the_type() {
    let lab =
        Lab::new("resource \"lab_thing\" \"a\" {\n  name      = \"a\"\n  create_ms = 60000\n}\n");
    let overlay = "type \"lab_thing\" {\n  timeouts {\n    create = \"1s\"\n  }\n}\n";
    lab.workspace.write("types.flightdeck.hcl", overlay);
    let run = lab.workspace.run(&["deploy", "--auto-approve"]);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("1 s"), "{said}");
    let failures = lab
        .workspace
        .run(&["failures", "--json"])
        .expect(0)
        .result();
    assert_eq!(failures["failures"][0]["class"], "deadline", "{failures}");
}

#[test]
fn types_are_listed_with_the_layer_that_sets_each_field() {
    let lab = lab(0, WAITS);
    lab.workspace.write(
        "child/types.flightdeck.hcl",
        "type \"lab_thing\" {\n  name = \"thing\"\n  redact = [self.data]\n}\n",
    );
    lab.workspace.write("child/main.tf", "");
    lab.configure(&format!(
        "{}module \"child\" {{\n  source = \"./child\"\n}}\n",
        two(0)
    ));
    lab.workspace.write(
        "home/flightdeck/types/mine.hcl",
        "type \"lab_thing\" {\n  docs = \"https://example.com\"\n}\n",
    );
    lab.workspace.run(&["init"]).expect(0);
    let mut command = lab.workspace.command(&["types"]);
    command.env("XDG_CONFIG_HOME", lab.workspace.path().join("home"));
    let run = Run::from_command(&mut command).expect(0);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = run.stdout.lines().map(words).collect();
    for expected in [
        "lab_thing (an apply waits until the object is ready)",
        "name \"thing\" module, child/types.flightdeck.hcl:2",
        "ready self.status == \"ready\" workspace, types.flightdeck.hcl:3",
        "states { creating = \"Creating\", incomplete = \"Unavailable\" } built in",
        "redact [self.data] module, child/types.flightdeck.hcl:3",
        "wait.timeout \"20s\" workspace, types.flightdeck.hcl:6",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected}: {}",
            run.stdout
        );
    }
    assert!(run.stdout.contains("mine.hcl:2"), "{}", run.stdout);
    assert!(!run.stdout.contains("aws_db_instance"), "{}", run.stdout);
    let all = lab.workspace.run(&["types", "--all"]).expect(0).stdout;
    assert!(all.contains("aws_db_instance"), "{all}");
    let wrong = lab.workspace.run(&["types", "lab_thnig"]).expect(1);
    assert!(
        wrong.stderr.contains("did you mean lab_thing?"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn usual_durations_of_a_type_replace_those_of_the_history() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n}\n");
    let overlay = "type \"lab_thing\" {\n  usual {\n    create = \"90s\"\n  }\n}\n";
    lab.workspace.write("types.flightdeck.hcl", overlay);
    let run = lab.workspace.run(&["deploy", "--auto-approve", "--json"]);
    let run = run.expect(0);
    let operation = run.lines().into_iter().find(|e| e["type"] == "operation");
    assert_eq!(operation.unwrap()["usual_ms"], 90_000);
}
