//! Workspace with the built providers in its mirror, and helpers of the tests.

use crate::support::{Run, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Workspace that finds providers in one filesystem mirror only.
pub(crate) struct ProviderWorkspace {
    pub(crate) workspace: Workspace,
    mirror: PathBuf,
    extra: tempfile::TempDir,
    /// Variables of every later run.
    env: BTreeMap<&'static str, String>,
}

impl ProviderWorkspace {
    pub(crate) fn new(mirror: PathBuf, files: &[(&str, &str)]) -> Self {
        Self {
            workspace: Workspace::new(files),
            mirror,
            extra: tempfile::tempdir().unwrap(),
            env: BTreeMap::new(),
        }
    }

    /// Creates a workspace whose mirror contains the programs that the environment names; `None`
    /// with a message if it names none.
    pub(crate) fn with_built_providers(files: &[(&str, &str)]) -> Option<Self> {
        let Some(folder) = std::env::var_os("FLIGHTDECK_TEST_GO_BIN").map(PathBuf::from) else {
            cty::testing::skipped(
                "FLIGHTDECK_TEST_GO_BIN names no folder; fill one with tests/interop/build",
            );
            return None;
        };
        let mut place = Self::new(PathBuf::new(), files);
        place.mirror = place.extra.path().join("mirror");
        let built = [
            ("hashicorp/time", "0.13.1", "time"),
            ("acme/interop", "0.1.0", "interop"),
            ("acme/legacy", "0.1.0", "legacy"),
        ];
        for (address, version, name) in built {
            let target = place.mirror.join(format!(
                "registry.terraform.io/{address}/{version}/linux_amd64"
            ));
            std::fs::create_dir_all(&target).unwrap();
            let program =
                std::fs::canonicalize(folder.join(format!("terraform-provider-{name}"))).unwrap();
            std::os::unix::fs::symlink(
                program,
                target.join(format!("terraform-provider-{name}_v{version}")),
            )
            .unwrap();
        }
        Some(place)
    }

    /// Sets an environment variable for every later run.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.env.insert(name, value.to_owned());
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.extra.path().join("objects.json")
    }

    /// Objects in the provider's file.
    pub(crate) fn provider_objects(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.objects()).unwrap()).unwrap()
    }

    /// Changes the provider's file outside flightdeck.
    pub(crate) fn change_outside(&self, edit: impl FnOnce(&mut Value)) {
        let mut objects = self.provider_objects();
        edit(&mut objects);
        std::fs::write(self.objects(), objects.to_string()).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let rc = self.extra.path().join("rc");
        let text = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
            self.mirror.display()
        );
        std::fs::write(&rc, text).unwrap();
        let mut command = self.workspace.command(args);
        command
            .env("TF_CLI_CONFIG_FILE", rc)
            .env("TF_VAR_file", self.objects())
            .envs(&self.env);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let run = Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!run.stderr.contains("panicked at"), "{args:?}: {run:#?}");
        run
    }

    /// Counts of changes by action, without zeros.
    pub(crate) fn changes(&self, args: &[&str], code: i32) -> Value {
        let args = [&["stage", "--json", "--detailed-exitcode"], args].concat();
        let result = self.run(&args).expect(code).result();
        assert_eq!(result["command"], "stage");
        let changes = result["changes"].as_object().unwrap();
        changes
            .iter()
            .filter(|(_, n)| **n != json!(0))
            .map(|(k, n)| (k.clone(), n.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Plan representation of a stage.
    pub(crate) fn plan(&self, args: &[&str]) -> Plan {
        let file = self.extra.path().join("plan.json");
        let name = file.to_str().unwrap();
        self.run(&[&["stage", "--plan-json", name], args].concat())
            .expect(0);
        Plan(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
    }

    /// Instance of a managed resource in the state.
    pub(crate) fn instance(&self, address: &str) -> Value {
        let (kind, name) = address.split_once('.').unwrap();
        instance_of(&self.exported(), kind, name).clone()
    }

    pub(crate) fn deploy(&self, args: &[&str], code: i32) -> Run {
        self.run(&[&["deploy", "--auto-approve", "--json"], args].concat())
            .expect(code)
    }

    pub(crate) fn attributes(&self, address: &str) -> Value {
        let (kind, name) = address.split_once('.').unwrap();
        attributes_of(&self.exported(), kind, name).clone()
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        self.run(&["state", "list"])
            .expect(0)
            .stdout
            .lines()
            .map(str::to_owned)
            .collect()
    }

    pub(crate) fn exported(&self) -> Value {
        serde_json::from_str(&self.run(&["state", "export"]).expect(0).stdout).unwrap()
    }
}

pub(crate) fn instance_of<'a>(state: &'a Value, kind: &str, name: &str) -> &'a Value {
    let is = |r: &&Value| r["type"] == kind && r["name"] == name && r["mode"] == "managed";
    let resource = state["resources"].as_array().unwrap().iter().find(is);
    &resource.unwrap_or_else(|| panic!("{kind}.{name} is not in the state"))["instances"][0]
}

pub(crate) fn attributes_of<'a>(state: &'a Value, kind: &str, name: &str) -> &'a Value {
    &instance_of(state, kind, name)["attributes"]
}

/// Private state of an instance as the official framework writes it: JSON by the provider's keys.
pub(crate) fn private_of(instance: &Value) -> BTreeMap<String, Value> {
    use base64::Engine as _;
    let bytes = |text: &str| {
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap()
    };
    let Some(text) = instance["private"].as_str() else {
        return BTreeMap::new();
    };
    let keys: BTreeMap<String, String> = serde_json::from_slice(&bytes(text)).unwrap();
    keys.into_iter()
        .map(|(key, text)| (key, serde_json::from_slice(&bytes(&text)).unwrap()))
        .collect()
}

/// Output of `stage --plan-json`.
pub(crate) struct Plan(pub(crate) Value);

impl Plan {
    fn entry<'a>(&'a self, list: &str, address: &str) -> Option<&'a Value> {
        self.0[list]
            .as_array()
            .and_then(|all| all.iter().find(|r| r["address"] == address))
    }

    /// The `change` of one resource.
    pub(crate) fn change(&self, address: &str) -> &Value {
        let entry = self.entry("resource_changes", address);
        &entry.unwrap_or_else(|| {
            panic!(
                "{address} is not in the plan: {:#}",
                self.0["resource_changes"]
            )
        })["change"]
    }

    pub(crate) fn actions(&self, address: &str) -> Vec<&str> {
        self.change(address)["actions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a.as_str().unwrap())
            .collect()
    }

    pub(crate) fn reason(&self, address: &str) -> &Value {
        &self.entry("resource_changes", address).unwrap()["action_reason"]
    }

    /// The `change` in `resource_drift`, if there is one.
    pub(crate) fn drift(&self, address: &str) -> Option<&Value> {
        self.entry("resource_drift", address).map(|e| &e["change"])
    }
}

/// Line, from 1, that contains a text.
pub(crate) fn line(config: &str, text: &str) -> usize {
    1 + config
        .lines()
        .position(|l| l.contains(text))
        .unwrap_or_else(|| panic!("no line holds {text:?}"))
}
