//! Connection to a plugin: socket, TLS if the plugin supports it, gRPC. Made once per process;
//! never re-established, because a lost connection means that the process has ended.

use super::failure::TfFailure;
use crate::channel::{Channel, Lost};
use crate::grpc::{Stream, Watched, is_transport, status_text};
use model::causes;
use plugin::{ITS_ERROR, StartFailure};
use proto::health::HealthCheckRequest;
use proto::health::health_client::HealthClient;
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;
use wire::Address;

/// Maximum message size in both directions, in bytes. The largest known schema has 30 MB.
pub const MESSAGE_LIMIT: usize = 256 << 20;

/// The plugin closed the connection instead of answering.
#[derive(Debug, thiserror::Error)]
enum ConnectionClosed {
    /// Before the HTTP/2 handshake.
    #[error("the plugin closed the connection: {}", causes::told(.0))]
    Early(#[source] Lost),
    /// Instead of its first answer.
    #[error("the plugin closed the connection: {}", status_text(.0))]
    Late(#[source] Box<tonic::Status>),
}

/// Connects, and waits for a first answer. Has no timeout; the caller sets the deadline. `lost` is
/// cancelled when the connection has ended, whichever side closed it.
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
    // With TLS, the likely cause is a rejected certificate.
    let hung_up = |reason: ConnectionClosed| match encrypted {
        true => TfFailure::Tls(reason.to_string()).into(),
        false => StartFailure::Connect {
            address: address.to_string(),
            reason: format!("{reason}; {ITS_ERROR}"),
        },
    };
    let socket: Box<dyn Stream> = match address {
        Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(nobody)?),
        Address::Tcp(tcp) => {
            let stream = TcpStream::connect(tcp).await.map_err(nobody)?;
            // Requests are small, and Nagle's algorithm would delay them.
            stream.set_nodelay(true).map_err(nobody)?;
            Box::new(stream)
        }
    };
    // Below TLS, so that the end of the socket itself is noticed.
    let socket = Watched::new(socket, lost);
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => Box::new(
            wire::tls::connect(config, socket)
                .await
                .map_err(TfFailure::from)?,
        ),
    };
    // A plugin that rejects our certificate closes the connection only after the TLS handshake.
    let channel = Channel::connect_over(stream)
        .await
        .map_err(|e| hung_up(ConnectionClosed::Early(e)))?;
    probe(&channel).await.map_err(hung_up)?;
    Ok(channel)
}

/// Makes a first call. With TLS 1.3, a rejected client certificate is noticed only at the first
/// answer. Any answer is accepted, because not every plugin has a health service.
async fn probe(channel: &Channel) -> Result<(), ConnectionClosed> {
    // The service name that go-plugin registers.
    let request = HealthCheckRequest {
        service: "plugin".to_owned(),
    };
    match HealthClient::new(channel.clone()).check(request).await {
        Ok(_) => Ok(()),
        // Only a lost connection is an error here.
        Err(status) if is_transport(&status) => Err(ConnectionClosed::Late(Box::new(status))),
        Err(_) => Ok(()),
    }
}

/// Formats an error status as a clause.
pub(super) fn refusal(status: &tonic::Status) -> String {
    format!("it answered {}", code_and_message(status))
}

/// Formats code and message of a status.
pub(super) fn code_and_message(status: &tonic::Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
