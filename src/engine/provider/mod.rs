//! What a provider can be asked, whatever it speaks: the trait [`Provider`] over one model of
//! schema, plan and diagnostics. A dialect is a folder in here, with a line in [`dialect`]; above
//! there is only the trait. Owns no state itself.

pub mod builtin;
pub mod dialect;
mod error;
pub mod functions;
mod model;
mod schemas;
pub mod tfplugin;

pub use error::ProviderError;
pub use model::*;
pub use schemas::{ReadSchema, Schemas};

use crate::engine::calls::Retrying;
use crate::engine::words::PluginId;
use async_trait::async_trait;
use cty::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a provider is asked; named as protocol 6 names it, whatever is spoken, so that one thing
/// has one name on the screen and in history. No dialect needs to know all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Method {
    Schema,
    IdentitySchemas,
    ValidateProvider,
    Configure,
    ValidateResource,
    ValidateData,
    ValidateEphemeral,
    Upgrade,
    UpgradeIdentity,
    Read,
    Plan,
    Apply,
    Import,
    Move,
    ReadData,
    OpenEphemeral,
    RenewEphemeral,
    CloseEphemeral,
    CallFunction,
    Stop,
}

impl Method {
    /// Every method, in the order of declaration.
    pub const ALL: [Self; 20] = [
        Self::Schema,
        Self::IdentitySchemas,
        Self::ValidateProvider,
        Self::Configure,
        Self::ValidateResource,
        Self::ValidateData,
        Self::ValidateEphemeral,
        Self::Upgrade,
        Self::UpgradeIdentity,
        Self::Read,
        Self::Plan,
        Self::Apply,
        Self::Import,
        Self::Move,
        Self::ReadData,
        Self::OpenEphemeral,
        Self::RenewEphemeral,
        Self::CloseEphemeral,
        Self::CallFunction,
        Self::Stop,
    ];

    /// The name in events and history: the method's name in protocol 6.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => "GetProviderSchema",
            Self::IdentitySchemas => "GetResourceIdentitySchemas",
            Self::ValidateProvider => "ValidateProviderConfig",
            Self::Configure => "ConfigureProvider",
            Self::ValidateResource => "ValidateResourceConfig",
            Self::ValidateData => "ValidateDataResourceConfig",
            Self::ValidateEphemeral => "ValidateEphemeralResourceConfig",
            Self::Upgrade => "UpgradeResourceState",
            Self::UpgradeIdentity => "UpgradeResourceIdentity",
            Self::Read => "ReadResource",
            Self::Plan => "PlanResourceChange",
            Self::Apply => "ApplyResourceChange",
            Self::Import => "ImportResourceState",
            Self::Move => "MoveResourceState",
            Self::ReadData => "ReadDataSource",
            Self::OpenEphemeral => "OpenEphemeralResource",
            Self::RenewEphemeral => "RenewEphemeralResource",
            Self::CloseEphemeral => "CloseEphemeralResource",
            Self::CallFunction => "CallFunction",
            Self::Stop => "StopProvider",
        }
    }

    /// The method with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// How long the answer may take unless set otherwise. What only computes gets a minute; what
    /// talks to a remote service, which may throttle, gets ten; an apply gets all the time it needs
    /// (it is shown, and can be stopped).
    pub fn default_deadline(self) -> Option<Duration> {
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        match self {
            Self::Apply => None,
            Self::Stop => Some(Duration::from_secs(5)),
            Self::ValidateProvider
            | Self::ValidateResource
            | Self::ValidateData
            | Self::ValidateEphemeral => minutes(1),
            Self::Upgrade | Self::UpgradeIdentity | Self::Move | Self::CallFunction => minutes(1),
            Self::Schema => minutes(2),
            // An extra: who does not answer it is gone without.
            Self::IdentitySchemas => Some(Duration::from_secs(30)),
            Self::Configure | Self::Read | Self::Plan | Self::Import | Self::ReadData => {
                minutes(10)
            }
            Self::OpenEphemeral | Self::RenewEphemeral | Self::CloseEphemeral => minutes(10),
        }
    }

    /// Whether the call changes nothing, in the world or in the process, however often it is made.
    pub fn changes_nothing(self) -> bool {
        !matches!(
            self,
            Self::Apply
                | Self::Configure
                | Self::OpenEphemeral
                | Self::RenewEphemeral
                | Self::CloseEphemeral
                | Self::Stop
        )
    }

    /// Whether a running call may be dropped when its caller gives up. An apply never is: what it
    /// did must be learnt.
    pub fn can_be_dropped(self) -> bool {
        !matches!(self, Self::Apply)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// On whose behalf a call is made and how long it may take.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Address of the resource instance, for the board of calls.
    pub resource: Option<String>,
    /// What an apply does: `create`, `update`, `destroy`.
    pub action: Option<&'static str>,
    /// What the module that has the resource tells the provider beside the resource: its
    /// `provider_meta`.
    pub meta: Option<Value>,
    /// The provider's configuration, where it goes with each call; whoever gave the provider out
    /// puts it here.
    pub configuration: Option<Arc<Value>>,
    /// `None` for the method's own deadline.
    pub deadline: Option<Duration>,
    /// Gives up waiting for a slot, and drops a running call unless it is an apply.
    pub cancel: CancellationToken,
    /// What is heard of attempts, where the call is made again.
    pub retrying: Retrying,
}

impl CallContext {
    /// For one resource instance, with the method's own deadlines.
    pub fn of(resource: impl Into<String>, cancel: &CancellationToken) -> Self {
        Self {
            resource: Some(resource.into()),
            cancel: cancel.clone(),
            ..Self::default()
        }
    }

    /// For no resource in particular.
    pub fn general(cancel: &CancellationToken) -> Self {
        Self {
            cancel: cancel.clone(),
            ..Self::default()
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    pub plugin: PluginId,
    /// The whole provider address.
    pub address: String,
    /// With its version: `tfplugin5`, `tfplugin6`, `builtin`.
    pub dialect: &'static str,
}

/// One provider instance: a process (or the builtin one), configured at most once. Errors that the
/// provider answers are in the answers; [`ProviderError`] is for calls without a usable answer.
/// What not every dialect has is not supported unless its adapter says otherwise.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Who answers.
    fn info(&self) -> &ProviderInfo;

    /// The schemas, if [`Provider::schema`] can answer them without a call.
    fn known_schema(&self) -> Option<Arc<ProviderSchema>>;

    /// All schemas. Asked once a process at most, and shared by processes of the same executable.
    async fn schema(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError>;

    /// Checks a provider configuration, which may have unknown values.
    async fn validate_provider(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Gives the process its configuration; before any call but validation, schema, upgrade,
    /// functions.
    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError>;

    /// Checks a resource's configuration.
    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError>;

    /// Checks a data source's configuration.
    async fn validate_data(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::ValidateData))
    }

    /// Makes stored state fit for the schema. Always called for stored state, at equal versions
    /// too.
    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError>;

    /// Makes a stored identity fit for its schema. Called where the stored one is older.
    async fn upgrade_identity(
        &self,
        _request: UpgradeRequest,
        _ctx: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        Err(unsupported(self.info(), Method::UpgradeIdentity))
    }

    /// Looks at the object in the world.
    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError>;

    /// Says what an apply would lead to.
    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError>;

    /// Changes the world.
    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError>;

    /// Finds an existing object.
    async fn import(
        &self,
        _request: ImportRequest,
        _ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        Err(unsupported(self.info(), Method::Import))
    }

    /// Takes over the state of another resource type.
    async fn move_state(
        &self,
        _request: MoveRequest,
        _ctx: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        Err(unsupported(self.info(), Method::Move))
    }

    /// Reads a data source.
    async fn read_data(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        Err(unsupported(self.info(), Method::ReadData))
    }

    /// Calls one of the provider's functions with arguments of the types of its signature.
    async fn call_function(
        &self,
        _name: &str,
        _arguments: Vec<Value>,
        _ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        Err(unsupported(self.info(), Method::CallFunction))
    }

    /// Checks an ephemeral resource's configuration.
    async fn validate_ephemeral(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::ValidateEphemeral))
    }

    /// Opens an ephemeral resource.
    async fn open_ephemeral(
        &self,
        _type_name: &str,
        _config: Value,
        _ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        Err(unsupported(self.info(), Method::OpenEphemeral))
    }

    /// Keeps an ephemeral resource open.
    async fn renew_ephemeral(
        &self,
        _type_name: &str,
        _private: Option<Bytes>,
        _ctx: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        Err(unsupported(self.info(), Method::RenewEphemeral))
    }

    /// Closes an ephemeral resource.
    async fn close_ephemeral(
        &self,
        _type_name: &str,
        _private: Option<Bytes>,
        _ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Err(unsupported(self.info(), Method::CloseEphemeral))
    }

    /// Asks the provider to end what it is doing. Takes no slot: it must get through when all are
    /// held.
    async fn stop(&self, ctx: &CallContext) -> Result<(), ProviderError>;
}

fn unsupported(info: &ProviderInfo, method: Method) -> ProviderError {
    ProviderError::Unsupported {
        plugin: info.plugin.clone(),
        method,
    }
}
