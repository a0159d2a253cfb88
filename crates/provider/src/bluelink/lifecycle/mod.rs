//! Lifecycle of Bluelink plugins: the process receives a port of the host, registers there, is
//! called back, and returns its namespace (a transformer its transform name). It is stopped with
//! SIGTERM. Owns nothing; each launch owns its parts.

mod caller;
mod connection;
mod failure;
mod launch;
mod peer;
mod readiness;
mod registration_server;

pub(super) use connection::BluelinkLink;
pub(super) use launch::{BluelinkLifecycle, MESSAGE_LIMIT, REQUEST_LIMIT};
