//! Socket of the plugin: its address, its handshake line, and its faults on connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;
use wire::{Address, Handshake, Identity};

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Socket and its handshake line.
pub(crate) struct ListeningSocket {
    listener: Listener,
    tls: Option<Arc<rustls::ServerConfig>>,
    pub(crate) line: String,
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

impl ListeningSocket {
    pub(crate) async fn open(name: &str) -> io::Result<Self> {
        let over_tcp = matches!(name, "tcp" | "tcp-without-certificate" | "port-closed");
        let (listener, mut address) = if over_tcp {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = Address::Tcp(listener.local_addr()?);
            (Listener::Tcp(listener), address)
        } else {
            let folder =
                std::env::var_os(wire::env::UNIX_SOCKET_DIR).map_or_else(crate::folder, Into::into);
            let path = folder.join(format!("fake{}", std::process::id()));
            (
                Listener::Unix(UnixListener::bind(&path)?),
                Address::Unix(path),
            )
        };
        match name {
            "socket-missing" => address = Address::Unix("/nonexistent/fake.sock".into()),
            // The port was bound and released, so nobody listens there.
            "port-closed" => {
                let gone = TcpListener::bind("127.0.0.1:0").await?;
                address = Address::Tcp(gone.local_addr()?);
            }
            _ => {}
        }
        let own = Identity::generate().map_err(other)?;
        let host = std::env::var(wire::env::CLIENT_CERT).ok();
        let certificate = match name {
            "tcp-without-certificate" | "certificate-missing" | "without-tls" => None,
            "certificate-of-another" => Some(Identity::generate().map_err(other)?.der().to_vec()),
            _ => host.as_ref().map(|_| own.der().to_vec()),
        };
        let tls = match (&host, name) {
            (None, _)
            | (_, "tcp-without-certificate" | "without-tls" | "plain-behind-certificate") => None,
            (Some(_), "refuses-the-host") => {
                let stranger = Identity::generate().map_err(other)?;
                Some(wire::tls::server_config(&own, stranger.pem()).map_err(other)?)
            }
            (Some(host), _) => Some(wire::tls::server_config(&own, host).map_err(other)?),
        };
        let tls = tls.map(|config| match name {
            "without-alpn" => with_alpn(&config, Vec::new()),
            "other-alpn" => with_alpn(&config, vec![b"http/1.1".to_vec()]),
            _ => config,
        });
        let protocol = if name == "protocol-5" { 5 } else { 6 };
        let line = Handshake {
            protocol,
            address,
            certificate,
            multiplexed: false,
        }
        .to_string();
        Ok(Self {
            listener,
            tls,
            line,
        })
    }

    /// Next connection for the server; connections that the fault affects are handled here.
    pub(crate) async fn next(&self, name: &str, cut: &CancellationToken) -> io::Result<Connection> {
        // Ends with the process.
        loop {
            let stream: Box<dyn Stream> = match &self.listener {
                Listener::Unix(listener) => Box::new(listener.accept().await?.0),
                Listener::Tcp(listener) => Box::new(listener.accept().await?.0),
            };
            match name {
                "deaf" => {
                    std::mem::forget(stream);
                    continue;
                }
                "hangs-up" => continue,
                _ => {}
            }
            let mut stream: Box<dyn Stream> = match &self.tls {
                None => stream,
                Some(config) if name.ends_with("-alpn") => Box::new(
                    tokio_rustls::TlsAcceptor::from(Arc::clone(config))
                        .accept(stream)
                        .await?,
                ),
                Some(config) => Box::new(
                    wire::tls::accept(Arc::clone(config), stream)
                        .await
                        .map_err(other)?,
                ),
            };
            match name {
                "mute" => std::mem::forget(stream),
                "speaks-http-1" => {
                    let mut request = [0; 64];
                    let _asked = stream.read(&mut request).await?;
                    stream
                        .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                        .await?;
                    std::mem::forget(stream);
                }
                _ => {
                    return Ok(Connection {
                        stream,
                        cut: Box::pin(cut.clone().cancelled_owned()),
                    });
                }
            }
        }
    }
}

fn with_alpn(config: &rustls::ServerConfig, alpn: Vec<Vec<u8>>) -> Arc<rustls::ServerConfig> {
    let mut config = config.clone();
    config.alpn_protocols = alpn;
    Arc::new(config)
}

/// Connection that can be cut while the process continues.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Connection {
    fn is_cut(&mut self, cx: &mut Context<'_>) -> bool {
        self.cut.as_mut().poll(cx).is_ready()
    }
}

impl Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
