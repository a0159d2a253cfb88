//! What a plugin that registered is asked as the proof that it works: a provider for its namespace,
//! a transformer for its transform name. Owns nothing.

use super::failure::BluelinkFailure;
use super::launch::MESSAGE_LIMIT;
use crate::engine::plugin::StartFailure;
use crate::engine::provider::channel::Channel;
use crate::engine::provider::grpc;
use crate::engine::words::PluginKind;
use proto::bluelink::providerserverv1::namespace_response::Response as OfProvider;
use proto::bluelink::providerserverv1::{NamespaceResponse, ProviderRequest};
use proto::bluelink::transformerserverv1::transform_name_response::Response as OfTransformer;
use proto::bluelink::transformerserverv1::{TransformNameResponse, TransformerRequest};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::client::Grpc;
use tonic::{Code, Status};

/// What a plugin says that does not know its host yet: it learns it a moment after the reply.
const TOO_EARLY: &str = "invalid host ID";
/// Between two tries at a plugin that does not know its host yet: from here, doubled, to there.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// What it says.
enum Said {
    Name(String),
    Refused(String),
    Nothing,
}

async fn ask(kind: PluginKind, grpc: &Grpc<Channel>, host_id: &str) -> Result<Said, Status> {
    let host_id = host_id.to_owned();
    let said = match kind {
        PluginKind::Provider => {
            let path = "/providerserverv1.Provider/GetNamespace";
            let asked = grpc::send::<_, NamespaceResponse>(grpc, path, ProviderRequest { host_id });
            match asked.await?.response {
                Some(OfProvider::Namespace(said)) => Said::Name(said.namespace),
                Some(OfProvider::ErrorResponse(error)) => Said::Refused(error.message),
                None => Said::Nothing,
            }
        }
        PluginKind::Transformer => {
            let path = "/transformerserverv1.Transformer/GetTransformName";
            let request = TransformerRequest { host_id };
            let asked = grpc::send::<_, TransformNameResponse>(grpc, path, request);
            match asked.await?.response {
                Some(OfTransformer::NameInfo(said)) => Said::Name(said.transform_name),
                Some(OfTransformer::ErrorResponse(error)) => Said::Refused(error.message),
                None => Said::Nothing,
            }
        }
    };
    Ok(match said {
        Said::Name(name) if name.is_empty() && kind == PluginKind::Transformer => Said::Nothing,
        said => said,
    })
}

/// Asks for the name until the plugin knows who asks.
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
        match timeout_at(until, ask(kind, &grpc, host_id)).await {
            Ok(Ok(Said::Name(name))) => return Ok(name),
            Ok(Ok(Said::Refused(message))) if message.contains(TOO_EARLY) => last = message,
            Ok(Ok(Said::Refused(message))) => return none(message),
            Ok(Ok(Said::Nothing)) => return none("an empty answer".to_owned()),
            Ok(Err(status)) if grpc::is_transport(&status) => {
                return Err(StartFailure::Schema(grpc::status_text(&status)));
            }
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
