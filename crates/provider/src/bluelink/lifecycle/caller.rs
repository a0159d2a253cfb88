//! Connections to the registration service, each with the result of its verification.

use super::peer;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::server::{Connected, TcpIncoming};

/// Connection to the registration service.
pub(super) struct Caller {
    stream: TcpStream,
    verified: Verified,
}

/// True if the launched process made the connection. Any process of this machine can connect to the
/// port, so every call is checked against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verified(pub(super) bool);

/// Returns the verified connections of a listener.
pub(super) fn connections(
    listener: TcpListener,
    pid: u32,
) -> impl Stream<Item = io::Result<Caller>> {
    // A reply is several small writes. With Nagle's algorithm the last of them waits for a delayed
    // acknowledgement, which costs each call 40 ms on Linux.
    TcpIncoming::from(listener)
        .with_nodelay(Some(true))
        .then(move |stream| async move { Ok(Caller::identify(stream?, pid).await) })
}

impl Caller {
    /// Verifies which process made the connection, while that process has it open.
    async fn identify(stream: TcpStream, pid: u32) -> Self {
        let ends = || -> io::Result<(SocketAddr, SocketAddr)> {
            Ok((stream.peer_addr()?, stream.local_addr()?))
        };
        let verified = match ends() {
            // Reads files in `/proc`, so it runs on a blocking thread.
            Ok((theirs, ours)) => {
                let look = move || peer::is_connected(pid, theirs, ours);
                tokio::task::spawn_blocking(look).await.unwrap_or(false)
            }
            Err(_) => false,
        };
        Self {
            stream,
            verified: Verified(verified),
        }
    }
}

impl Connected for Caller {
    type ConnectInfo = Verified;

    fn connect_info(&self) -> Verified {
        self.verified
    }
}

impl AsyncRead for Caller {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Caller {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_send_small_writes_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut accepted = std::pin::pin!(connections(listener, std::process::id()));
        let _client = TcpStream::connect(address).await.expect("connected");
        let caller = accepted.next().await.expect("accepted").expect("open");
        assert!(caller.stream.nodelay().expect("the socket option"));
    }
}
