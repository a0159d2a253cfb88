//! Tests with released providers: each of their examples is discovered, staged, deployed, checked
//! for drift, and destroyed. The fake plugin passes the same tests.
//!
//! `FLIGHTDECK_TEST_BLUELINK` names a directory of the documented layout (`providers/…/plugin`)
//! with a configuration in each `examples/NAME/`. An optional `drift.sh` in an example changes one
//! of its objects. The script runs in the example's directory and finds the top directory in that
//! variable.

use crate::support::Run;
use crate::workspace::{TestWorkspace, USUAL, change_counts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "FLIGHTDECK_TEST_BLUELINK";

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn drift(run: &Run) -> Value {
    run.result()["drift"].clone()
}

/// Runs one example from its first stage to its destroy; returns the types that it covers.
fn run_example(root: &Path, example: &Path) -> BTreeSet<String> {
    let mut bench = TestWorkspace::empty("");
    let path = root.display().to_string();
    bench.set("BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH", &path);
    for file in entries(example).into_iter().filter(|f| f.is_file()) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        bench
            .workspace
            .write(&name, &std::fs::read_to_string(&file).unwrap());
    }
    bench.run(&["plugins", "--json"]).expect(0);
    let staged = bench.stage().expect(0);
    let lines = staged.lines();
    let changes = lines.iter().rfind(|e| e["type"] == "staged").unwrap();
    let changes = changes["changes"].as_array().unwrap().iter();
    let created = changes.filter(|change| change["action"] == "create");
    let kinds = created.map(|c| c["resource_type"].as_str().unwrap().to_owned());
    let kinds: BTreeSet<String> = kinds.collect();
    assert!(!kinds.is_empty(), "{example:?} makes nothing");
    bench.deploy().expect(0);
    let settled = || {
        let again = bench.stage().expect(0);
        assert_eq!(change_counts(&again), "", "{example:?}: {again:#?}");
        assert!(drift(&again).is_null(), "{example:?}: {again:#?}");
    };
    settled();
    if example.join("drift.sh").exists() {
        let mut script = Command::new("sh");
        let script = script.arg("drift.sh").env(VARIABLE, root);
        let done = script.current_dir(bench.workspace.path()).status();
        assert!(done.unwrap().success(), "{example:?}: drift.sh");
        let seen = bench.stage().expect(0);
        assert!(!drift(&seen).is_null(), "{example:?}: {seen:#?}");
        bench.deploy().expect(0);
        settled();
    }
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    let left = bench.run(&["state", "list"]).expect(0);
    assert_eq!(left.stdout, "", "{example:?}");
    kinds
}

/// Runs all examples of a directory; returns the types that they cover.
fn run_all_examples(root: &Path) -> BTreeSet<String> {
    let all = entries(&root.join("examples")).into_iter();
    let all: Vec<PathBuf> = all.filter(|e| e.is_dir()).collect();
    assert!(!all.is_empty(), "{root:?} has no examples");
    all.iter().flat_map(|one| run_example(root, one)).collect()
}

#[test]
fn released_providers_pass_their_examples() {
    let Some(root) = std::env::var_os(VARIABLE) else {
        let why = "FLIGHTDECK_TEST_BLUELINK names no directory with plugins and examples";
        return cty::testing::skipped(why);
    };
    println!("covered: {:?}", run_all_examples(Path::new(&root)));
}

#[test]
fn fake_provider_passes_its_example() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(USUAL);
    std::fs::create_dir_all(&folder).unwrap();
    let plugin = env!("CARGO_BIN_EXE_bluelink-plugin");
    std::os::unix::fs::symlink(plugin, folder.join("plugin")).unwrap();
    let head = crate::workspace::HEAD;
    let boxes = "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n}\n";
    let slow = "resource \"fake_slow_thing\" \"s\" {\n  name  = \"s\"\n  looks = 2\n}\n";
    let meddle =
        format!("sed -i 's/\"x\":\"1\"/\"x\":\"9\"/' \"${VARIABLE}\"/{USUAL}/world/*.json\n");
    for (file, text) in [
        ("boxes/main.tf", format!("{head}{boxes}")),
        ("boxes/drift.sh", meddle),
        ("slow/main.tf", format!("{head}{slow}")),
    ] {
        let path = root.path().join("examples").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let covered: Vec<String> = run_all_examples(root.path()).into_iter().collect();
    assert_eq!(covered, ["fake_box", "fake_slow_thing"]);
    let calls = std::fs::read_to_string(folder.join("calls")).unwrap();
    let destroyed = calls.lines().filter(|l| l.contains("\"DestroyResource\""));
    assert_eq!(destroyed.count(), 2);
}
