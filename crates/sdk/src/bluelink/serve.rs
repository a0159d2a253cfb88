//! Serves a provider process to a Bluelink host: listens, registers at the host's port, and serves
//! until it is asked to end.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use proto::bluelink::pluginservicev1::service_client::ServiceClient;
use proto::bluelink::pluginservicev1::{PluginMetadata, PluginRegistrationRequest, PluginType};
use proto::bluelink::providerserverv1::provider_server::ProviderServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::server::TcpIncoming;

use super::host::Host;
use super::server::Server;
use crate::provider::Provider;
use crate::serve::{GRACE, MESSAGE_LIMIT, ServeError};
use crate::service::Service;

/// Supported protocol version.
const PROTOCOL: &str = "1.0";
/// Maximum time for the host's response to the registration.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a provider to the host with a registration server at this local port.
///
/// # Errors
/// The provider cannot be served, or the host refuses it.
pub(crate) async fn serve(
    provider: Arc<dyn Provider>,
    host_port: &str,
    end: CancellationToken,
) -> Result<(), ServeError> {
    let port = host_port.parse::<u16>().ok().filter(|port| *port > 0);
    let host_port = port.ok_or_else(|| ServeError::HostPort(host_port.to_owned()))?;
    // Built before the registration, so that an invalid schema is reported at startup.
    let service = Service::new(provider.clone(), TaskTracker::new(), end.clone());
    let (named, host) = Host::unknown();
    let server = service.and_then(|service| Server::new(service, host))?;

    // Listening starts before the registration, because the host calls back at once.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(ServeError::Listen)?;
    let own = listener.local_addr().map_err(ServeError::Listen)?.port();
    let request = registration(&*provider, own);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = tonic::transport::Server::builder()
        .add_service(
            ProviderServer::new(server)
                .max_decoding_message_size(MESSAGE_LIMIT)
                .max_encoding_message_size(MESSAGE_LIMIT),
        )
        .serve_with_incoming_shutdown(incoming, end.clone().cancelled_owned());
    let registered = async {
        let host = register(host_port, request).await?;
        // Without a receiver the server has already ended.
        named.send(Some(host)).ok();
        // The server drains its calls after `end`; this bounds the time for it.
        end.cancelled().await;
        tokio::time::sleep(GRACE).await;
        Ok(())
    };
    tokio::select! {
        biased; // a finished server has priority over an expired deadline
        served = served => Ok(served?),
        ended = registered => ended,
    }
}

fn registration(provider: &dyn Provider, port: u16) -> PluginRegistrationRequest {
    PluginRegistrationRequest {
        plugin_type: PluginType::Provider.into(),
        // The host finds the executable under this id and refuses another one.
        plugin_id: format!("{}/{}", provider.publisher(), provider.name()),
        instance_id: std::process::id().to_string(),
        protocol_versions: vec![PROTOCOL.to_owned()],
        metadata: Some(PluginMetadata {
            plugin_version: provider.version().to_owned(),
            display_name: provider.name().to_owned(),
            plain_text_description: provider.schema().block.description,
            author: provider.publisher().to_owned(),
            ..PluginMetadata::default()
        }),
        port: port.into(),
        unix_socket: String::new(),
    }
}

/// Registers once; returns the identifier of the host.
async fn register(port: u16, request: PluginRegistrationRequest) -> Result<String, ServeError> {
    let unreachable = |reason: String| ServeError::Host { port, reason };
    let asked = async {
        let host = ServiceClient::connect(format!("http://127.0.0.1:{port}")).await;
        let mut host = host.map_err(|error| unreachable(causes(&error)))?;
        let answer = host.register(request).await;
        answer.map_err(|status| unreachable(status.message().to_owned()))
    };
    let late = |_| unreachable(format!("no answer within {} s", RESPONSE_TIMEOUT.as_secs()));
    let answer = tokio::time::timeout(RESPONSE_TIMEOUT, asked)
        .await
        .map_err(late)??;
    let answer = answer.into_inner();
    match answer.success {
        true => Ok(answer.host_id),
        false => Err(ServeError::Refused(answer.message)),
    }
}

/// Formats an error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    let all: Vec<String> = chain.map(ToString::to_string).collect();
    all.join(": ")
}
