//! Tests of transformers: they are launched, supervised and shown like plugins. No configuration
//! can use one, so none may block a configuration.

use crate::launches::{attempts, phases};
use crate::support::Run;
use crate::workspace::{HEAD, TestWorkspace};
use serde_json::Value;
use std::path::{Path, PathBuf};

const PLACE: &str = "transformers/bluelink/run/1.0.0";
pub(crate) const ID: &str = "bluelink/run";
const BOX: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
pub(crate) const UNUSABLE: &str = "a configuration cannot use transformers";

/// Workspace with a provider that the configuration uses, and a transformer.
pub(crate) fn bench() -> TestWorkspace {
    let bench = TestWorkspace::with_plugin(BOX);
    add(&bench, PLACE, "bluelink/run");
    bench
}

pub(crate) fn add(bench: &TestWorkspace, place: &str, id: &str) {
    bench.install(place);
    std::fs::write(bench.plugin_path().join(place).join("id"), id).unwrap();
}

fn file(bench: &TestWorkspace, name: &str) -> PathBuf {
    bench.plugin_path().join(PLACE).join(name)
}

pub(crate) fn tell(bench: &TestWorkspace, name: &str, text: &str) {
    std::fs::write(file(bench, name), text).unwrap();
}

/// Runs `plugins --json` and returns the run and its transformer.
fn transformer(bench: &TestWorkspace) -> (Run, Value) {
    let run = bench.run(&["plugins", "--json"]);
    let result = run.result();
    let all = result["plugins"].as_array().unwrap();
    let it = all.iter().find(|p| p["id"] == ID).cloned();
    (run, it.unwrap_or_default())
}

pub(crate) fn has_ended(pid: u64) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn transformer_is_launched_shown_and_ended_like_a_plugin() {
    let bench = bench();
    let (run, it) = transformer(&bench);
    run.expect(0);
    assert_eq!(it["found"]["kind"], "transformer");
    assert_eq!(it["found"]["transform"], "fake-2024-11-20");
    assert_eq!(it["found"]["dialect"], "bluelink1.0");
    assert_eq!(it["note"], UNUSABLE);
    assert_eq!(it["schema"], Value::Null);
    let [attempt] = &attempts(&it)[..] else {
        panic!("{it:#}")
    };
    assert_eq!(
        phases(attempt),
        ["exec", "registered", "transform_name_answered"]
    );
    assert_eq!(attempt["verdict"]["kind"], "ready");
    let pid = attempt["pid"].as_u64().unwrap();
    assert!(has_ended(pid), "it is still there");
    let log = bench.run(&["logs", ID]).expect(0).stdout;
    assert!(log.contains("ended when it was asked to"), "{log}");
    // The name is requested until the transformer knows its host; nothing else is called.
    let calls = std::fs::read_to_string(file(&bench, "calls")).unwrap();
    assert_eq!(calls.trim(), "{\"method\":\"GetTransformName\"}");
    let shown = bench.run(&["plugins"]).expect(0).stdout;
    for line in [
        "bluelink/run  ready  1.0.0  bluelink1.0, launches 1",
        "    transformer, \"fake-2024-11-20\" in blueprints; a configuration cannot use transformers",
        "    transformer bluelink/run 1.0.0: launched; a configuration cannot use transformers",
    ] {
        assert!(shown.contains(line), "{line}\nis not in\n{shown}");
    }
    assert!(!shown.contains("schema unavailable"), "{shown}");
}

#[test]
fn failed_transformer_is_reported_and_blocks_nothing() {
    let bench = bench();
    tell(&bench, "faults", &"exits\n".repeat(99));
    let (run, it) = transformer(&bench);
    run.expect(0);
    assert_eq!(it["state"]["state"], "gave_up");
    assert_eq!(attempts(&it).len(), 5, "five launches in all");
    let why = it["state"]["why"].as_str().unwrap();
    let words =
        "the process ended before its registration: exit code 3; last output: no licence was found";
    assert!(why.contains(words), "{why}");
    let kept = bench.run(&["doctor", "--json"]);
    let told = "the last launch of bluelink/run failed (5 attempts)";
    assert!(kept.stdout.contains(told), "{}", kept.stdout);
    let shown = bench.run(&["plugins", "run"]).expect(0).stdout;
    assert!(shown.contains("bluelink/run  gave up"), "{shown}");
    assert!(shown.contains("launch 5 of 5"), "{shown}");
    for command in [&["validate"][..], &["stage"], &["deploy", "--auto-approve"]] {
        bench.run(command).expect(0);
    }
    assert_eq!(bench.plugin_objects().len(), 1);
    let left = std::fs::read_to_string(file(&bench, "faults")).unwrap();
    assert_eq!(
        left.lines().count(),
        99 - 10,
        "what needs no transformer launches none"
    );
}

#[test]
fn wrong_kind_and_missing_name_are_refused_and_other_failures_retried() {
    let table = [
        (
            "faults",
            "provider\n",
            ("incompatible", "plugin_type", 1),
            "the plugin is installed as a transformer, but it registered as a provider; move it to the right directory, or install a transformer in its place",
        ),
        (
            "faults",
            "wrong-id\n",
            ("incompatible", "registered_as_another", 1),
            "the plugin is installed as bluelink/run, but it registered as somebody/else",
        ),
        (
            "transform",
            "",
            ("gave_up", "transform_name", 5),
            "the plugin refused the request for its transform name: an empty answer",
        ),
        (
            "troubles",
            "GetTransformName unexpected 9\n",
            ("gave_up", "transform_name", 5),
            "the plugin refused the request for its transform name: the cloud is on fire",
        ),
    ];
    for (name, text, (state, kind, launches), words) in table {
        let bench = bench();
        tell(&bench, name, text);
        let (run, it) = transformer(&bench);
        run.expect(0);
        assert_eq!(it["state"]["state"], state, "{text}: {it:#}");
        assert_eq!(attempts(&it).len(), launches, "{text}");
        let verdict = &attempts(&it)[0]["verdict"];
        assert_eq!(verdict["kind"], kind);
        let said = verdict["text"].as_str().unwrap();
        assert!(said.starts_with(words), "{text}: {said}");
    }
}

#[test]
fn configuration_that_requires_a_transformer_gets_an_error() {
    let head = HEAD.replace(
        "fake = {",
        "run = { source = \"bluelink/run\" }\n    fake = {",
    );
    let bench = TestWorkspace::empty(&format!("{head}{BOX}resource \"run_thing\" \"t\" {{\n}}\n"));
    bench.install(crate::workspace::USUAL);
    add(&bench, PLACE, "bluelink/run");
    let path = file(&bench, "plugin").display().to_string();
    let words = format!(
        "the provider bluelink/run (any version) was not found: the plugin with this id is a transformer, {path}, and {UNUSABLE}; remove it from required_providers"
    );
    let staged = bench.run(&["stage"]).expect(3);
    let told = staged.stderr.replace('\n', " ");
    assert!(told.contains(&words), "{told}");
    assert!(!told.contains("flightdeck init"), "{told}");
    let all = bench.run(&["plugins", "--json"]).expect(3).result();
    let all = all["plugins"].as_array().unwrap().clone();
    let of = |id: &str| all.iter().find(|p| p["id"] == id).cloned().unwrap();
    assert_eq!(of(ID)["found"]["kind"], "transformer");
    let provider = of("registry.opentofu.org/bluelink/run");
    assert_eq!(provider["state"]["state"], "rejected");
    // The registry is unreachable: the error about the transformer must come first.
    let mut bench = bench;
    bench.set("TF_CLI_CONFIG_FILE", &mirror(&bench));
    let init = bench.run(&["init"]).expect(1);
    let told = init.stderr.replace('\n', " ");
    let words =
        format!("The plugin with this id on the plugin path is a transformer, {path}: {UNUSABLE}.");
    assert!(told.contains(&words), "{told}");
    bench.unset("TF_CLI_CONFIG_FILE");
    // Without `required_providers`, the local name may mean another provider.
    bench.workspace.write(
        "main.tf",
        &format!("{HEAD}resource \"run_thing\" \"t\" {{\n}}\n"),
    );
    let staged = bench.run(&["stage"]).expect(3);
    let told = staged.stderr.replace('\n', " ");
    let words = format!("bluelink/run is a transformer, {path}; {UNUSABLE}");
    assert!(told.contains(&words), "{told}");
    assert!(told.contains("flightdeck init"), "{told}");
}

#[test]
fn provider_and_transformer_with_one_id_are_two_plugins() {
    let bench = bench();
    add(&bench, "transformers/bluelink/fake/2.0.0", "bluelink/fake");
    let result = bench.run(&["plugins", "--json"]).expect(0).result();
    let all = result["plugins"].as_array().unwrap().iter();
    let all = all.map(|p| (p["id"].as_str(), p["found"]["kind"].as_str()));
    assert_eq!(
        all.collect::<Vec<_>>(),
        [
            (Some("bluelink/fake"), Some("provider")),
            (Some(ID), Some("transformer")),
            (Some("transformer/bluelink/fake"), Some("transformer")),
        ]
    );
}

/// CLI configuration whose only source is an empty directory.
fn mirror(bench: &TestWorkspace) -> String {
    let folder = bench.plugin_path().join("mirror");
    std::fs::create_dir(&folder).unwrap();
    let file = bench.plugin_path().join("mirror.rc");
    let folder = folder.display();
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{folder}\"\n  }}\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}
