//! The plugin's own record of what it printed: Go plugins point their standard streams at pipes of their own after
//! the handshake and send what comes by a gRPC stream. Not reading it would block a plugin that talks much.

use super::logs::{LineAssembler, Logs};
use super::record::LogStream;
use proto::plugin::grpc_stdio_client::GrpcStdioClient;
use proto::plugin::stdio_data::Channel as Kind;
use std::sync::Arc;
use tonic::transport::Channel;

/// Reads the stream to its end, which is that of the process. Plugins that have none refuse at once.
pub(super) async fn follow(channel: Channel, logs: Arc<Logs>) {
    let Ok(reply) = GrpcStdioClient::new(channel).stream_stdio(()).await else { return };
    let mut stream = reply.into_inner();
    let (mut out, mut err) = (LineAssembler::default(), LineAssembler::default());
    // Bounded by the life of the connection.
    while let Ok(Some(message)) = logs.waiting_for(stream.message()).await {
        let assembler = if message.channel() == Kind::Stderr { &mut err } else { &mut out };
        assembler.feed(&message.data, |line| logs.take(LogStream::Stdio, line));
    }
    out.finish(|line| logs.take(LogStream::Stdio, line));
    err.finish(|line| logs.take(LogStream::Stdio, line));
}
