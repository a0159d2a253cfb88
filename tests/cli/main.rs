//! The real binary, its words and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod bad_input;
mod by_hand;
mod deploys;
mod files;
mod fmt;
mod foreign_store;
mod import_by_hand;
mod instances;
mod kept;
mod lab;
mod language;
mod looks;
mod lost_store;
mod once;
mod outputs;
mod prompt;
mod provisioners;
mod reasons;
mod remote;
mod replaces;
mod same;
mod sensitive;
mod support;
mod targets;
mod trust;
mod usage;
mod usual;
mod validate;
mod without_end;
