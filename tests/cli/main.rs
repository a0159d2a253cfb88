//! The real binary, its words and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod adopted_states;
mod ahead;
mod backends;
mod bad_input;
mod by_hand;
mod certificates;
mod consumers;
mod deploys;
mod destroy_provisioners;
mod doctor;
mod encrypted;
mod evaluate;
mod files;
mod flag_sources;
mod fmt;
mod foreign_store;
mod graph;
mod import_by_hand;
mod install;
mod instances;
mod kept;
mod kept_checks;
mod lab;
mod language;
mod left_behind;
mod lines;
mod links;
mod looks;
mod lost_store;
mod metrics;
mod modules;
mod once;
mod orphaned_modules;
mod outputs;
#[path = "../../src/engine/state/backend/tests/parts.rs"]
mod parts;
mod pipeline;
mod pipes;
mod plan_json;
mod plugin_contents;
mod prompt;
mod provenance;
mod provider_hosts;
mod providers;
mod provisioner_processes;
mod provisioners;
mod read_only;
mod reasons;
mod remote;
mod renamed;
mod replaces;
mod same;
mod saved_plan_paths;
mod saved_plans;
mod seeds;
mod sensitive;
#[path = "../../src/engine/state/backend/tests/server.rs"]
mod server;
#[path = "../../src/engine/state/backend/tests/services.rs"]
mod services;
mod slow_backends;
mod state_file;
mod support;
mod targets;
mod tf_log;
mod trust;
mod trusted_commands;
mod usage;
mod usual;
mod validate;
mod verbs;
mod version;
mod without_end;
mod workspaces;
