//! Reads the output that a plugin sends by gRPC: after the handshake, Go plugins redirect their
//! standard streams to a gRPC stream. Unread output would block a plugin that writes much.

use crate::channel::Channel;
use model::LogStream;
use plugin::LogInput;
use proto::plugin::grpc_stdio_client::GrpcStdioClient;
use proto::plugin::stdio_data::Channel as Kind;

/// Reads the stream until the process ends. Plugins without this service return an error at once.
pub(super) async fn read_stream(channel: Channel, feed: LogInput) {
    let Ok(reply) = GrpcStdioClient::new(channel).stream_stdio(()).await else {
        return;
    };
    let mut stream = reply.into_inner();
    // Each stream has its own partial line.
    let (mut out, mut err) = (
        feed.line_assembler(LogStream::Stdio),
        feed.line_assembler(LogStream::Stdio),
    );
    // Ends with the connection.
    while let Ok(Some(message)) = feed.await_input(stream.message()).await {
        let pieces = if message.channel() == Kind::Stderr {
            &mut err
        } else {
            &mut out
        };
        pieces.feed(&message.data);
    }
    // Emits the rests without a line end, standard output first.
    drop((out, err));
}
