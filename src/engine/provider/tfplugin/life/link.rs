//! The connection to a process, which breaks when the process ends, and the call that asks it to
//! end.

use super::schema::SchemaReply;
use crate::engine::plugin::life::{Farewell, Link};
use crate::engine::provider::channel::Channel;
use crate::engine::provider::tfplugin::wire::Protocol;
use proto::plugin::Empty;
use proto::plugin::grpc_controller_client::GrpcControllerClient;
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The way to a provider process.
#[derive(Debug)]
pub struct TfLink {
    /// To build clients on; give them [`MESSAGE_LIMIT`](super::MESSAGE_LIMIT).
    pub channel: Channel,
    pub protocol: Protocol,
    schema: Mutex<Option<SchemaReply>>,
    lost: CancellationToken,
}

impl TfLink {
    pub(super) fn new(
        channel: Channel,
        protocol: Protocol,
        schema: Option<SchemaReply>,
        lost: CancellationToken,
    ) -> Self {
        Self {
            channel,
            protocol,
            schema: Mutex::new(schema),
            lost,
        }
    }

    /// The schema that the launch fetched. It is large, so the first who asks gets it, and shares
    /// what he makes of it.
    #[must_use]
    pub fn take_schema(&self) -> Option<SchemaReply> {
        self.schema
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Link for TfLink {
    fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    fn farewell(&self) -> Farewell {
        let channel = self.channel.clone();
        // Providers end inside the handler of this call.
        Farewell::Call(Box::pin(async move {
            GrpcControllerClient::new(channel)
                .shutdown(Empty {})
                .await
                .ok();
        }))
    }
}
