//! Adapter of one provider process: its connection, its schema once known, and the codecs of each
//! call. The supervisor owns the process.

use super::convert::{Side, diagnostics};
use super::lifecycle::SchemaReply;
use super::schema::{self, provider_schema};
use super::wire::{Protocol, Wire};
use crate::channel::Channel;
use crate::dialect::ExitReporter;
use crate::*;
use calls::{CallContext, Checked, Method, ProviderError};
use model::PluginId;
use proto::tfplugin6 as pb;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Identity schemas by resource type.
pub type Identities = BTreeMap<String, IdentitySchema>;

/// Provider process of protocol 5 or 6.
pub struct TfProvider {
    pub(super) info: ProviderInfo,
    pub(super) wire: Wire,
    pub(super) schema: OnceCell<Arc<ProviderSchema>>,
    /// Functions of the configured provider, fetched on demand.
    pub(super) configured_functions: OnceCell<FunctionsResponse>,
}

impl TfProvider {
    /// Creates an adapter over a connection; `schema` is passed if it is known.
    pub fn new(
        plugin: PluginId,
        address: String,
        protocol: Protocol,
        channel: Channel,
        obituary: Arc<dyn ExitReporter>,
        schema: Option<Arc<ProviderSchema>>,
    ) -> Self {
        let wire = Wire::new(plugin.clone(), protocol, channel, obituary);
        let info = ProviderInfo {
            plugin,
            address,
            dialect: protocol.dialect(),
        };
        Self {
            info,
            wire,
            schema: OnceCell::new_with(schema),
            configured_functions: OnceCell::new(),
        }
    }

    /// Converts the schema from the provider's answer and stores it.
    pub async fn store_schema(
        &self,
        reply: SchemaReply,
        identities: Identities,
    ) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.schema
            // Concurrent callers share one conversion; an error is not kept.
            .get_or_try_init(|| async { self.understand(reply, identities).await })
            .await
            .cloned()
    }

    /// Fetches the schema, for [`TfProvider::store_schema`].
    pub async fn ask_schema(&self) -> Result<SchemaReply, ProviderError> {
        self.wire.schema().await
    }

    pub(super) async fn understand(
        &self,
        reply: SchemaReply,
        identities: Identities,
    ) -> Result<Arc<ProviderSchema>, ProviderError> {
        // Converting megabytes would block the async thread.
        let converted = tokio::task::spawn_blocking(move || provider_schema(&reply)).await;
        let unfinished = |e| format!("its schema could not be converted: {e}");
        let mut schema = converted
            .map_err(unfinished)
            .and_then(|schema| schema.map_err(|e| e.to_string()))
            .map_err(|what| self.undecodable(Method::Schema, what))?;
        schema.identities = identities;
        Ok(Arc::new(schema))
    }

    /// Fetches the identity schemas; none if the provider does not implement the method.
    pub async fn ask_identities(&self) -> Result<Identities, ProviderError> {
        let request = pb::get_resource_identity_schemas::Request {};
        match self.wire.call(Method::IdentitySchemas, request).await {
            Ok(reply) => Ok(schema::identities(&reply)),
            // Older providers do not have this method.
            Err(ProviderError::Unsupported { .. }) => Ok(Identities::new()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn undecodable(&self, method: Method, what: String) -> ProviderError {
        ProviderError::Undecodable {
            plugin: self.info.plugin.clone(),
            method,
            what,
        }
    }

    pub(super) fn no_such(&self, kind: &'static str, name: &str) -> ProviderError {
        ProviderError::NoSuchType {
            plugin: self.info.plugin.clone(),
            kind,
            name: name.to_owned(),
        }
    }

    /// Returns the codecs for the values and identities of one type in a call.
    pub(super) async fn codecs(
        &self,
        method: Method,
        type_name: &str,
        ctx: &CallContext,
    ) -> Result<Side<'_>, ProviderError> {
        let schema = self.schema(ctx).await?;
        let kind = match method {
            Method::ValidateData | Method::ReadData => "data source",
            Method::ValidateEphemeral | Method::OpenEphemeral => "ephemeral resource type",
            _ => "resource type",
        };
        let ty = schema
            .schema_for_call(method, type_name)
            .ok_or_else(|| self.no_such(kind, type_name))?
            .implied_type()
            .clone();
        let identity = schema.identities.get(type_name).map(|i| i.ty.clone());
        let meta = schema
            .provider_meta
            .as_ref()
            .map(|m| m.implied_type().clone());
        Ok(Side {
            plugin: &self.info.plugin,
            method,
            ty,
            identity,
            meta,
        })
    }

    pub(super) async fn check<
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    >(
        &self,
        method: Method,
        request: Q,
        diagnostics_of: impl FnOnce(A) -> Vec<pb::Diagnostic>,
    ) -> Result<Checked, ProviderError> {
        let answer: A = self.wire.call(method, request).await?;
        Ok(Checked {
            diagnostics: diagnostics(diagnostics_of(answer)),
        })
    }

    pub(super) async fn provider_side(
        &self,
        method: Method,
        ctx: &CallContext,
    ) -> Result<Side<'_>, ProviderError> {
        let ty = self.schema(ctx).await?.provider.implied_type().clone();
        Ok(Side {
            plugin: &self.info.plugin,
            method,
            ty,
            identity: None,
            meta: None,
        })
    }
}
