//! Dialect entry of the plugin protocols 5 and 6: temporary failures, and the creation of adapters.
//! Owns the settings of the processes.

use super::adapter::{Identities, TfProvider};
use super::lifecycle::{TfLifecycle, TfLink};
use crate::dialect::{ConnectedProcess, Dialect, SetupCalls};
use crate::*;
use async_trait::async_trait;
use calls::{Method, ProviderError, RefusalCode};
use model::PluginFound;
use plugin::lifecycle::Lifecycle;
use std::sync::Arc;
use tonic::Code;

/// Terraform's plugin protocol, versions 5 and 6.
#[derive(Debug)]
pub struct TfPlugin {
    pub lifecycle: TfLifecycle,
}

#[async_trait]
impl Dialect for TfPlugin {
    fn name(&self) -> &'static str {
        "tfplugin"
    }

    fn claims(&self, _: &PluginFound) -> bool {
        true
    }

    fn lifecycle(&self) -> Arc<dyn Lifecycle> {
        Arc::new(self.lifecycle.clone())
    }

    /// Returns true for temporary gRPC codes, on methods without side effects only.
    fn is_transient(&self, method: Method, error: &ProviderError) -> bool {
        // A failed call may still have had an effect, which a repeated one would duplicate.
        method.changes_nothing()
            && matches!(
                error,
                ProviderError::Refused {
                    code: RefusalCode::Grpc(Code::Unavailable | Code::ResourceExhausted),
                    ..
                }
            )
    }

    async fn adapter(&self, reached: ConnectedProcess) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(link) = reached.connection.link::<TfLink>() else {
            return Err(reached.wrong_dialect_error());
        };
        // Taken even if the schema is known, which frees its memory.
        let (channel, reply) = (link.channel.clone(), link.take_schema());
        let adapter = TfProvider::new(
            reached.plugin,
            reached.address,
            link.protocol,
            channel,
            reached.exit_reporter,
            reached.schema,
        );
        // Another process of the same executable may have supplied it.
        if adapter.known_schema().is_none() {
            let reply = match reply {
                Some(reply) => reply,
                None => {
                    reached
                        .setup_calls
                        .make_call(Method::Schema, adapter.ask_schema())
                        .await?
                }
            };
            adapter
                .store_schema(reply, identities(&reached.setup_calls, &adapter).await?)
                .await?;
        }
        Ok(Arc::new(adapter))
    }
}

/// Fetches the identity schemas, which are optional: a provider that fails or times out is used
/// without.
async fn identities(
    asking: &SetupCalls,
    adapter: &TfProvider,
) -> Result<Identities, ProviderError> {
    use ProviderError::{Deadline, Refused, Undecodable};
    match asking
        .make_call(Method::IdentitySchemas, adapter.ask_identities())
        .await
    {
        Err(Refused { .. } | Undecodable { .. } | Deadline { .. }) => Ok(Identities::new()),
        asked => asked,
    }
}
