//! The one model of what providers say: schema, capabilities, requests, answers, diagnostics. Every
//! dialect converts into it. Values carry no marks and have the implied type of their schema. Plain
//! data.

use super::Schemas;
use crate::engine::calls::{Answer, Method, ProviderDiagnostic};
use crate::engine::secrets::Secrets;
use cty::schema::Schema;
use cty::{Path, Type, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

pub use proto::Bytes;

/// All that a provider says of itself. Shared by every process of the same executable.
#[derive(Debug, Clone, Default)]
pub struct ProviderSchema {
    pub provider: Schema,
    pub provider_meta: Option<Schema>,
    pub resources: Schemas,
    pub data_sources: Schemas,
    pub ephemeral: Schemas,
    pub functions: Signatures,
    /// By resource type; empty where the provider knows nothing of identities.
    pub identities: BTreeMap<String, IdentitySchema>,
    pub capabilities: Capabilities,
    pub links: LinkTypes,
    /// Known after [`Provider::documented`](super::Provider::documented) alone.
    pub resource_texts: TypeTexts,
    pub data_texts: TypeTexts,
    /// Warnings that came with the schema.
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Text about one type of a provider, beside its schema. Empty where the provider has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeText {
    pub label: String,
    pub summary: String,
    pub description: String,
    pub examples: Vec<String>,
}

/// Texts about types, by the name of the type.
pub type TypeTexts = BTreeMap<String, TypeText>;

/// The type of the resources that links are.
pub const LINK: &str = "link";

/// Two resource types, as configurations name them: from and to.
pub type LinkPair = [String; 2];

/// Which resource types a provider links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LinkTypes {
    /// Its dialect has no links.
    #[default]
    Unspoken,
    /// Each with the end that has to be there before the other one, 0 or 1, where one has.
    Pairs(BTreeMap<LinkPair, Option<usize>>),
    /// It has these and cannot be asked for them: why.
    Refused(BTreeSet<LinkPair>, String),
}

/// What the provider's server can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Wants to be asked for the plan of a destroy.
    pub plan_destroy: bool,
    /// A new process may be used without having been asked for its schema.
    pub get_schema_optional: bool,
    pub move_resource_state: bool,
    pub generate_resource_config: bool,
}

/// Functions by name.
pub type Signatures = BTreeMap<String, FunctionSignature>;

/// How a function is called.
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
    /// Whether the function may be called with unknown values; otherwise the result is unknown
    /// without a call.
    pub allow_unknown: bool,
    pub description: String,
}

/// The identity of a resource type: an object apart from its state.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentitySchema {
    pub version: i64,
    /// An object type.
    pub ty: Type,
    pub required_for_import: Vec<String>,
    pub optional_for_import: Vec<String>,
}

/// State as stored by an older (or the same) version of the schema, to be made fit for this one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpgradeRequest {
    pub type_name: String,
    /// Schema version that the stored state has.
    pub version: i64,
    /// The stored attributes, verbatim JSON.
    pub raw_json: Bytes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UpgradeResponse {
    /// Null where errors came.
    pub state: Value,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IdentityResponse {
    /// `None` where there is none, or errors came.
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
    /// Null where the object is gone.
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
    /// The provider's SDK cannot keep to the rules for plans: what breaks them is a warning in the
    /// log.
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
    /// `None` where the provider sent no value at all, which is not the same as null (gone).
    pub new_state: Option<Value>,
    pub private: Bytes,
    pub identity: Option<Value>,
    pub legacy: bool,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// Import by id, or by identity where that is given.
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

/// State of another resource type, perhaps of another provider, to become state of this one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MoveRequest {
    /// `registry.terraform.io/hashicorp/null`.
    pub source_provider: String,
    pub source_type: String,
    pub source_version: i64,
    pub raw_json: Bytes,
    pub source_private: Bytes,
    /// JSON, where the object has an identity.
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
    /// When it must be renewed, where it must.
    pub renew_at: Option<SystemTime>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RenewResponse {
    pub private: Option<Bytes>,
    pub renew_at: Option<SystemTime>,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// The functions that a configured provider has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionsResponse {
    pub signatures: Signatures,
    pub diagnostics: Vec<ProviderDiagnostic>,
}

/// A function's result, or its error with the argument (from 0) that it is about.
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

impl Answer for std::sync::Arc<ProviderSchema> {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        &self.diagnostics
    }

    /// A schema comes before any value.
    fn hide(&mut self, _: &Secrets) {}
}

impl Answer for FunctionResponse {
    fn diagnostics(&self) -> &[ProviderDiagnostic] {
        &[]
    }

    fn hide(&mut self, secrets: &Secrets) {
        if let Err(error) = &mut self.result {
            secrets.hide_in(&mut error.text);
        }
    }
}

impl ProviderSchema {
    /// The schema that a call of `method` on `type_name` is about: resource, data source or
    /// ephemeral.
    pub fn of(&self, method: Method, type_name: &str) -> Option<&Schema> {
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
