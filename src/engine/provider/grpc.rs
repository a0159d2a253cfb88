//! What dialects that speak gRPC share: a socket that tells of its end, a call by its path, and
//! what the transport says of one that failed, in words. Owns nothing.

use super::channel::Channel;
use super::dialect::{self, Obituary};
use crate::engine::calls::{Method, ProviderError};
use crate::engine::causes;
use crate::engine::words::PluginId;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// A way to a process, whatever it is.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What is written together at most, in bytes: as much as one record of TLS holds.
const TOGETHER: usize = 16 << 10;

/// A socket that tells of its end.
pub(super) struct Watched {
    socket: BufWriter<Box<dyn Stream>>,
    lost: CancellationToken,
}

impl Watched {
    /// `lost` is cancelled when the connection is over, whoever closed it.
    pub(super) fn new(socket: Box<dyn Stream>, lost: CancellationToken) -> Self {
        let socket = BufWriter::with_capacity(TOGETHER, socket);
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

// Not vectored: then HTTP/2 puts frames of up to a kilobyte into its own buffer, and the requests
// of several calls into one write, which wakes the plugin once. Of larger ones it writes head and
// rest apart, and flushes then: they are put together here.
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

/// Whether a status was made on our side since no answer came.
pub(super) fn is_transport(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Cancelled => true,
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// A status in words: its message, and what caused it.
pub(super) fn status_text(status: &Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => causes::told(source),
        None => format!("{}: {}", status.code(), status.message()),
    }
}

/// A message that was not taken for its size, in words; `limit` in bytes.
pub(super) fn too_large(status: &Status, limit: usize) -> Option<String> {
    let refused = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted)
        && (status.message().contains("message length too large")
            || status.message().contains("message larger than max"));
    refused.then(|| {
        format!(
            "the message is larger than the {} MiB that are taken ({})",
            limit >> 20,
            status.message()
        )
    })
}

/// Makes a call.
///
/// # Errors
/// The transport's, or the status that was answered.
pub(super) async fn send<Q, A>(
    grpc: &Grpc<Channel>,
    path: &'static str,
    request: Q,
) -> Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut grpc = grpc.clone();
    grpc.ready().await.map_err(Status::from_error)?;
    let codec = ProstCodec::<Q, A>::default();
    Ok(grpc
        .unary(
            Request::new(request),
            PathAndQuery::from_static(path),
            codec,
        )
        .await?
        .into_inner())
}

/// What became of a call that has a status for an answer; messages of more than `limit` bytes are
/// not taken.
pub(super) async fn explain(
    plugin: PluginId,
    method: Method,
    status: &Status,
    limit: usize,
    obituary: &Arc<dyn Obituary>,
) -> ProviderError {
    if lost(status) {
        return dialect::lost(&**obituary, plugin, method, words(status)).await;
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
            code: format!("{code:?}"),
            message: status.message().to_owned(),
        },
    }
}

/// Whether no answer came: the status was made on our side, from a broken connection. A provider
/// may say the same words of what it has behind it, and live.
fn lost(status: &Status) -> bool {
    let broken = matches!(
        status.code(),
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled
    );
    broken && std::error::Error::source(status).is_some()
}

/// A status with all of its causes.
fn words(status: &Status) -> String {
    causes::after(status.message().to_owned(), status)
}
