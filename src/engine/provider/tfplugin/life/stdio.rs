//! The plugin's own record of what it printed: Go plugins point their standard streams at pipes of
//! their own after the handshake and send what comes by a gRPC stream. Not reading it would block a
//! plugin that talks much.

use crate::engine::plugin::Feed;
use crate::engine::provider::channel::Channel;
use crate::engine::words::LogStream;
use proto::plugin::grpc_stdio_client::GrpcStdioClient;
use proto::plugin::stdio_data::Channel as Kind;

/// Reads the stream to its end, which is that of the process. Plugins that have none refuse at
/// once.
pub(super) async fn follow(channel: Channel, feed: Feed) {
    let Ok(reply) = GrpcStdioClient::new(channel).stream_stdio(()).await else {
        return;
    };
    let mut stream = reply.into_inner();
    let (mut out, mut err) = (feed.pieces(LogStream::Stdio), feed.pieces(LogStream::Stdio));
    // Bounded by the life of the connection.
    while let Ok(Some(message)) = feed.waiting_for(stream.message()).await {
        let pieces = if message.channel() == Kind::Stderr {
            &mut err
        } else {
            &mut out
        };
        pieces.feed(&message.data);
    }
    // What is left without a line end, in this order.
    drop((out, err));
}
