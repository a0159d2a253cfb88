//! Connections of the host: accepts them on the Unix socket, with TLS if the host requested it.
//! Owns the accept loop, which ends when its cancellation token is cancelled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::server::Connected;

/// Time limit of a TLS handshake; the host can open a new connection.
const TLS_DEADLINE: Duration = Duration::from_secs(20);
/// Accepted connections that wait for the server; a host opens one or two.
const BACKLOG: usize = 8;

/// Connection of the host, plain or encrypted.
pub(crate) enum Connection {
    Plain(UnixStream),
    Tls(Box<TlsStream<UnixStream>>),
}

impl Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Connection::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Connection::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Connection::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Connection::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// Accepts connections until `stop`. Handshakes run concurrently, so that a slow one blocks no
/// other.
pub(crate) fn accept(
    listener: UnixListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) -> mpsc::Receiver<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let handshakes = tracker.clone();
    tracker.spawn(async move {
        loop {
            let accepted = tokio::select! {
                biased; // the end has priority, even during a flood of connections
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (sender, tls, stop) = (sender.clone(), tls.clone(), stop.clone());
                    handshakes.spawn(async move {
                        tokio::select! {
                            biased;
                            () = stop.cancelled() => {}
                            () = hand_over(stream, tls, sender) => {}
                        }
                    });
                }
                Err(error) => {
                    // The error can persist (such as too many open files), so the loop must not
                    // spin.
                    crate::log::warn("cannot accept a connection", &[("error", &error)]);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    });
    receiver
}

async fn hand_over(
    stream: UnixStream,
    tls: Option<Arc<rustls::ServerConfig>>,
    sender: mpsc::Sender<io::Result<Connection>>,
) {
    let connection = match tls {
        None => Connection::Plain(stream),
        Some(config) => {
            match tokio::time::timeout(TLS_DEADLINE, wire::tls::accept(config, stream)).await {
                Ok(Ok(stream)) => Connection::Tls(Box::new(stream)),
                Ok(Err(error)) => {
                    return crate::log::warn(
                        "a connection was refused in its TLS handshake",
                        &[("error", &error)],
                    );
                }
                Err(_) => {
                    return crate::log::warn(
                        "a TLS handshake took too long",
                        &[("limit_s", &TLS_DEADLINE.as_secs())],
                    );
                }
            }
        }
    };
    // The receiver is dropped only when the server has ended.
    let _server_ended = sender.send(Ok(connection)).await;
}
