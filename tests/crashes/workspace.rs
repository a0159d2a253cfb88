//! Workspace that is deployed over and over: initial objects, wanted objects, and the contents of
//! the lab and the store.

use crate::backend::{BackendKind, StateLocation};
use crate::support::Workspace;
use bundled::lab::{Cloud, LabFile};
use model::DeployRecord;
use model::settings::Access;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use store::Store;
use store::records::{RolloutRecord, State, UnknownOutcome};

const HEAD: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file      = "lab.json"
  create_ms = 1
  update_ms = 2
  delete_ms = 1
}
"#;

/// Resources of both versions: updated in place, replaced, replaced by creating first, updated in a
/// module.
const BOTH: &str = r#"
resource "lab_thing" "kept" {
  count = 12
  name  = "kept-${count.index}"
  kind  = "VERSION"
}
resource "lab_thing" "swap" {
  count    = 8
  name     = "swap-${count.index}"
  kind     = "VERSION"
  triggers = { version = "VERSION", on = lab_thing.kept[count.index].id }
}
resource "lab_thing" "turn" {
  count    = 5
  name     = "turn-${count.index}"
  kind     = "VERSION"
  triggers = { version = "VERSION" }
  lifecycle {
    create_before_destroy = true
  }
}
module "inner" {
  source  = "./inner"
  count   = 5
  number  = count.index
  version_of_it = "VERSION"
}
"#;

const INNER: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
variable "number" { type = number }
variable "version_of_it" { type = string }
resource "lab_thing" "one" {
  name = "inner-${var.number}"
  kind = var.version_of_it
}
"#;

/// Rolling updates of some of them, among the other operations.
const GROUPS: &str = r#"
group "kept" {
  instance = lab_thing.kept
  update {
    batch = 4
  }
}
group "turn" {
  instance = lab_thing.turn
}
"#;

/// Resources that the deploy destroys.
const GONE: &str = r#"
resource "lab_thing" "gone" {
  for_each = toset(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])
  name     = "gone-${each.key}"
  kind     = "v1"
}
"#;

/// Resources that the deploy creates, some of them after the others.
const NEW: &str = r#"
resource "lab_thing" "new" {
  count = 10
  name  = "new-${count.index}"
  kind  = "v2"
}
resource "lab_thing" "leaf" {
  count    = 5
  name     = "leaf-${count.index}"
  kind     = "v2"
  triggers = { on = lab_thing.new[count.index].id, and = lab_thing.swap[count.index].id }
}
resource "lab_bucket" "box" {
  for_each = toset(["a", "b", "c", "d", "e"])
  name     = "box-${each.key}"
}
"#;

/// Number of operations of the attacked deploy.
pub(crate) const OPERATIONS: usize = 60;
/// Number of objects at the end.
pub(crate) const WANTED: usize = 50;

/// Workspace in its first version, ready for the deploy of the second.
pub(crate) struct Template {
    workspace: Workspace,
    homes: BackendKind,
}

impl Template {
    pub(crate) fn new(homes: BackendKind) -> Self {
        let files = [("inner/main.tf", INNER), ("groups.flightdeck.hcl", GROUPS)];
        let workspace = Workspace::new(&files);
        workspace.write(
            "main.tf",
            &format!("{HEAD}{}{GONE}", BOTH.replace("VERSION", "v1")),
        );
        workspace.run(&["deploy", "--auto-approve"]).expect(0);
        workspace.write(
            "main.tf",
            &format!("{HEAD}{}{NEW}", BOTH.replace("VERSION", "v2")),
        );
        Self { workspace, homes }
    }

    /// Copies the template to a workspace of its own.
    pub(crate) fn copy(&self) -> AttackedWorkspace {
        let workspace = Workspace::new(&[]);
        copy(&self.workspace.path(), &workspace.path());
        // The key of the user, who owns both stores.
        copy(&self.workspace.state_dir(), &workspace.state_dir());
        let home = self.homes.migrate(&workspace);
        AttackedWorkspace { workspace, home }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One copy of the template and its lab.
pub(crate) struct AttackedWorkspace {
    pub(crate) workspace: Workspace,
    pub(crate) home: StateLocation,
}

/// Object in the lab.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LabObject {
    pub(crate) address: String,
    /// `v1` or `v2`; `v2` for objects without a version.
    pub(crate) version: String,
    pub(crate) attributes: Value,
}

/// flightdeck's records.
pub(crate) struct Records {
    pub(crate) state: State,
    pub(crate) unknown: Vec<UnknownOutcome>,
    /// The attacked deploy, unless the attack came before it began.
    pub(crate) deploy: Option<DeployRecord>,
    /// Processes whose lock was taken over.
    pub(crate) taken_over: Vec<u32>,
    /// Rollouts of the attacked deploy, oldest first.
    pub(crate) rollouts: Vec<RolloutRecord>,
}

impl AttackedWorkspace {
    /// Objects in the lab by id.
    pub(crate) fn lab(&self) -> BTreeMap<String, LabObject> {
        let cloud = LabFile::new(self.workspace.path().join("lab.json"))
            .read(Cloud::clone)
            .unwrap();
        let real = |kind: &str, name: &str, attributes: serde_json::Map<String, Value>| LabObject {
            address: address(kind, name),
            version: attributes
                .get("kind")
                .and_then(Value::as_str)
                .unwrap_or("v2")
                .to_owned(),
            attributes: Value::Object(attributes),
        };
        cloud
            .objects
            .into_iter()
            .map(|(id, o)| (id, real(&o.kind, &o.name, o.attributes)))
            .collect()
    }

    /// Reads the store with read-only access.
    pub(crate) fn known(&self) -> Records {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let store = Store::open(&self.workspace.path(), Access::ReadOnly).unwrap();
        runtime.block_on(async {
            Records {
                state: store.state().await.unwrap(),
                unknown: store.unknown_outcomes().await.unwrap(),
                deploy: store.deploy_record(2).await.unwrap(),
                taken_over: store
                    .takeovers()
                    .await
                    .unwrap()
                    .into_iter()
                    .map(|(_, before, _)| before.pid)
                    .collect(),
                rollouts: store
                    .rollouts(None, 100)
                    .await
                    .unwrap()
                    .into_iter()
                    .rev()
                    .filter(|rollout| rollout.deploy == 2)
                    .collect(),
            }
        })
    }

    /// Processes that work in this workspace.
    pub(crate) fn processes(&self) -> BTreeSet<PathBuf> {
        let here = self.workspace.path().canonicalize().unwrap();
        let all = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|e| e.path());
        all.filter(|p| std::fs::read_link(p.join("cwd")).is_ok_and(|dir| dir == here))
            .collect()
    }
}

/// Address of a lab object, from its name.
fn address(kind: &str, name: &str) -> String {
    let (resource, key) = name.split_once('-').unwrap();
    match resource {
        "inner" => format!("module.inner[{key}].{kind}.one"),
        "gone" | "box" => format!("{kind}.{resource}[{key:?}]"),
        _ => format!("{kind}.{resource}[{key}]"),
    }
}
