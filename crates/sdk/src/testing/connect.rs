//! Connection of a test to a provider: by its handshake line, with mutual TLS if it asks for it.

use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

use crate::diagnostics::Failure;

/// Plain or encrypted stream.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to a provider of protocol 6 as a host does: with mutual TLS if the host has an
/// identity, otherwise without.
///
/// # Errors
/// The line is no handshake of protocol 6, or the provider cannot be reached.
pub async fn connect(line: &str, identity: Option<&wire::Identity>) -> Result<Channel, Failure> {
    let refused = |why: String| Failure::new("cannot connect to the provider", why);
    let handshake = wire::Handshake::parse(line.as_bytes()).map_err(Failure::of)?;
    handshake.expect_protocol(&[6]).map_err(Failure::of)?;
    let path = handshake.address.path().map(ToOwned::to_owned);
    let path: PathBuf = path.ok_or_else(|| refused("it has no Unix socket".to_owned()))?;
    let config = match (identity, &handshake.certificate) {
        (Some(identity), Some(certificate)) => {
            Some(wire::tls::client_config(identity, certificate).map_err(Failure::of)?)
        }
        (None, None) => None,
        _ => return Err(refused("only one side wants TLS".to_owned())),
    };
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let (path, config) = (path.clone(), config.clone());
        async move {
            let stream = UnixStream::connect(path).await?;
            let io: Box<dyn Stream> = match config {
                None => Box::new(stream),
                Some(config) => {
                    let stream = wire::tls::connect(config, stream).await;
                    Box::new(stream.map_err(io::Error::other)?)
                }
            };
            Ok::<_, io::Error>(hyper_util::rt::TokioIo::new(io))
        }
    });
    Endpoint::from_static("http://localhost")
        .connect_with_connector(connector)
        .await
        .map_err(Failure::of)
}
