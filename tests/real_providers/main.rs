//! Tests of unmodified providers, and of providers on the official SDKs, through the real binary:
//! terraform-provider-time, and those of `tests/interop` (protocol 6 on terraform-plugin-framework,
//! protocol 5 on terraform-plugin-sdk/v2). `FLIGHTDECK_TEST_GO_BIN` names the output directory of
//! `tests/interop/build`; `FLIGHTDECK_TEST_MIRROR` a filesystem mirror whose providers are all
//! tried. `FLIGHTDECK_TOFU` and `FLIGHTDECK_TERRAFORM` name unmodified hosts for the example
//! provider of the SDK. Tests of missing ones are skipped.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "shared with the other tests of the binary")]
#[path = "../cli/support.rs"]
mod support;

#[allow(dead_code, reason = "shared with the tests of backends")]
#[path = "../../crates/state/src/backend/tests/parts.rs"]
mod parts;

mod benchmark_types;
mod configured_functions;
mod conformance;
mod framework_resource;
mod functions_data_ephemeral;
mod groups;
mod identity;
mod legacy_protocol_5;
mod legacy_state;
mod mirror_examples;
mod nested_attributes;
mod partial_failures;
mod provider_workspace;
mod sdk_example;
mod sensitive_and_write_only;
mod time_provider;
mod type_overlays;
