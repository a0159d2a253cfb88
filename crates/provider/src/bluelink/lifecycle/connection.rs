//! Connection to a Bluelink plugin, with the host id that authenticates calls.

use crate::channel::Channel;
use plugin::lifecycle::{EndRequest, Link};
use tokio_util::sync::CancellationToken;

/// Connection to a plugin process.
#[derive(Debug)]
pub(in super::super) struct BluelinkLink {
    pub(in super::super) channel: Channel,
    /// Host id from the registration; the plugin refuses calls with another one.
    pub(in super::super) host_id: String,
    /// `bluelink/aws`.
    pub(in super::super) id: String,
    /// Version reported at the registration.
    pub(in super::super) version: String,
    pub(super) lost: CancellationToken,
    /// Cancelled when the plugin deregisters.
    pub(in super::super) deregistered: CancellationToken,
}

impl Link for BluelinkLink {
    fn lost_token(&self) -> CancellationToken {
        self.lost.clone()
    }

    fn loss_cause(&self) -> &'static str {
        match self.deregistered.is_cancelled() {
            true => "deregistered",
            false => "closed its connection",
        }
    }

    fn farewell(&self) -> EndRequest {
        EndRequest::Terminate
    }
}
