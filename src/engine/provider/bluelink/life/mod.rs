//! Lifecycle of Bluelink plugins: the process receives a port of the host, registers there, is
//! called back, and returns its namespace (a transformer its transform name). It is stopped with
//! SIGTERM. Owns nothing; each launch owns its parts.

mod caller;
mod failure;
mod launch;
mod link;
mod naming;
mod peer;
mod service;

pub(super) use launch::{BluelinkLife, MESSAGE_LIMIT, REQUEST_LIMIT};
pub(super) use link::BluelinkLink;
