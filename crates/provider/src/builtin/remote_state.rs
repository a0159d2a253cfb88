//! `terraform_remote_state`: reads the outputs of another configuration's state, from every backend
//! that flightdeck supports. Keeps no state.

use crate::*;
use calls::ProviderDiagnostic;
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type, Value};
use model::DEFAULT_WORKSPACE;
use serde::Deserialize;
use serde_json::value::RawValue;
use state::backend::{BackendKind, Settings, SettingsError};
use state::{CipherError, FileEncryption, StateError};
use std::collections::BTreeMap;
use std::path::Path as FilePath;

pub(super) fn schema() -> Schema {
    let attributes = [
        (
            "backend",
            Attribute::required(Type::String)
                .describe("The backend that keeps the state: local, http, s3, pg, gcs, azurerm."),
        ),
        (
            "config",
            Attribute::optional(Type::Dynamic).describe("The backend's configuration, an object."),
        ),
        (
            "defaults",
            Attribute::optional(Type::Dynamic)
                .describe("Values of outputs that the state does not have."),
        ),
        (
            "outputs",
            Attribute::computed(Type::Dynamic)
                .describe("All outputs of the root module, an object."),
        ),
        (
            "workspace",
            Attribute::optional(Type::String).describe("The workspace whose state is read."),
        ),
    ];
    Schema::new(
        0,
        Block {
            attributes: attributes.map(|(n, a)| (n.into(), a)).into(),
            ..Default::default()
        },
    )
}

fn attr(value: &Value, name: &str) -> Value {
    value
        .get_attr(name)
        .unwrap_or_else(|| Value::null(Type::Dynamic))
}

fn object_like(value: &Value) -> bool {
    matches!(value.ty(), Type::Dynamic | Type::Object(_) | Type::Map(_))
}

fn invalid(detail: impl Into<String>, at: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Invalid backend configuration", detail).at(Path::root().attr(at))
}

pub(super) fn validate(config: &Value) -> Vec<ProviderDiagnostic> {
    let mut diagnostics = Vec::new();
    let (backend, settings, defaults) = (
        attr(config, "backend"),
        attr(config, "config"),
        attr(config, "defaults"),
    );
    // Unknown settings are checked when the data source is read.
    if settings.is_wholly_known() && backend.is_given() {
        diagnostics.extend(backend_of(config).err());
    } else if !object_like(&settings) {
        diagnostics.push(invalid(
            "The configuration must be an object value.",
            "config",
        ));
    }
    if !object_like(&defaults) {
        let error = ProviderDiagnostic::error(
            "Invalid default values",
            "Defaults must be given in an object value.",
        );
        diagnostics.push(error.at(Path::root().attr("defaults")));
    }
    diagnostics
}

/// Returns the backend to read from, checked without access to it.
fn backend_of(config: &Value) -> Result<Settings, ProviderDiagnostic> {
    let backend = attr(config, "backend");
    let kind = match backend.as_str() {
        // Older versions of Terraform used this name.
        Some("_local") => Ok(BackendKind::Local),
        Some(kind) => kind.parse(),
        None => return Err(invalid("The backend must be named.", "backend")),
    };
    let kind = kind.map_err(|e: SettingsError| invalid(e.to_string(), "backend"))?;
    let mut backend = Settings::new(kind);
    let settings = attr(config, "config");
    if settings.is_null() {
        return Ok(backend);
    }
    if !object_like(&settings) {
        return Err(invalid(
            "The configuration must be an object value.",
            "config",
        ));
    }
    for (name, value) in settings.as_map().into_iter().flatten() {
        if kind == BackendKind::Local && value.as_str() == Some("") {
            return Err(invalid(
                format!("The argument {name:?} must be a string that is not empty."),
                "config",
            ));
        }
        // The backend needs plain values; the marks matter only for display.
        let set = backend.set(name, &value.clone().unmark_deep().0);
        set.map_err(|e| invalid(e.to_string(), "config"))?;
    }
    Ok(backend)
}

/// Encryption of the states to read.
#[derive(Debug, Clone, Default)]
pub struct RemoteStates {
    /// Used if a data source has no setting of its own.
    pub default: FileEncryption,
    /// By the name of a data source, as in an `encryption` block.
    pub by_name: BTreeMap<String, FileEncryption>,
}

impl RemoteStates {
    /// Returns the encryption of the state that a data source reads.
    pub(super) fn of(&self, address: &str) -> &FileEncryption {
        self.by_name.get(&name_of(address)).unwrap_or(&self.default)
    }
}

/// Returns the name of a data source in an `encryption` block: without its type, and without
/// `module.` before the first module, as in OpenTofu's builtin provider.
fn name_of(address: &str) -> String {
    let name = address.replacen("data.terraform_remote_state.", "", 1);
    match name.strip_prefix("module.") {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// Fields to read of a state file.
#[derive(Deserialize)]
struct StateFile {
    version: Option<u64>,
    #[serde(default)]
    outputs: BTreeMap<String, Output>,
    encrypted_data: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Output {
    value: Box<RawValue>,
    r#type: Box<RawValue>,
}

pub(super) fn failed_response(error: ProviderDiagnostic) -> DataResponse {
    DataResponse {
        state: Value::null(schema().implied_type().clone()),
        diagnostics: vec![error],
    }
}

/// Returns the location and contents of the stored state.
async fn read_stored(
    backend: &Settings,
    workspace: &str,
    base: &FilePath,
) -> Result<(String, Vec<u8>), StateError> {
    // Backends keep the default workspace without a name.
    let named = if workspace == DEFAULT_WORKSPACE {
        ""
    } else {
        workspace
    };
    let home = backend.open(base, true)?.state_manager(named)?;
    Ok((home.place(), home.read().await?))
}

/// Reads the outputs. `base` is the directory for relative paths.
pub(super) async fn read(config: &Value, base: &FilePath, ciphers: FileEncryption) -> DataResponse {
    let backend = match backend_of(config) {
        Ok(backend) => backend,
        Err(error) => return failed_response(error),
    };
    let trouble = |detail: String| {
        let error = ProviderDiagnostic::error("Error loading state", detail);
        failed_response(error.at(Path::root().attr("backend")))
    };
    let workspace = attr(config, "workspace");
    let named = workspace.as_str().unwrap_or_default();
    let (place, text) = match read_stored(&backend, named, base).await {
        Ok(stored) => stored,
        Err(why) => return trouble(format!("{why}.")),
    };
    let mut all: BTreeMap<std::sync::Arc<str>, Value> = attr(config, "defaults")
        .as_map()
        .map(cty::Members::to_map)
        .unwrap_or_default();
    // Outputs of the state take precedence over the defaults.
    match decrypt_outputs(text, ciphers).await {
        Ok(Some(found)) => all.extend(found),
        Ok(None) => {
            let detail = format!(
                "No stored state was found for the given workspace in the given backend: there is nothing in {place}."
            );
            return failed_response(
                ProviderDiagnostic::error("Unable to find remote state", detail)
                    .at(Path::root().attr("workspace")),
            );
        }
        Err(why) => return trouble(format!("The state in {place} cannot be read: {why}.")),
    }
    let state = Value::object([
        ("backend", attr(config, "backend")),
        ("config", attr(config, "config")),
        ("defaults", attr(config, "defaults")),
        ("outputs", Value::object_from_map(all)),
        ("workspace", workspace),
    ]);
    DataResponse {
        state,
        diagnostics: Vec::new(),
    }
}

/// Decrypts a stored state and returns its outputs.
async fn decrypt_outputs(
    text: Vec<u8>,
    ciphers: FileEncryption,
) -> Result<Option<Outputs>, StateFileError> {
    // Key derivation blocks for up to seconds.
    let opened = tokio::task::spawn_blocking(move || ciphers.open(text));
    outputs(&opened.await??)
}

/// Output values by name.
pub type Outputs = BTreeMap<std::sync::Arc<str>, Value>;

/// Error of a state file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Encrypted(#[from] CipherError),
    #[error("it is encrypted, but no decryption is configured")]
    NoDecryption,
    #[error("an internal task of flightdeck failed: {0}")]
    Task(#[from] tokio::task::JoinError),
    #[error("it has state version {0}, but only version 4 is supported")]
    Version(u64),
    #[error("it has no state version")]
    Unversioned,
    #[error("the type of output {name:?} is invalid: {source}")]
    Type {
        name: String,
        source: cty::TypeJsonError,
    },
    #[error("the value of output {name:?} is invalid: {source}")]
    Value {
        name: String,
        source: cty::CodecError,
    },
}

/// Parses the outputs of a state file; `None` if it is empty.
///
/// # Errors
/// The file is encrypted, has another version, or cannot be parsed.
pub fn outputs(text: &[u8]) -> Result<Option<Outputs>, StateFileError> {
    // An empty file counts as an absent state.
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let state: StateFile = serde_json::from_slice(text)?;
    // Still encrypted at this point, so no cipher is configured for it.
    if state.encrypted_data.is_some() {
        return Err(StateFileError::NoDecryption);
    }
    match state.version {
        Some(4) => {}
        Some(other) => return Err(StateFileError::Version(other)),
        None => return Err(StateFileError::Unversioned),
    }
    let one = |(name, output): (String, Output)| {
        // Each output records its own type, because JSON alone does not determine it.
        let ty = Type::from_json(output.r#type.get().as_bytes()).map_err(|source| {
            StateFileError::Type {
                name: name.clone(),
                source,
            }
        })?;
        let value = cty::json::decode(output.value.get().as_bytes(), &ty).map_err(|source| {
            StateFileError::Value {
                name: name.clone(),
                source,
            }
        })?;
        Ok((name.into(), value))
    };
    state
        .outputs
        .into_iter()
        .map(one)
        .collect::<Result<_, StateFileError>>()
        .map(Some)
}

#[cfg(test)]
mod tests;
