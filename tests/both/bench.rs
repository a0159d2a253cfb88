//! Workspace whose providers use one of two dialects, their world, and the parts of a run that both
//! dialects must have in common.

use crate::support::{Run, Workspace};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Dialect of the providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Protocol6,
    Bluelink,
}

pub(crate) const BOTH: [Dialect; 2] = [Dialect::Protocol6, Dialect::Bluelink];

pub(crate) struct TestWorkspace {
    pub(crate) dialect: Dialect,
    pub(crate) workspace: Workspace,
    root: tempfile::TempDir,
}

impl TestWorkspace {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("world")).unwrap();
        let program = env!("CARGO_BIN_EXE_flightdeck").as_ref();
        for name in ["lab", "local"] {
            bundled::install(name, &root.path().join("plugins"), program).unwrap();
        }
        Self {
            dialect,
            workspace: Workspace::new(&[]),
            root,
        }
    }

    /// Directory of the providers' objects.
    pub(crate) fn objects_directory(&self) -> PathBuf {
        self.root.path().join("world")
    }

    pub(crate) fn lab(&self) -> PathBuf {
        self.objects_directory().join("lab.json")
    }

    /// Writes the configuration; `WORLD` in it becomes the directory of the objects.
    pub(crate) fn main(&self, body: &str) {
        let publisher = match self.dialect {
            Dialect::Protocol6 => "flightdeck.internal/bundled",
            Dialect::Bluelink => "flightdeck",
        };
        let head = format!(
            "terraform {{\n  required_providers {{\n    lab   = {{ source = \"{publisher}/lab\" }}\n    local = {{ source = \"{publisher}/local\" }}\n  }}\n}}\n\
             provider \"lab\" {{\n  file = \"WORLD/lab.json\"\n}}\n"
        );
        let world = self.objects_directory().display().to_string();
        let text = format!("{head}{body}").replace("WORLD", &world);
        self.workspace.write("main.tf", &text);
    }

    /// Nested block; over Bluelink, an attribute.
    pub(crate) fn block(&self, name: &str, body: &str) -> String {
        match self.dialect {
            Dialect::Protocol6 => format!("  {name} {{\n    {body}\n  }}\n"),
            Dialect::Bluelink => format!("  {name} = {{\n    {body}\n  }}\n"),
        }
    }

    /// Repeatable nested block; over Bluelink, a list attribute.
    pub(crate) fn blocks(&self, name: &str, bodies: &[&str]) -> String {
        match self.dialect {
            Dialect::Protocol6 => bodies.iter().map(|body| self.block(name, body)).collect(),
            Dialect::Bluelink => {
                let all: Vec<String> = bodies.iter().map(|b| format!("{{\n{b}\n}}")).collect();
                format!("  {name} = [{}]\n", all.join(", "))
            }
        }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let mut command = self.workspace.command(args);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("BLUELINK_") || name.starts_with("CELERITY_") {
                command.env_remove(name);
            }
        }
        let retries = r#"{"maxRetries": 3, "firstRetryDelay": 0.01, "jitter": false}"#;
        let policy = "BLUELINK_DEPLOY_ENGINE_BLUEPRINTS_DEFAULT_RETRY_POLICY";
        let path = "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH";
        command.env(policy, retries);
        command.env(path, self.root.path().join("plugins"));
        Run::from_command(&mut command)
    }

    pub(crate) fn deploy(&self) -> Run {
        self.run(&["deploy", "--auto-approve", "--json"])
    }

    /// Change counts of a stage, such as `create 1, update 2`; empty without changes.
    pub(crate) fn stage(&self) -> String {
        let result = self.run(&["stage", "--json"]).expect(0).result();
        let all = result["changes"].as_object().unwrap().iter();
        let some = all.filter(|(action, n)| *action != "no_op" && n.as_u64() != Some(0));
        let some: Vec<String> = some.map(|(action, n)| format!("{action} {n}")).collect();
        some.join(", ")
    }

    /// Output of a stage for people.
    pub(crate) fn text_output(&self) -> String {
        let run = self.run(&["stage"]).expect(0);
        format!("{}{}", run.stdout, run.stderr)
    }

    /// Objects of the state by address.
    pub(crate) fn state(&self) -> Map<String, Value> {
        let text = self.workspace.read("terraform.tfstate");
        let state: Value = serde_json::from_str(&text).unwrap();
        let all = state["resources"].as_array().unwrap().iter();
        let one = |r: &Value| {
            let name = format!(
                "{}.{}",
                r["type"].as_str().unwrap(),
                r["name"].as_str().unwrap()
            );
            (name, r["instances"][0].clone())
        };
        all.map(one).collect()
    }

    /// Objects of the state in a form that both dialects share: without random values, and without
    /// empty collections, which Bluelink plugins cannot distinguish from null.
    pub(crate) fn objects(&self) -> Value {
        let attributes = |(name, object): (String, Value)| {
            let managed = object["attributes"].clone();
            (name, without_empty_values(managed))
        };
        let all: Map<String, Value> = self.state().into_iter().map(attributes).collect();
        let text = Value::Object(all).to_string();
        let text = text.replace(&self.objects_directory().display().to_string(), "WORLD");
        let id = regex::Regex::new("-[0-9a-f]{8}").unwrap();
        let address = regex::Regex::new(r"203\.0\.113\.[0-9]+").unwrap();
        let text = id.replace_all(&text, "-ID");
        serde_json::from_str(&address.replace_all(&text, "ADDRESS")).unwrap()
    }
}

/// Removes nulls and empty collections from a value.
fn without_empty_values(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(name, value)| (name, without_empty_values(value)));
            // Arguments of a data source are filters over Bluelink.
            let some = members.filter(|(name, v)| !is_empty(v) && name != "filter");
            Value::Object(some.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty_values).collect()),
        other => other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Runs a scenario over each dialect; both must give the same result.
pub(crate) fn assert_equal_over_both_dialects(story: impl Fn(&TestWorkspace) -> Vec<Value>) {
    let [usual, bluelink] = BOTH.map(|dialect| story(&TestWorkspace::new(dialect)));
    assert!(!usual.is_empty());
    for (step, (usual, bluelink)) in usual.iter().zip(&bluelink).enumerate() {
        assert_eq!(
            usual, bluelink,
            "step {step}: protocol 6 left, Bluelink right"
        );
    }
    assert_eq!(usual.len(), bluelink.len());
}
