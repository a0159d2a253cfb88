//! Adapter of the builtin provider. Its calls run in this process and are not RPCs.

use super::{RemoteStates, data, remote_state};
use crate::*;
use async_trait::async_trait;
use calls::{CallContext, Checked, ProviderError};
use cty::Value;
use dependency::BUILTIN_PROVIDER;
use model::PluginId;
use model::mutex::lock;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Resource type of the builtin provider.
const DATA: &str = "terraform_data";
/// Data source of the builtin provider.
const REMOTE_STATE: &str = "terraform_remote_state";

/// Builtin provider. Its calls take no slots, and errors are always in the answers.
pub struct Builtin {
    info: ProviderInfo,
    schema: Arc<ProviderSchema>,
    workspace: PathBuf,
    states: Arc<Mutex<RemoteStates>>,
}

impl Builtin {
    /// Creates the provider of a workspace, against which paths of state files are resolved;
    /// `states` has the encryption of the states to read.
    pub fn new(plugin: PluginId, workspace: PathBuf, states: Arc<Mutex<RemoteStates>>) -> Self {
        let schema = ProviderSchema {
            resources: [(DATA.to_owned(), data::schema())].into(),
            data_sources: [(REMOTE_STATE.to_owned(), remote_state::schema())].into(),
            capabilities: Capabilities {
                plan_destroy: false,
                get_schema_optional: true,
                move_resource_state: true,
                ..Default::default()
            },
            ..Default::default()
        };
        let info = ProviderInfo {
            plugin,
            address: BUILTIN_PROVIDER.to_owned(),
            dialect: "builtin",
        };
        Self {
            info,
            schema: Arc::new(schema),
            workspace,
            states,
        }
    }
    fn check_name(
        &self,
        wanted: &str,
        kind: &'static str,
        name: &str,
    ) -> Result<(), ProviderError> {
        if wanted == name {
            return Ok(());
        }
        Err(ProviderError::NoSuchType {
            plugin: self.info.plugin.clone(),
            kind,
            name: name.to_owned(),
        })
    }

    fn resource(&self, name: &str) -> Result<(), ProviderError> {
        self.check_name(DATA, "resource type", name)
    }

    fn data_source(&self, name: &str) -> Result<(), ProviderError> {
        self.check_name(REMOTE_STATE, "data source", name)
    }
}

#[async_trait]
impl Provider for Builtin {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        Some(self.schema.clone())
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        Ok(self.schema.clone())
    }

    async fn validate_provider(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn configure(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.resource(type_name)?;
        Ok(Checked {
            diagnostics: data::validate(&config),
        })
    }

    async fn validate_data(
        &self,
        type_name: &str,
        config: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.data_source(type_name)?;
        Ok(Checked {
            diagnostics: remote_state::validate(&config),
        })
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        _: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        self.resource(&request.type_name)?;
        Ok(data::upgrade(&request))
    }

    async fn read(
        &self,
        request: ReadRequest,
        _: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        self.resource(&request.type_name)?;
        // There is no remote object, so the state is the current object.
        Ok(ReadResponse {
            state: request.current,
            private: request.private,
            identity: None,
            diagnostics: Vec::new(),
        })
    }

    async fn plan(
        &self,
        request: PlanRequest,
        _: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        self.resource(&request.type_name)?;
        Ok(data::plan(request))
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        _: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        self.resource(&request.type_name)?;
        Ok(data::apply(request))
    }

    async fn import(
        &self,
        request: ImportRequest,
        _: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        self.resource(&request.type_name)?;
        Ok(data::import(&request))
    }

    async fn move_state(
        &self,
        request: MoveRequest,
        _: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        self.resource(&request.target_type)?;
        Ok(data::convert_null_resource(request))
    }

    async fn read_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        self.data_source(type_name)?;
        let address = ctx.resource.as_deref().unwrap_or_default();
        // Cloned, because the lock must not be held across the await.
        let ciphers = lock(&self.states).of(address).clone();
        Ok(remote_state::read(&config, &self.workspace, ciphers).await)
    }

    /// Fails: expressions call its functions as functions of the language, see
    /// [`crate::functions`].
    async fn call_function(
        &self,
        name: &str,
        _: Vec<Value>,
        _: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        Err(ProviderError::NoSuchType {
            plugin: self.info.plugin.clone(),
            kind: "function",
            name: name.to_owned(),
        })
    }

    async fn validate_ephemeral(
        &self,
        type_name: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.check_name("", "ephemeral resource type", type_name)
            .map(|()| Checked::default())
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
