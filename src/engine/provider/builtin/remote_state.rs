//! `terraform_remote_state`: the outputs of another configuration's state. Of the backends, `local`
//! with files of state version 4; others are refused by name. Reads files, keeps nothing.

use crate::engine::calls::ProviderDiagnostic;
use crate::engine::provider::*;
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

pub(super) fn schema() -> Schema {
    let attributes = [
        (
            "backend",
            Attribute::required(Type::String)
                .describe("The backend that keeps the state. Only `local` is supported yet."),
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
            attributes: attributes.map(|(n, a)| (n.to_owned(), a)).into(),
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
    if settings.is_wholly_known() && backend.is_given() {
        diagnostics.extend(Backend::of(config).err());
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

/// The local backend's settings.
struct Backend {
    path: PathBuf,
    workspace_dir: PathBuf,
}

impl Backend {
    fn of(config: &Value) -> Result<Self, ProviderDiagnostic> {
        let backend = attr(config, "backend");
        match backend.as_str() {
            Some("local" | "_local") => {}
            Some(other) => {
                return Err(invalid(
                    format!("The backend {other:?} cannot be read yet; only \"local\" can."),
                    "backend",
                ));
            }
            None => return Err(invalid("The backend must be named.", "backend")),
        }
        let mut backend = Self {
            path: "terraform.tfstate".into(),
            workspace_dir: "terraform.tfstate.d".into(),
        };
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
            let target = match &**name {
                "path" => &mut backend.path,
                "workspace_dir" => &mut backend.workspace_dir,
                other => {
                    return Err(invalid(
                        format!("The local backend has no argument {other:?}."),
                        "config",
                    ));
                }
            };
            if value.is_null() {
                continue;
            }
            let text = value
                .convert(&Type::String)
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned));
            match text {
                Some(text) if !text.is_empty() => *target = text.into(),
                _ => {
                    return Err(invalid(
                        format!("The argument {name:?} must be a string that is not empty."),
                        "config",
                    ));
                }
            }
        }
        Ok(backend)
    }

    fn file(&self, workspace: Option<&str>) -> PathBuf {
        match workspace {
            None | Some("default") => self.path.clone(),
            Some(name) => self.workspace_dir.join(name).join("terraform.tfstate"),
        }
    }
}

/// What is read of a state file.
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

pub(super) fn failed(error: ProviderDiagnostic) -> DataResponse {
    DataResponse {
        state: Value::null(schema().implied_type().clone()),
        diagnostics: vec![error],
    }
}

/// Reads the outputs. `base` is what relative paths are relative to.
pub(super) fn read(config: &Value, base: &FilePath) -> DataResponse {
    let backend = match Backend::of(config) {
        Ok(backend) => backend,
        Err(error) => return failed(error),
    };
    let workspace = attr(config, "workspace");
    let file = base.join(backend.file(workspace.as_str()));
    let mut outputs: BTreeMap<std::sync::Arc<str>, Value> = attr(config, "defaults")
        .as_map()
        .map(cty::Members::to_map)
        .unwrap_or_default();
    match read_file(&file) {
        Ok(Some(found)) => outputs.extend(found),
        Ok(None) => {
            let detail = format!(
                "No stored state was found for the given workspace in the given backend: {} does not exist.",
                file.display()
            );
            return failed(
                ProviderDiagnostic::error("Unable to find remote state", detail)
                    .at(Path::root().attr("workspace")),
            );
        }
        Err(why) => {
            let detail = format!("The state file {} cannot be read: {why}.", file.display());
            return failed(
                ProviderDiagnostic::error("Error loading state", detail)
                    .at(Path::root().attr("backend")),
            );
        }
    }
    let state = Value::object([
        ("backend", attr(config, "backend")),
        ("config", attr(config, "config")),
        ("defaults", attr(config, "defaults")),
        ("outputs", Value::object_from_map(outputs)),
        ("workspace", workspace),
    ]);
    DataResponse {
        state,
        diagnostics: Vec::new(),
    }
}

/// Values by name.
pub type Outputs = BTreeMap<std::sync::Arc<str>, Value>;

/// Why a state file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it is encrypted, which is not supported yet")]
    Encrypted,
    #[error("it has state version {0}, and only version 4 is supported")]
    Version(u64),
    #[error("it says no state version")]
    Unversioned,
    #[error("the type of output {name:?}: {source}")]
    Type {
        name: String,
        source: cty::TypeJsonError,
    },
    #[error("output {name:?}: {source}")]
    Value {
        name: String,
        source: cty::CodecError,
    },
}

fn read_file(file: &FilePath) -> Result<Option<Outputs>, StateFileError> {
    let text = match lang::functions::read_regular(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    outputs(&text)
}

/// The outputs in a state file's text; `None` where there is nothing in it.
///
/// # Errors
/// Why it cannot be read.
pub fn outputs(text: &[u8]) -> Result<Option<Outputs>, StateFileError> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let state: StateFile = serde_json::from_slice(text)?;
    if state.encrypted_data.is_some() {
        return Err(StateFileError::Encrypted);
    }
    match state.version {
        Some(4) => {}
        Some(other) => return Err(StateFileError::Version(other)),
        None => return Err(StateFileError::Unversioned),
    }
    let one = |(name, output): (String, Output)| {
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
mod tests {
    use super::*;

    fn config(backend: &str, settings: Value, defaults: Value, workspace: Option<&str>) -> Value {
        Value::object([
            ("backend", Value::string(backend)),
            ("config", settings),
            ("defaults", defaults),
            ("outputs", Value::null(Type::Dynamic)),
            (
                "workspace",
                workspace.map_or(Value::null(Type::String), Value::string),
            ),
        ])
    }

    fn none() -> Value {
        Value::null(Type::Dynamic)
    }

    fn path(p: &str) -> Value {
        Value::object([("path", Value::string(p))])
    }

    #[test]
    fn outputs_are_read_with_their_types_over_the_defaults() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = r#"{"version": 4, "serial": 1, "outputs": {"v": {"value": ["b", "a"], "type": ["set", "string"], "sensitive": true}}, "resources": []}"#;
        std::fs::write(folder.path().join("up.json"), text).expect("written");
        let defaults = Value::object([("v", Value::string("default")), ("w", Value::int(1))]);
        let answer = read(
            &config("local", path("./up.json"), defaults, None),
            folder.path(),
        );
        assert_eq!(answer.diagnostics, []);
        let outputs = attr(&answer.state, "outputs");
        assert_eq!(
            attr(&outputs, "v"),
            Value::set(Type::String, vec![Value::string("a"), Value::string("b")])
        );
        assert_eq!(attr(&outputs, "w"), Value::int(1));
        std::fs::create_dir_all(folder.path().join("terraform.tfstate.d/blue")).expect("a folder");
        std::fs::write(
            folder
                .path()
                .join("terraform.tfstate.d/blue/terraform.tfstate"),
            text,
        )
        .expect("written");
        assert_eq!(
            read(
                &config("local", none(), none(), Some("blue")),
                folder.path()
            )
            .diagnostics,
            []
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_in_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = [
            ("absent", None, "does not exist"),
            ("old", Some(r#"{"version": 3}"#), "version 3"),
            ("unversioned", Some("{}"), "no state version"),
            (
                "encrypted",
                Some(r#"{"encrypted_data": "x", "meta": {}}"#),
                "encrypted",
            ),
            ("broken", Some("{"), "cannot be read"),
            (
                "badtype",
                Some(r#"{"version": 4, "outputs": {"x": {"value": 1, "type": "bag"}}}"#),
                "output \"x\"",
            ),
        ];
        for (name, text, words) in rows {
            if let Some(text) = text {
                std::fs::write(folder.path().join(name), text).expect("written");
            }
            let answer = read(&config("local", path(name), none(), None), folder.path());
            assert!(answer.state.is_null(), "{name}");
            assert!(
                answer.diagnostics[0].detail.contains(words),
                "{name}: {}",
                answer.diagnostics[0].detail
            );
        }
        let answer = read(
            &config("local", path("/dev/zero"), none(), None),
            folder.path(),
        );
        assert!(
            answer.diagnostics[0].detail.contains("not a regular file"),
            "{}",
            answer.diagnostics[0].detail
        );
    }

    #[test]
    fn configurations_are_checked_once_they_are_known() {
        let errors = |c: Value| {
            validate(&c)
                .into_iter()
                .map(|d| format!("{}", d.path.expect("a place")))
                .collect::<Vec<_>>()
        };
        assert_eq!(errors(config("s3", none(), none(), None)), [".backend"]);
        assert_eq!(
            errors(config(
                "local",
                Value::object([("bucket", Value::string("b"))]),
                none(),
                None
            )),
            [".config"]
        );
        assert_eq!(errors(config("local", path(""), none(), None)), [".config"]);
        assert_eq!(
            errors(config("local", Value::int(1), Value::int(2), None)),
            [".config", ".defaults"]
        );
        assert_eq!(
            errors(config("local", Value::unknown(Type::Dynamic), none(), None)),
            Vec::<String>::new()
        );
        assert_eq!(
            errors(config("local", path("x"), Value::empty_object(), None)),
            Vec::<String>::new()
        );
    }
}
