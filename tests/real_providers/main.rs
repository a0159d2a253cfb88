//! Unmodified providers and providers on the official SDKs through the real binary:
//! terraform-provider-time, and those of `tests/interop` (protocol 6 on terraform-plugin-framework,
//! protocol 5 on terraform-plugin-sdk/v2). `FLIGHTDECK_TEST_GO_BIN` names the folder that
//! `tests/interop/build` filled; `FLIGHTDECK_TEST_MIRROR` a filesystem mirror whose every provider
//! is tried. What is not named is skipped.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

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
