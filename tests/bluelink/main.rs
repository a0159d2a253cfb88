//! Tests of Bluelink plugins through the real binary: search, launch, registration, stage and
//! deploy. The fake plugin (`plugin/`) behaves like plugins built with the official framework.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod call_failures;
mod conformance;
mod deregistered;
mod drift;
mod functions;
mod host_requests;
mod installed_providers;
mod killed_host;
mod launches;
mod links;
mod links_failing;
mod links_moved;
mod links_refused;
mod locks;
mod plugin_search;
mod process_replacement;
mod released_providers;
mod removed_plugin;
mod resource_lifecycle;
mod running_deploy;
mod sdk_example;
mod stability;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "a shared module, of which these tests use a part")]
mod support;
mod transformers;
mod transformers_supervision;
mod workspace;
