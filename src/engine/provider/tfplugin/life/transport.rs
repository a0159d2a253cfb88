//! The connection to a plugin: a socket, TLS over it where the plugin speaks it, gRPC over that.
//! Made once for a process; a broken one is never made anew, since what it broke from is gone.

use super::failure::TfFailure;
use crate::engine::causes;
use crate::engine::plugin::{ITS_ERROR, StartFailure};
use crate::engine::provider::channel::{Channel, Lost};
use crate::engine::provider::grpc::{Stream, Watched, is_transport, status_text};
use proto::health::HealthCheckRequest;
use proto::health::health_client::HealthClient;
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;
use wire::Address;

/// Largest message either way. What a client is built with; the largest schema seen has 30 MB.
pub const MESSAGE_LIMIT: usize = 256 << 20;

/// The plugin closed the connection where it should have answered.
#[derive(Debug, thiserror::Error)]
enum HungUp {
    /// Before gRPC was agreed on.
    #[error("the plugin hung up: {}", causes::told(.0))]
    Early(#[source] Lost),
    /// In the place of its first answer.
    #[error("the plugin hung up: {}", status_text(.0))]
    Late(#[source] Box<tonic::Status>),
}

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
    let hung_up = |reason: HungUp| match encrypted {
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
            stream.set_nodelay(true).map_err(nobody)?;
            Box::new(stream)
        }
    };
    let socket = Watched::new(socket, lost);
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => Box::new(
            wire::tls::connect(config, socket)
                .await
                .map_err(TfFailure::from)?,
        ),
    };
    // Who refuses our certificate says so only after TLS has been agreed on, by closing.
    let channel = Channel::over(stream)
        .await
        .map_err(|e| hung_up(HungUp::Early(e)))?;
    greet(&channel).await.map_err(hung_up)?;
    Ok(channel)
}

/// With TLS 1.3 a refusal of our certificate shows only at the first answer, so one is waited for.
/// Any answer will do: not every plugin knows its health.
async fn greet(channel: &Channel) -> Result<(), HungUp> {
    let request = HealthCheckRequest {
        service: "plugin".to_owned(),
    };
    match HealthClient::new(channel.clone()).check(request).await {
        Ok(_) => Ok(()),
        Err(status) if is_transport(&status) => Err(HungUp::Late(Box::new(status))),
        Err(_) => Ok(()),
    }
}

/// An answer that says no, in words.
pub(super) fn refusal(status: &tonic::Status) -> String {
    format!("it answered {}", answer(status))
}

/// The code and the text of an answer.
pub(super) fn answer(status: &tonic::Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
