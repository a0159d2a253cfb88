//! Methods of providers: names, default deadlines and properties.

use model::MethodName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Request of the engine, with its name in protocol 6, or an RPC of another dialect, with its name
/// there. A dialect need not know all of them.
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
    LinkResourceA,
    LinkResourceB,
    LinkIntermediaries,
    DeployResource,
    ResourceHasStabilised,
    DestroyResource,
    GetResourceExternalState,
    CustomValidateResource,
    FetchDataSource,
    ValidateLink,
    StageLinkChanges,
    GetLinkIntermediaryExternalState,
    Import,
    Move,
    ReadData,
    OpenEphemeral,
    RenewEphemeral,
    CloseEphemeral,
    Functions,
    CallFunction,
    Stop,
}

impl Method {
    /// All methods, in the order of declaration.
    pub const ALL: [Self; 33] = [
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
        Self::LinkResourceA,
        Self::LinkResourceB,
        Self::LinkIntermediaries,
        Self::DeployResource,
        Self::ResourceHasStabilised,
        Self::DestroyResource,
        Self::GetResourceExternalState,
        Self::CustomValidateResource,
        Self::FetchDataSource,
        Self::ValidateLink,
        Self::StageLinkChanges,
        Self::GetLinkIntermediaryExternalState,
        Self::Import,
        Self::Move,
        Self::ReadData,
        Self::OpenEphemeral,
        Self::RenewEphemeral,
        Self::CloseEphemeral,
        Self::Functions,
        Self::CallFunction,
        Self::Stop,
    ];

    /// Returns the name in events and history: the name in protocol 6, if it exists there.
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
            Self::LinkResourceA => "UpdateLinkResourceA",
            Self::LinkResourceB => "UpdateLinkResourceB",
            Self::LinkIntermediaries => "UpdateLinkIntermediaryResources",
            Self::DeployResource => "DeployResource",
            Self::ResourceHasStabilised => "ResourceHasStabilised",
            Self::DestroyResource => "DestroyResource",
            Self::GetResourceExternalState => "GetResourceExternalState",
            Self::CustomValidateResource => "CustomValidateResource",
            Self::FetchDataSource => "FetchDataSource",
            Self::ValidateLink => "ValidateLink",
            Self::StageLinkChanges => "StageLinkChanges",
            Self::GetLinkIntermediaryExternalState => "GetLinkIntermediaryExternalState",
            Self::Import => "ImportResourceState",
            Self::Move => "MoveResourceState",
            Self::ReadData => "ReadDataSource",
            Self::OpenEphemeral => "OpenEphemeralResource",
            Self::RenewEphemeral => "RenewEphemeralResource",
            Self::CloseEphemeral => "CloseEphemeralResource",
            Self::Functions => "GetFunctions",
            Self::CallFunction => "CallFunction",
            Self::Stop => "StopProvider",
        }
    }

    /// Returns the method with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Returns the default deadline. Methods that only compute have a minute; those that call a
    /// remote service, which may throttle, have ten; an apply has none, because it is shown and can
    /// be stopped.
    pub fn default_deadline(self) -> Option<Duration> {
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        match self {
            Self::Apply
            | Self::DeployResource
            | Self::DestroyResource
            | Self::LinkResourceA
            | Self::LinkResourceB
            | Self::LinkIntermediaries => None,
            Self::Stop => Some(Duration::from_secs(5)),
            Self::ValidateProvider
            | Self::ValidateResource
            | Self::ValidateData
            | Self::ValidateEphemeral
            | Self::CustomValidateResource
            | Self::ValidateLink => minutes(1),
            Self::Upgrade
            | Self::UpgradeIdentity
            | Self::Move
            | Self::Functions
            | Self::CallFunction => minutes(1),
            Self::Schema => minutes(2),
            // Optional: a plugin that does not answer is used without identity schemas.
            Self::IdentitySchemas => Some(Duration::from_secs(30)),
            Self::Configure | Self::Read | Self::Plan | Self::Import | Self::ReadData => {
                minutes(10)
            }
            Self::OpenEphemeral | Self::RenewEphemeral | Self::CloseEphemeral => minutes(10),
            Self::ResourceHasStabilised
            | Self::GetResourceExternalState
            | Self::FetchDataSource
            | Self::StageLinkChanges
            | Self::GetLinkIntermediaryExternalState => minutes(10),
        }
    }

    /// Returns true if the call changes neither infrastructure nor the process, however often it is
    /// made.
    pub fn changes_nothing(self) -> bool {
        !matches!(
            self,
            Self::Apply
                | Self::DeployResource
                | Self::DestroyResource
                | Self::LinkResourceA
                | Self::LinkResourceB
                | Self::LinkIntermediaries
                | Self::Configure
                | Self::OpenEphemeral
                | Self::RenewEphemeral
                | Self::CloseEphemeral
                | Self::Stop
        )
    }

    /// Returns true if a running call may be dropped on cancellation. An apply is never dropped,
    /// because its outcome must be learned.
    pub fn can_be_dropped(self) -> bool {
        !matches!(
            self,
            Self::Apply
                | Self::DeployResource
                | Self::DestroyResource
                | Self::LinkResourceA
                | Self::LinkResourceB
                | Self::LinkIntermediaries
        )
    }
}

impl From<Method> for MethodName {
    fn from(method: Method) -> Self {
        Self::from_static(method.name())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
