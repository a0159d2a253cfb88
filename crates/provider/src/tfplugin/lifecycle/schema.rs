//! Last phase of a launch: fetches the plugin's schema without decoding its types. It is the first
//! proof that the plugin works, and older plugins require it before any other call.

use super::failure::TfFailure;
use super::transport::{MESSAGE_LIMIT, code_and_message, refusal};
use crate::channel::Channel;
use crate::grpc::{is_transport, status_text, too_large};
use crate::tfplugin::wire::Protocol;
use model::seconds;
use plugin::{ITS_ERROR, PluginSettings, StartFailure};
use proto::{tfplugin5, tfplugin6};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// Schema as the plugin sent it; the schemas of types are still encoded.
#[derive(Debug, Clone)]
pub enum SchemaReply {
    V5(Box<tfplugin5::get_provider_schema::Undecoded>),
    V6(Box<tfplugin6::get_provider_schema::Undecoded>),
}

/// Fetches the schema, unless the settings skip it.
pub(super) async fn fetch_schema(
    settings: &PluginSettings,
    channel: &Channel,
    protocol: Protocol,
) -> Result<Option<SchemaReply>, StartFailure> {
    // A further process of a provider with a known schema does not need it.
    if !settings.fetch_schema {
        return Ok(None);
    }
    let limit = settings.launch.schema_deadline;
    match timeout(limit, ask_schema(channel.clone(), protocol)).await {
        Ok(Ok(reply)) => Ok(Some(reply)),
        Ok(Err(NoSchema::NotServed(status))) => {
            Err(TfFailure::NotAProvider(code_and_message(&status)).into())
        }
        Ok(Err(why)) => Err(StartFailure::Schema(format!("{why}; {ITS_ERROR}"))),
        Err(_) => {
            let why = format!(
                "no answer within {}; raise FLIGHTDECK_SCHEMA_DEADLINE_MS if the plugin needs longer",
                seconds(limit)
            );
            Err(StartFailure::Schema(why))
        }
    }
}

/// Reason why a plugin has no usable schema.
#[derive(Debug, thiserror::Error)]
enum NoSchema {
    /// Larger than the limit, as text.
    #[error("{0}")]
    TooLarge(String),
    /// The connection broke.
    #[error("{}", status_text(.0))]
    Lost(Box<Status>),
    /// The plugin does not implement the service or the method.
    #[error("{}", refusal(.0))]
    NotServed(Box<Status>),
    #[error("{}", refusal(.0))]
    Refused(Box<Status>),
    /// Errors that the plugin reported.
    #[error("{}", .0.join("; "))]
    Reported(Vec<String>),
}

impl From<Status> for NoSchema {
    fn from(status: Status) -> Self {
        match too_large(&status, MESSAGE_LIMIT) {
            Some(why) => Self::TooLarge(why),
            None if is_transport(&status) => Self::Lost(Box::new(status)),
            // An unknown service means that this is no provider at all.
            None if status.code() == Code::Unimplemented => Self::NotServed(Box::new(status)),
            None => Self::Refused(Box::new(status)),
        }
    }
}

async fn ask_schema(channel: Channel, protocol: Protocol) -> Result<SchemaReply, NoSchema> {
    // The two message types are distinct in Rust, so the branches cannot be merged.
    let (reply, errors): (_, Vec<String>) = if protocol == Protocol::Five {
        let request = tfplugin5::get_provider_schema::Request {};
        let reply: tfplugin5::get_provider_schema::Undecoded =
            call_schema(channel, "/tfplugin5.Provider/GetSchema", request).await?;
        let bad = reply
            .diagnostics
            .iter()
            .filter(|d| d.severity() == tfplugin5::diagnostic::Severity::Error);
        let errors = bad.map(|d| sentence(&d.summary, &d.detail)).collect();
        (SchemaReply::V5(Box::new(reply)), errors)
    } else {
        let request = tfplugin6::get_provider_schema::Request {};
        let reply: tfplugin6::get_provider_schema::Undecoded =
            call_schema(channel, "/tfplugin6.Provider/GetProviderSchema", request).await?;
        let bad = reply
            .diagnostics
            .iter()
            .filter(|d| d.severity() == tfplugin6::diagnostic::Severity::Error);
        let errors = bad.map(|d| sentence(&d.summary, &d.detail)).collect();
        (SchemaReply::V6(Box::new(reply)), errors)
    };
    // A reply with errors may be incomplete, so it is not used.
    if errors.is_empty() {
        Ok(reply)
    } else {
        Err(NoSchema::Reported(errors))
    }
}

/// Makes the call without the generated client, which would decode the whole answer.
async fn call_schema<Q, A>(channel: Channel, path: &'static str, request: Q) -> Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel).max_decoding_message_size(MESSAGE_LIMIT);
    grpc.ready()
        .await
        .map_err(|e| Status::unknown(format!("Service was not ready: {e}")))?;
    let codec = ProstCodec::<Q, A>::default();
    Ok(grpc
        .unary(
            Request::new(request),
            PathAndQuery::from_static(path),
            codec,
        )
        .await?
        .into_inner())
}

fn sentence(summary: &str, detail: &str) -> String {
    if detail.is_empty() {
        summary.to_owned()
    } else {
        format!("{summary}: {detail}")
    }
}
