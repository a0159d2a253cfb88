//! How a Bluelink plugin lives: it is told a port of ours, registers there, is called back, and
//! says its namespace (a transformer: its transform name) as the proof that it works. It is asked
//! to end by SIGTERM. Owns nothing; a launch owns what is made here.

mod caller;
mod failure;
mod launch;
mod link;
mod naming;
mod peer;
mod service;

pub(super) use launch::{BluelinkLife, MESSAGE_LIMIT, REQUEST_LIMIT};
pub(super) use link::BluelinkLink;
