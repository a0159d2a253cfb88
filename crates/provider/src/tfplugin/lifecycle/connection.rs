//! Connection to a provider process, with the call that asks it to end.

use super::schema::SchemaReply;
use crate::channel::Channel;
use crate::tfplugin::wire::Protocol;
use plugin::lifecycle::{EndRequest, Link};
use proto::plugin::Empty;
use proto::plugin::grpc_controller_client::GrpcControllerClient;
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Connection to a provider process.
#[derive(Debug)]
pub struct TfLink {
    /// For creating clients; set [`MESSAGE_LIMIT`](super::MESSAGE_LIMIT) on them.
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

    /// Takes the schema that the launch fetched. It is large, so only the first caller gets it; the
    /// caller shares the converted form.
    #[must_use]
    pub fn take_schema(&self) -> Option<SchemaReply> {
        self.schema
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Link for TfLink {
    fn lost_token(&self) -> CancellationToken {
        self.lost.clone()
    }

    fn farewell(&self) -> EndRequest {
        let channel = self.channel.clone();
        // Providers exit inside the handler of this call, so an error is expected.
        EndRequest::Call(Box::pin(async move {
            GrpcControllerClient::new(channel)
                .shutdown(Empty {})
                .await
                .ok();
        }))
    }
}
