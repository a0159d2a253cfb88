//! Bluelink's plugins through the real binary: discovered, launched, registered, staged with and
//! deployed with. The plugin is one of ours on the wire (`plugin/`), with the habits of those that
//! are built with the official framework.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod bench;
mod deregistered;
mod discovery;
mod drift;
mod failing;
mod functions;
mod gate;
mod installed;
mod killed;
mod launches;
mod links;
mod links_failing;
mod links_moved;
mod links_refused;
mod live;
mod locks;
mod renewals;
mod shipped;
mod stability;
mod stories;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "what these tests do not need of it")]
mod support;
mod transformers;
mod transformers_live;
