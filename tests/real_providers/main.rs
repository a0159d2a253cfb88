//! Tests of unmodified providers, and of providers on the official SDKs, through the real binary:
//! terraform-provider-time, and those of `tests/interop` (protocol 6 on terraform-plugin-framework,
//! protocol 5 on terraform-plugin-sdk/v2). `FLIGHTDECK_TEST_GO_BIN` names the output directory of
//! `tests/interop/build`; `FLIGHTDECK_TEST_MIRROR` a filesystem mirror whose providers are all
//! tried. Tests of missing ones are skipped.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "shared with the other tests of the binary")]
#[path = "../cli/support.rs"]
mod support;

mod brittle;
mod functions;
mod identity;
mod legacy;
mod legacy_state;
mod mirror;
mod nest;
mod place;
mod records;
mod speed;
mod time;
mod vault;
mod without_objects;
