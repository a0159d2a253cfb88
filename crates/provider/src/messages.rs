//! Common model of provider data: schemas, capabilities, requests, answers, diagnostics. Every
//! dialect converts to it. Values have no marks and the implied type of their schema. Plain data.

use super::Schemas;
use calls::{Answer, Method, ProviderDiagnostic, SharedAnswer};
use cty::schema::Schema;
use cty::{Path, Type, Value};
use model::secrets::Secrets;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

pub use proto::Bytes;

/// Self-description of a provider. Shared by all processes of one executable.
#[derive(Debug, Clone, Default)]
pub struct ProviderSchema {
    pub provider: Schema,
    pub provider_meta: Option<Schema>,
    pub resources: Schemas,
    pub data_sources: Schemas,
    pub ephemeral: Schemas,
    pub functions: Signatures,
    /// By resource type; empty if the provider has no identities.
    pub identities: BTreeMap<String, IdentitySchema>,
    pub capabilities: Capabilities,
    pub links: LinkTypes,
    /// Set only after [`Provider::documented`](super::Provider::documented).
    pub resource_texts: TypeTexts,
    pub data_texts: TypeTexts,
    /// Warnings that came with the schema.
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Documentation of one type, separate from its schema. Empty if the provider has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeText {
    pub label: String,
    pub summary: String,
    pub description: String,
    pub examples: Vec<String>,
}

/// Documentation by type name.
pub type TypeTexts = BTreeMap<String, TypeText>;

/// Resource type of links.
pub const LINK: &str = "link";

/// Names of two resource types in configurations: from and to.
pub type LinkPair = [String; 2];

/// Link types of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LinkTypes {
    /// The dialect has no links.
    #[default]
    Unspoken,
    /// Pairs, each with the end (0 or 1) that must exist before the other one, if any.
    Pairs(BTreeMap<LinkPair, Option<usize>>),
    /// Pairs that the provider has but cannot be used, with the reason.
    Refused(BTreeSet<LinkPair>, String),
}

/// Capabilities of the provider's server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Requires a plan call for a destroy.
    pub plan_destroy: bool,
    /// A new process may be used without a schema call.
    pub get_schema_optional: bool,
    pub move_resource_state: bool,
    pub generate_resource_config: bool,
}

/// Functions by name.
pub type Signatures = BTreeMap<String, FunctionSignature>;

/// Signature of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSignature {
    pub parameters: Vec<FunctionParameter>,
    pub variadic: Option<FunctionParameter>,
    pub returns: Type,
    pub summary: String,
    pub description: String,
    pub deprecation: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FunctionParameter {
    pub name: String,
    pub ty: Type,
    pub allow_null: bool,
    /// True if the function accepts unknown values; otherwise the result is unknown without a call.
    pub allow_unknown: bool,
    pub description: String,
}

/// Identity of a resource type: an object separate from its state.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentitySchema {
    pub version: i64,
    /// Always an object type.
    pub ty: Type,
    pub required_for_import: Vec<String>,
    pub optional_for_import: Vec<String>,
}

/// Upgrade of stored state, of an older or the same schema version, to the current schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpgradeRequest {
    pub type_name: String,
    /// Schema version of the stored state.
    pub version: i64,
    /// Stored attributes, verbatim JSON.
    pub raw_json: Bytes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UpgradeResponse {
    /// Null after errors.
    pub state: Value,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IdentityResponse {
    /// `None` if there is no identity, or after errors.
    pub identity: Option<Value>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReadRequest {
    pub type_name: String,
    pub current: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReadResponse {
    /// Null if the object no longer exists.
    pub state: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    pub type_name: String,
    /// Null for a create.
    pub prior: Value,
    /// Null for a destroy.
    pub proposed: Value,
    /// Null for a destroy.
    pub config: Value,
    pub prior_private: Bytes,
    pub prior_identity: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlanResponse {
    pub planned: Value,
    pub requires_replace: Vec<Path>,
    pub private: Bytes,
    pub identity: Option<Value>,
    /// The provider's old SDK cannot follow the rules for plans; violations are only logged as
    /// warnings.
    pub legacy: bool,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ApplyRequest {
    pub type_name: String,
    pub prior: Value,
    /// Null for a destroy.
    pub planned: Value,
    pub config: Value,
    pub private: Bytes,
    pub planned_identity: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ApplyResponse {
    /// `None` if the provider sent no value, unlike null, which means that the object no longer
    /// exists.
    pub new_state: Option<Value>,
    pub private: Bytes,
    pub identity: Option<Value>,
    pub legacy: bool,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Import by id, or by identity if given.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportRequest {
    pub type_name: String,
    pub id: String,
    pub identity: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportResponse {
    pub imported: Vec<Imported>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub type_name: String,
    pub state: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
}

/// Conversion of the state of another resource type, possibly of another provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MoveRequest {
    /// Full address, such as `registry.terraform.io/hashicorp/null`.
    pub source_provider: String,
    pub source_type: String,
    pub source_version: i64,
    pub raw_json: Bytes,
    pub source_private: Bytes,
    /// JSON, if the object has an identity.
    pub source_identity: Option<Bytes>,
    pub source_identity_version: i64,
    pub target_type: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MoveResponse {
    pub state: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DataResponse {
    pub state: Value,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OpenResponse {
    pub result: Value,
    pub private: Option<Bytes>,
    /// Time at which it must be renewed, if any.
    pub renew_at: Option<SystemTime>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RenewResponse {
    pub private: Option<Bytes>,
    pub renew_at: Option<SystemTime>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Functions of a configured provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionsResponse {
    pub signatures: Signatures,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Result of a function, or its error with the index (from 0) of the argument concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionResponse {
    pub result: Result<Value, FunctionError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    pub text: String,
    pub argument: Option<usize>,
}

macro_rules! answers {
    ($($name:ty),*) => {$(
        impl Answer for $name {
            fn diagnostics(&self) -> &[ProviderDiagnostic] {
                &self.diagnostics
            }

            fn hide(&mut self, secrets: &Secrets) {
                self.diagnostics.iter_mut().for_each(|d| d.hide(secrets));
            }
        }
    )*};
}
answers!(
    UpgradeResponse,
    IdentityResponse,
    ReadResponse,
    PlanResponse,
    ApplyResponse,
    ImportResponse,
    MoveResponse,
    DataResponse,
    OpenResponse,
    RenewResponse,
    FunctionsResponse
);

/// A schema is fetched before any secret value exists.
impl SharedAnswer for ProviderSchema {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        &self.diagnostics
    }
}

impl Answer for FunctionResponse {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        &[]
    }

    fn hide(&mut self, secrets: &Secrets) {
        if let Err(error) = &mut self.result {
            secrets.redact_in_place(&mut error.text);
        }
    }
}

impl ProviderSchema {
    /// Returns the schema for a call of `method` on `type_name`: resource, data source or ephemeral
    /// resource.
    pub fn schema_for_call(&self, method: Method, type_name: &str) -> Option<&Schema> {
        match method {
            Method::ValidateData | Method::ReadData => self.data_sources.get(type_name),
            Method::ValidateEphemeral
            | Method::OpenEphemeral
            | Method::RenewEphemeral
            | Method::CloseEphemeral => self.ephemeral.get(type_name),
            _ => self.resources.get(type_name),
        }
    }
}
