//! Attacks of `cargo xtask attack` that are tables of neighbours: each row changes one thing that a
//! decision, a mark, a signature or a limit must notice.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;

mod clock_steps;
mod clones_with_a_store;
mod edited_plans;
mod endless_overlays;
mod trust_by_content;

/// Head of a configuration with the bundled lab, whose objects are in `cloud.json`.
pub(crate) const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"cloud.json\"\n}\n";
