//! Connections of the host: accepted on the unix socket, through TLS where the host asked for it.
//! Owns nothing beyond the accept loop, which ends with its token.

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

/// A TLS handshake that takes longer than this is given up; the host opens a new connection if it
/// wants one.
const TLS_DEADLINE: Duration = Duration::from_secs(20);
/// Connections accepted and not yet taken by the server; a host has one or two.
const BACKLOG: usize = 8;

/// One connection of the host, plain or encrypted.
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

/// Accepts until `stop`: handshakes run side by side, so that a stuck one blocks nobody.
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
                biased; // the end first: a flood of connections must not hold it up
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
    // The receiver is gone only when the server has ended, and with it any use of this connection.
    let _server_ended = sender.send(Ok(connection)).await;
}
