//! Common parts of gRPC dialects: a socket that signals its end, unary calls by path, and the
//! conversion of failed calls into errors. Keeps no state.

use super::channel::Channel;
use super::dialect::{self, ExitReporter};
use bytes::{Buf as _, Bytes};
use calls::{Method, ProviderError, RefusalCode};
use model::PluginId;
use model::causes;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

/// Connected socket of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Size of the write buffer in bytes: the maximum of one TLS record.
const WRITE_BUFFER: usize = 16 << 10;

/// Socket that signals its end.
pub(super) struct Watched {
    socket: BufWriter<Box<dyn Stream>>,
    lost: CancellationToken,
}

impl Watched {
    /// Wraps a socket; `lost` is cancelled when the connection has ended, whichever side closed it.
    pub(super) fn new(socket: Box<dyn Stream>, lost: CancellationToken) -> Self {
        let socket = BufWriter::with_capacity(WRITE_BUFFER, socket);
        Self { socket, lost }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.lost.cancel();
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buf.filled().len(), buf.remaining());
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        // A read without bytes into a non-empty buffer is the end of the stream.
        let ended = match &read {
            Poll::Ready(Ok(())) => room > 0 && buf.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.lost.cancel();
        }
        read
    }
}

// Not vectored: HTTP/2 then copies frames of up to a kilobyte into its own buffer and sends the
// requests of several calls in one write, which wakes the plugin once. It writes head and body of
// larger frames separately before a flush; this buffer joins them.
impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Returns true if the status was created locally because no answer came.
pub(super) fn is_transport(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Cancelled => true,
        // A status with a source was created by the local transport, not sent by the plugin.
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// Formats a status with its message and cause.
pub(super) fn status_text(status: &Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => causes::told(source),
        None => format!("{}: {}", status.code(), status.message()),
    }
}

/// Returns the text for a message rejected for its size; `limit` is in bytes.
pub(super) fn too_large(status: &Status, limit: usize) -> Option<String> {
    // tonic has no error type for this, so match the text.
    let refused = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted)
        && (status.message().contains("message length too large")
            || status.message().contains("message larger than max"));
    refused.then(|| {
        format!(
            "the message exceeds the limit of {} MiB ({})",
            limit >> 20,
            status.message()
        )
    })
}

/// Encodes one message into the buffer of a call.
type Encode = Box<dyn FnOnce(&mut EncodeBuf<'_>) -> Result<(), Status> + Send + Sync>;

/// Codec of all unary calls. With `ProstCodec`, the compiler would generate the client once for
/// each method, a tenth of the code of this crate.
#[derive(Clone, Copy, Default)]
struct MessageCodec;

impl Codec for MessageCodec {
    type Encode = Encode;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for MessageCodec {
    type Item = Encode;
    type Error = Status;

    fn encode(&mut self, encode: Encode, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        encode(buffer)
    }
}

impl Decoder for MessageCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// Makes a unary call.
///
/// # Errors
/// The transport failed, the plugin answered with an error status, or its answer is not a message
/// of this type (`Internal`, "failed to decode Protobuf message: …").
pub(super) async fn send<Q, A>(
    grpc: &Grpc<Channel>,
    path: &'static str,
    request: Q,
) -> Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default,
{
    let encode: Encode = Box::new(move |buffer| {
        request
            .encode(buffer)
            .map_err(|e| Status::internal(e.to_string()))
    });
    let answer = send_encoded(grpc, path, encode).await?;
    A::decode(answer).map_err(|e| Status::internal(e.to_string()))
}

async fn send_encoded(
    grpc: &Grpc<Channel>,
    path: &'static str,
    encode: Encode,
) -> Result<Bytes, Status> {
    let mut grpc = grpc.clone();
    grpc.ready().await.map_err(Status::from_error)?;
    let path = PathAndQuery::from_static(path);
    let answer = grpc.unary(Request::new(encode), path, MessageCodec).await?;
    Ok(answer.into_inner())
}

/// Converts an error status into the error of a call; `limit` is the maximum message size in bytes.
pub(super) async fn explain(
    plugin: PluginId,
    method: Method,
    status: &Status,
    limit: usize,
    obituary: &Arc<dyn ExitReporter>,
) -> ProviderError {
    // Checked first: after a crash the status code says nothing.
    if is_connection_lost(status) {
        return dialect::lost_connection_error(
            &**obituary,
            plugin,
            method,
            status_with_causes(status),
        )
        .await;
    }
    if let Some(what) = too_large(status, limit) {
        return ProviderError::Undecodable {
            plugin,
            method,
            what,
        };
    }
    match status.code() {
        Code::Unimplemented => ProviderError::Unsupported { plugin, method },
        // tonic has no code for an invalid message.
        Code::Internal if status.message().contains("failed to decode") => {
            ProviderError::Undecodable {
                plugin,
                method,
                what: status.message().to_owned(),
            }
        }
        code => ProviderError::Refused {
            plugin,
            method,
            code: RefusalCode::Grpc(code),
            message: status.message().to_owned(),
        },
    }
}

/// Returns true if no answer came: the status was created locally, from a broken connection. A
/// running provider may answer with the same code about its own backend, but without a source.
fn is_connection_lost(status: &Status) -> bool {
    let broken = matches!(
        status.code(),
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled
    );
    broken && std::error::Error::source(status).is_some()
}

/// Formats a status with all its causes.
fn status_with_causes(status: &Status) -> String {
    causes::append_causes(status.message().to_owned(), status)
}
