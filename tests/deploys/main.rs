//! Tests of deploys of the bundled lab with the real binary: recovery after failures, order of
//! destroys, drift.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;

mod committed_groups;
mod content_trust;
mod destroy_order;
mod drift;
mod ephemeral;
mod ephemeral_values;
mod failed_operations;
mod groups;
mod member_dependents;
mod member_hashes;
mod mixed_order;
mod plantimestamp;
mod process_rollouts;
mod processes;
mod readiness;
mod reconcile;
mod reconcile_committed;
mod reconcile_objects;
mod server_addresses;

use bundled::lab::control::{self, Fault};
use std::path::PathBuf;
use support::Workspace;

/// Workspace with its own lab.
pub(crate) struct Lab {
    pub(crate) workspace: Workspace,
}

/// Head of every configuration. `file` is relative, because plugins run in the workspace.
pub(crate) const HEAD: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "lab.json"
}
"#;

impl Lab {
    pub(crate) fn new(resources: &str) -> Self {
        let lab = Self {
            workspace: Workspace::new(&[]),
        };
        lab.configure(resources);
        lab
    }

    pub(crate) fn configure(&self, resources: &str) {
        self.workspace
            .write("main.tf", &format!("{HEAD}{resources}"));
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.workspace.path().join("lab.json")
    }

    pub(crate) fn set_fault(&self, fault: Fault) -> String {
        control::set(&self.file(), fault).unwrap()
    }

    pub(crate) fn clear_faults(&self) {
        control::clear_all(&self.file()).unwrap();
    }

    /// Types and names of the objects in the lab.
    pub(crate) fn objects(&self) -> Vec<String> {
        let mut all: Vec<String> = control::objects(&self.file())
            .unwrap()
            .into_iter()
            .map(|o| format!("{}.{}", o.kind, o.name))
            .collect();
        all.sort();
        all
    }

    /// Addresses in the state.
    pub(crate) fn state(&self) -> Vec<String> {
        self.workspace
            .run(&["state", "list"])
            .expect(0)
            .stdout
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// Chain a → b → c, and an independent d.
pub(crate) const CHAIN: &str = r#"
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "b" {
  name     = "b"
  triggers = { a = lab_thing.a.id }
}
resource "lab_thing" "c" {
  name     = "c"
  triggers = { b = lab_thing.b.id }
}
resource "lab_thing" "d" { name = "d" }
"#;
