//! Tests of the typed layer, through the testing kit: in process and over the real protocol.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod afternoon;
mod bluelink;
mod context;
mod ephemeral;
mod fields;
mod functions;
mod identity;
mod notes;
mod partial;
mod plan;
mod s4;
mod store;

#[allow(dead_code, reason = "its main is not called")]
#[path = "../../examples/notes.rs"]
mod notes_provider;
