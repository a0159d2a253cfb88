//! Arguments of a backend, in the types of its schema and in the form of backend metadata.

use super::BackendKind;
use super::schema::{self, Arguments, Shape};
use serde_json::{Map, Value as Json};

/// A backend's kind and its arguments without nulls.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    kind: BackendKind,
    arguments: Map<String, Json>,
}

/// Omits the arguments, which may be secret.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Settings").field(&self.kind).finish()
    }
}

/// Reasons why a backend block cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{0}")]
    Kind(String),
    #[error("The {kind} backend has no argument {name:?}.")]
    Unknown { kind: BackendKind, name: String },
    #[error("The argument {name:?} of the {kind} backend: {why}.")]
    Argument {
        kind: BackendKind,
        name: String,
        why: String,
    },
}

impl Settings {
    /// A backend of this kind without arguments.
    pub fn new(kind: BackendKind) -> Self {
        Self {
            kind,
            arguments: Map::new(),
        }
    }

    /// Settings from backend metadata.
    ///
    /// # Errors
    /// The backend is not supported, or an argument is unknown or of another type.
    pub fn recorded(kind: &str, config: &Map<String, Json>) -> Result<Self, SettingsError> {
        let mut settings = Self::new(kind.parse()?);
        for (name, value) in config {
            let shape = settings.argument_shape(name)?;
            let value = cty::json::decode_value(value, &shape.ty())
                .map_err(|e| settings.invalid_argument(name, e.to_string()))?;
            settings.set(name, &value)?;
        }
        Ok(settings)
    }

    pub fn kind(&self) -> BackendKind {
        self.kind
    }

    fn schema(&self) -> Arguments {
        schema::of(self.kind)
    }

    fn argument_shape(&self, name: &str) -> Result<Shape, SettingsError> {
        let found = self.schema().iter().find(|(n, _)| *n == name);
        found
            .map(|(_, shape)| *shape)
            .ok_or_else(|| SettingsError::Unknown {
                kind: self.kind,
                name: name.to_owned(),
            })
    }

    fn invalid_argument(&self, name: &str, why: String) -> SettingsError {
        SettingsError::Argument {
            kind: self.kind,
            name: name.to_owned(),
            why,
        }
    }

    /// Sets an argument; null removes it.
    ///
    /// # Errors
    /// The argument is unknown or the value has another type.
    pub fn set(&mut self, name: &str, value: &cty::Value) -> Result<(), SettingsError> {
        let ty = self.argument_shape(name)?.ty();
        if value.is_null() {
            self.arguments.remove(name);
            return Ok(());
        }
        let value = value
            .convert(&ty)
            .map_err(|e| self.invalid_argument(name, e.to_string()))?;
        let json = cty::json::to_json_value(&value)
            .map_err(|e| self.invalid_argument(name, e.to_string()))?;
        self.arguments.insert(name.to_owned(), json);
        self.arguments.sort_keys();
        Ok(())
    }

    /// State file of a workspace, relative to the workspace directory; `None` for other backends
    /// than `local`.
    pub fn file(&self, named: &str) -> Option<std::path::PathBuf> {
        if self.kind != BackendKind::Local {
            return None;
        }
        let values = super::Values::new(self, &|_| None);
        Some(super::local::file(&values, named))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.arguments.get(name)
    }

    /// Every argument of the backend by name, null if not set.
    pub fn all_arguments(&self) -> Map<String, Json> {
        let all = self.schema().iter();
        all.map(|(name, _)| {
            let value = self.arguments.get(*name).cloned();
            ((*name).to_owned(), value.unwrap_or_default())
        })
        .collect()
    }

    /// Hash by which OpenTofu detects a changed block: CRC-32 of the serialized values.
    pub fn hash(&self) -> u32 {
        let mut text = String::from("<");
        cty::quote(self.kind.name(), &mut text);
        text.push_str(";<");
        for (name, shape) in self.schema() {
            hashed(self.arguments.get(*name), *shape, &mut text);
            text.push(';');
        }
        text.push_str(">;>");
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        crc.sum()
    }
}

// This is the serialization that OpenTofu hashes, so both compute the same number.
fn hashed(value: Option<&Json>, shape: Shape, to: &mut String) {
    match value {
        None | Some(Json::Null) => to.push('~'),
        Some(Json::Bool(true)) => to.push('T'),
        Some(Json::Bool(false)) => to.push('F'),
        Some(Json::Number(number)) => to.push_str(&number.to_string()),
        Some(Json::String(text)) => cty::quote(text, to),
        Some(Json::Array(all)) => {
            to.push('[');
            for one in all {
                hashed(Some(one), Shape::Text, to);
                to.push(';');
            }
            to.push(']');
        }
        Some(Json::Object(all)) => {
            if let Shape::Object(attributes) = shape {
                to.push('<');
                for (name, shape) in attributes {
                    hashed(all.get(*name), *shape, to);
                    to.push(';');
                }
                to.push('>');
            } else {
                to.push('{');
                for (name, value) in all {
                    cty::quote(name, to);
                    to.push(':');
                    hashed(Some(value), Shape::Text, to);
                    to.push(';');
                }
                to.push('}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use cty::{Type, Value};
    use std::str::FromStr as _;

    fn text(text: &str) -> Value {
        Value::string(text)
    }

    #[test]
    fn backend_hash_matches_opentofu() {
        let mut local = Settings::new(BackendKind::Local);
        local.set("path", &text("st/x.tfstate")).unwrap();
        assert_eq!(local.hash(), 3_761_973_635);
        let mut http = Settings::new(BackendKind::Http);
        http.set("address", &text("http://127.0.0.1:9/x?a=<b>&c"))
            .unwrap();
        http.set("retry_max", &text("1")).unwrap();
        http.set("skip_cert_verification", &text("true")).unwrap();
        let headers = Value::object([("X-A", text("b")), ("A", text("y\"z\\"))]);
        http.set("headers", &headers).unwrap();
        assert_eq!(http.hash(), 4_100_032_234);
        // A null argument counts as not set.
        http.set("username", &Value::null(Type::String)).unwrap();
        assert_eq!(http.hash(), 4_100_032_234);
        http.set("retry_max", &text("2")).unwrap();
        assert_ne!(http.hash(), 4_100_032_234);
    }

    #[test]
    fn unknown_backend_arguments_and_backends_are_rejected_by_name() {
        let mut http = Settings::new(BackendKind::Http);
        let said = http.set("adress", &text("x")).unwrap_err().to_string();
        assert!(said.contains("no argument \"adress\""), "{said}");
        let said = http.set("retry_max", &text("x")).unwrap_err().to_string();
        assert!(said.contains("\"retry_max\""), "{said}");
        for (kind, word) in [
            ("cloud", "has a cloud block"),
            ("remote", "runs operations"),
            ("consul", "does not support yet"),
            ("azure", "Replace it with \"azurerm\""),
            ("swift", "Terraform 1.2"),
            ("nonsense", "does not exist"),
        ] {
            let said = BackendKind::from_str(kind).unwrap_err().to_string();
            assert!(said.contains(word), "{kind}: {said}");
        }
    }

    #[test]
    fn recorded_settings_round_trip_and_debug_output_hides_secrets() {
        let mut s3 = Settings::new(BackendKind::S3);
        s3.set("secret_key", &text("hunter2")).unwrap();
        let endpoints = Value::object([("s3", text("http://x"))]);
        s3.set("endpoints", &endpoints).unwrap();
        let whole = s3.all_arguments();
        assert_eq!(whole["bucket"], Json::Null);
        assert_eq!(whole["endpoints"]["sts"], Json::Null);
        assert_eq!(Settings::recorded("s3", &whole).unwrap(), s3);
        assert!(!format!("{s3:?}").contains("hunter2"));
    }
}
