//! Workspace with a plugin path that contains the fake plugin.

use crate::support::{Run, Workspace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Default installation directory of the fake plugin.
pub(crate) const USUAL: &str = "providers/bluelink/fake/1.0.0";

/// Installation directory of the second plugin.
const OTHER: &str = "providers/bluelink/other/1.0.0";

/// Head of every configuration.
pub(crate) const HEAD: &str = r#"
terraform {
  required_providers {
    fake = { source = "bluelink/fake" }
  }
}
"#;

pub(crate) struct TestWorkspace {
    pub(crate) workspace: Workspace,
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestWorkspace {
    /// Creates a workspace with [`HEAD`] and `main`, and the fake plugin in its default directory.
    pub(crate) fn with_plugin(main: &str) -> Self {
        let bench = Self::empty(&format!("{HEAD}{main}"));
        bench.install(USUAL);
        bench
    }

    /// Creates a workspace with `main` and a second plugin, `bluelink/other`.
    pub(crate) fn with_two_plugins(main: &str) -> Self {
        let bench = Self::with_plugin("");
        bench.install(OTHER);
        std::fs::write(bench.other("id"), "bluelink/other").unwrap();
        let text = format!(
            "terraform {{\n  required_providers {{\n    fake = {{ source = \"bluelink/fake\" }}\n    other = {{ source = \"bluelink/other\" }}\n  }}\n}}\n{main}"
        );
        bench.workspace.write("main.tf", &text);
        bench
    }

    /// Path of a file next to the second plugin.
    pub(crate) fn other(&self, name: &str) -> PathBuf {
        self.root.path().join(OTHER).join(name)
    }

    /// Creates a workspace with exactly this configuration and no plugin.
    pub(crate) fn empty(main: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut bench = Self {
            workspace: Workspace::new(&[("main.tf", main)]),
            root,
            variables: Vec::new(),
        };
        let path = bench.root.path().display().to_string();
        bench.set("BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH", &path);
        bench.set("FLIGHTDECK_LAUNCH_BACKOFF_MS", "5");
        let looks = "BLUELINK_DEPLOY_ENGINE_BLUEPRINTS_RESOURCE_STABILISATION_POLLING_INTERVAL_MS";
        bench.set(looks, "50");
        bench
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// The plugin path.
    pub(crate) fn plugin_path(&self) -> PathBuf {
        self.root.path().to_owned()
    }

    /// Installs the plugin in this directory of the plugin path.
    pub(crate) fn install(&self, place: &str) {
        let folder = self.root.path().join(place);
        std::fs::create_dir_all(&folder).unwrap();
        let plugin = env!("CARGO_BIN_EXE_bluelink-plugin");
        std::os::unix::fs::symlink(plugin, folder.join("plugin")).unwrap();
    }

    /// Path of a file next to the plugin.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(USUAL).join(name)
    }

    pub(crate) fn write_fault_file(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    pub(crate) fn main(&self, text: &str) {
        self.workspace.write("main.tf", &format!("{HEAD}{text}"));
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.workspace.command(args);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("BLUELINK_") || name.starts_with("CELERITY_") {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().map(|(k, v)| (k, v)));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::from_command(&mut self.command(args))
    }

    pub(crate) fn deploy(&self) -> Run {
        self.run(&["deploy", "--auto-approve", "--json"])
    }

    pub(crate) fn stage(&self) -> Run {
        self.run(&["stage", "--json"])
    }

    /// Calls of a method that the plugin recorded so far.
    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        calls(&self.file("calls"), method)
    }

    /// Calls of a method that the second plugin recorded so far.
    pub(crate) fn calls_of_other(&self, method: &str) -> Vec<Value> {
        calls(&self.other("calls"), method)
    }

    /// The objects in the plugin's world, by their ids.
    pub(crate) fn plugin_objects(&self) -> Vec<Value> {
        world(&self.file("world"))
    }

    /// Objects in the second plugin's world.
    pub(crate) fn other_plugin_objects(&self) -> Vec<Value> {
        world(&self.other("world"))
    }
    /// Changes the only object in the plugin's world, outside flightdeck.
    pub(crate) fn change_outside(&self, change: impl Fn(&mut Value)) {
        let mut object = self.plugin_objects().remove(0);
        change(&mut object);
        let file = format!("world/{}.json", object["id"].as_str().unwrap());
        self.write_fault_file(&file, &object.to_string());
    }

    /// Runs `plugins --json` and returns the run and its only plugin.
    pub(crate) fn plugin(&self) -> (Run, Value) {
        let run = self.run(&["plugins", "--json"]);
        let all = run.result()["plugins"].as_array().unwrap().clone();
        let is_it = |p: &&Value| p["found"]["address"].as_str().unwrap().contains("fake");
        let plugin = all.iter().find(is_it).cloned().unwrap_or_default();
        (run, plugin)
    }

    /// First instance of a resource type in the state.
    pub(crate) fn state_attributes(&self, kind: &str) -> Value {
        let state: Value = serde_json::from_str(&self.workspace.read("terraform.tfstate")).unwrap();
        let all = state["resources"].as_array().unwrap();
        let found = all.iter().find(|r| r["type"] == kind);
        found.map_or(Value::Null, |r| r["instances"][0].clone())
    }
}

fn calls(file: &Path, method: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The plugin may still be writing the last line.
    let whole = text
        .lines()
        .filter_map(|l| serde_json::from_str::<Value>(l).ok());
    whole.filter(|call| call["method"] == method).collect()
}

fn world(folder: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |f: std::fs::DirEntry| {
        let text = std::fs::read_to_string(f.path()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let mut all: Vec<Value> = files.map(one).collect();
    all.sort_by_key(|object| object["id"].to_string());
    all
}

/// Change counts of a stage, such as `create 1, update 2`; empty without changes.
pub(crate) fn change_counts(run: &Run) -> String {
    let result = run.result();
    let all = result["changes"].as_object().unwrap().iter();
    let some = all.filter(|(action, n)| *action != "no_op" && n.as_u64() != Some(0));
    let some: Vec<String> = some.map(|(action, n)| format!("{action} {n}")).collect();
    some.join(", ")
}
