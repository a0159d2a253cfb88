//! The way to a Bluelink plugin: its connection, and by what it knows that it is we who call.

use crate::engine::plugin::life::{Farewell, Link};
use crate::engine::provider::channel::Channel;
use tokio_util::sync::CancellationToken;

/// The way to a plugin's process.
#[derive(Debug)]
pub(in super::super) struct BluelinkLink {
    pub(in super::super) channel: Channel,
    /// What it was told when it registered; it answers nobody else.
    pub(in super::super) host_id: String,
    /// `bluelink/aws`.
    pub(in super::super) id: String,
    /// As it says when it registers.
    pub(in super::super) version: String,
    pub(super) lost: CancellationToken,
    /// Cancelled when the plugin deregisters.
    pub(in super::super) deregistered: CancellationToken,
}

impl Link for BluelinkLink {
    fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    fn lost_by(&self) -> &'static str {
        match self.deregistered.is_cancelled() {
            true => "deregistered",
            false => "closed its connection",
        }
    }

    fn farewell(&self) -> Farewell {
        Farewell::Terminate
    }
}
