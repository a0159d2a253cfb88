//! First request after the registration, which proves that the plugin works: namespace of a
//! provider, transform name of a transformer. Owns nothing.

use super::failure::BluelinkFailure;
use super::launch::MESSAGE_LIMIT;
use crate::channel::Channel;
use crate::grpc;
use model::PluginKind;
use plugin::StartFailure;
use proto::bluelink::providerserverv1::namespace_response::Response as OfProvider;
use proto::bluelink::providerserverv1::{NamespaceResponse, ProviderRequest};
use proto::bluelink::transformerserverv1::transform_name_response::Response as OfTransformer;
use proto::bluelink::transformerserverv1::{TransformNameResponse, TransformerRequest};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::client::Grpc;
use tonic::{Code, Status};

/// Error text of a plugin that does not know its host id yet; it stores it shortly after the reply
/// to its registration.
const TOO_EARLY: &str = "invalid host ID";
/// First and maximum pause between requests to a plugin that does not know its host id yet.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// Answer to the request.
enum ReadinessAnswer {
    Name(String),
    Refused(String),
    Nothing,
}

async fn ask_readiness(
    kind: PluginKind,
    grpc: &Grpc<Channel>,
    host_id: &str,
) -> Result<ReadinessAnswer, Status> {
    let host_id = host_id.to_owned();
    let said = match kind {
        PluginKind::Provider => {
            let path = "/providerserverv1.Provider/GetNamespace";
            let asked = grpc::send::<_, NamespaceResponse>(grpc, path, ProviderRequest { host_id });
            match asked.await?.response {
                Some(OfProvider::Namespace(said)) => ReadinessAnswer::Name(said.namespace),
                Some(OfProvider::ErrorResponse(error)) => ReadinessAnswer::Refused(error.message),
                None => ReadinessAnswer::Nothing,
            }
        }
        PluginKind::Transformer => {
            let path = "/transformerserverv1.Transformer/GetTransformName";
            let request = TransformerRequest { host_id };
            let asked = grpc::send::<_, TransformNameResponse>(grpc, path, request);
            match asked.await?.response {
                Some(OfTransformer::NameInfo(said)) => ReadinessAnswer::Name(said.transform_name),
                Some(OfTransformer::ErrorResponse(error)) => {
                    ReadinessAnswer::Refused(error.message)
                }
                None => ReadinessAnswer::Nothing,
            }
        }
    };
    // A transform name identifies the transformer in blueprints, so it cannot be empty.
    Ok(match said {
        ReadinessAnswer::Name(name) if name.is_empty() && kind == PluginKind::Transformer => {
            ReadinessAnswer::Nothing
        }
        said => said,
    })
}

/// Asks for the name until the plugin knows its host id.
pub(super) async fn name(
    kind: PluginKind,
    within: Duration,
    channel: &Channel,
    host_id: &str,
) -> Result<String, StartFailure> {
    let until = Instant::now() + within;
    let grpc = Grpc::new(channel.clone()).max_decoding_message_size(MESSAGE_LIMIT);
    let mut pause = PAUSES.0;
    let mut last = "no answer".to_owned();
    let none = |why: String| Err(BluelinkFailure::NoName { kind, why }.into());
    // Bounded by the deadline.
    while Instant::now() < until {
        match timeout_at(until, ask_readiness(kind, &grpc, host_id)).await {
            Ok(Ok(ReadinessAnswer::Name(name))) => return Ok(name),
            Ok(Ok(ReadinessAnswer::Refused(message))) if message.contains(TOO_EARLY) => {
                last = message
            }
            Ok(Ok(ReadinessAnswer::Refused(message))) => return none(message),
            Ok(Ok(ReadinessAnswer::Nothing)) => return none("an empty answer".to_owned()),
            // The connection is lost, so the exit of the process is the reason to report.
            Ok(Err(status)) if grpc::is_transport(&status) => {
                return Err(StartFailure::Schema(grpc::status_text(&status)));
            }
            // The process registered as one kind and serves another.
            Ok(Err(status)) if status.code() == Code::Unimplemented => {
                let why = grpc::status_text(&status);
                return Err(BluelinkFailure::NotServed { kind, why }.into());
            }
            Ok(Err(status)) => return none(grpc::status_text(&status)),
            Err(_) => break,
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    Err(BluelinkFailure::Unready {
        kind,
        after: within,
        last,
    }
    .into())
}
