//! What a launch ends in when it goes well: the way to call the process, and word of its end. Made by the launch, ended by
//! the supervisor, held by whoever calls.

use super::schema::SchemaReply;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

/// A plugin that can be called. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connection {
    /// To build clients on; give them [`super::MESSAGE_LIMIT`].
    pub channel: Channel,
    /// 5 or 6.
    pub protocol: u32,
    /// Which process of this plugin it is, counted from 1 over all launches. An incident names it.
    pub generation: u64,
    pub pid: Option<u32>,
    schema: Arc<Mutex<Option<SchemaReply>>>,
    /// Cancelled when the connection is over, which may be before the process is.
    pub(super) lost: CancellationToken,
    ended: CancellationToken,
}

impl Connection {
    pub(super) fn new(
        channel: Channel,
        lost: CancellationToken,
        protocol: u32,
        generation: u64,
        pid: Option<u32>,
        schema: Option<SchemaReply>,
    ) -> Self {
        Self { channel, protocol, generation, pid, schema: Arc::new(Mutex::new(schema)), lost, ended: CancellationToken::new() }
    }

    /// The schema that the launch fetched. It is large, so the first who asks gets it, and shares what he makes of it.
    #[must_use]
    pub fn take_schema(&self) -> Option<SchemaReply> {
        self.schema.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Cancelled when the process has ended, was stopped or crashed.
    #[must_use]
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}
