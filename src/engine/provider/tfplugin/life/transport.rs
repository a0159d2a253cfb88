//! The connection to a plugin: a socket, TLS over it where the plugin speaks it, gRPC over that.
//! Made once for a process; a broken one is never made anew, since what it broke from is gone.

use super::failure::TfFailure;
use crate::engine::plugin::{ITS_ERROR, StartFailure};
use hyper_util::rt::TokioIo;
use proto::health::HealthCheckRequest;
use proto::health::health_client::HealthClient;
use rustls::ClientConfig;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Channel, Endpoint, Uri};
use wire::Address;

/// Window of a stream and of the connection: schemas of tens of megabytes in few round trips.
const WINDOW: u32 = 16 << 20;
/// Largest message either way. What a client is built with; the largest schema seen has 30 MB.
pub const MESSAGE_LIMIT: usize = 256 << 20;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects, and makes sure that somebody answers. Waits without a limit: the caller has the
/// deadline. `lost` is cancelled when the connection is over, whoever closed it.
pub(super) async fn connect(
    address: &Address,
    tls: Option<Arc<ClientConfig>>,
    lost: CancellationToken,
) -> Result<Channel, StartFailure> {
    let encrypted = tls.is_some();
    let nobody = |e: io::Error| StartFailure::Connect {
        address: address.to_string(),
        reason: format!("{e}; {ITS_ERROR}"),
    };
    let hung_up = |reason: String| match encrypted {
        true => TfFailure::Tls(reason).into(),
        false => StartFailure::Connect {
            address: address.to_string(),
            reason: format!("{reason}; {ITS_ERROR}"),
        },
    };
    let socket: Box<dyn Stream> = match address {
        Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(nobody)?),
        Address::Tcp(tcp) => {
            let stream = TcpStream::connect(tcp).await.map_err(nobody)?;
            stream.set_nodelay(true).map_err(nobody)?;
            Box::new(stream)
        }
    };
    let socket = Watched { socket, lost };
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => Box::new(
            wire::tls::connect(config, socket)
                .await
                .map_err(TfFailure::from)?,
        ),
    };
    // Who refuses our certificate says so only after TLS has been agreed on, by closing.
    let channel = channel(stream)
        .await
        .map_err(|e| hung_up(format!("the plugin hung up: {}", describe(&e))))?;
    greet(&channel).await.map_err(hung_up)?;
    Ok(channel)
}

/// A socket that tells of its end.
struct Watched {
    socket: Box<dyn Stream>,
    lost: CancellationToken,
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

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }
    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

async fn channel(stream: Box<dyn Stream>) -> Result<Channel, tonic::transport::Error> {
    let once = Arc::new(Mutex::new(Some(TokioIo::new(stream))));
    let connector = tower::service_fn(move |_: Uri| {
        let stream = once.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            stream.ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the connection to the plugin is lost",
                )
            })
        }
    });
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .connect_with_connector(connector)
        .await
}

/// With TLS 1.3 a refusal of our certificate shows only at the first answer, so one is waited for.
/// Any answer will do: not every plugin knows its health.
async fn greet(channel: &Channel) -> Result<(), String> {
    let request = HealthCheckRequest {
        service: "plugin".to_owned(),
    };
    match HealthClient::new(channel.clone()).check(request).await {
        Ok(_) => Ok(()),
        Err(status) if is_transport(&status) => {
            Err(format!("the plugin hung up: {}", status_text(&status)))
        }
        Err(_) => Ok(()),
    }
}

/// Whether a status was made on our side since no answer came.
pub(super) fn is_transport(status: &tonic::Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Cancelled => true,
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// A status in words: its message, and what caused it.
pub(super) fn status_text(status: &tonic::Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => describe(source),
        None => format!("{}: {}", status.code(), status.message()),
    }
}

fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// A message that was not taken for its size, in words.
pub(in super::super) fn too_large(status: &tonic::Status) -> Option<String> {
    let refused = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted)
        && status.message().contains("message length too large");
    refused.then(|| {
        format!(
            "the message is larger than the {} MiB that are taken ({})",
            MESSAGE_LIMIT >> 20,
            status.message()
        )
    })
}

/// An answer that says no, in words.
pub(super) fn refusal(status: &tonic::Status) -> String {
    format!("it answered {:?}: {}", status.code(), status.message())
}
