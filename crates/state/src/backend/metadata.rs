//! Backend metadata of a directory, `.terraform/terraform.tfstate`, in OpenTofu's format: type,
//! merged arguments and the hash of the block, written by `init`.

use super::settings::Settings;
use crate::StateError;
use fsroot::RootedPath;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// File name in the data directory.
const NAME: &str = "terraform.tfstate";
/// The only supported version.
const VERSION: u64 = 3;

/// Backend metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendMetadata {
    /// Name of the kind of backend, which may be unsupported, and merged arguments.
    pub kind: String,
    pub config: Map<String, Json>,
    /// Hash of the backend block at the time of `init`.
    pub hash: u64,
}

#[derive(Serialize, Deserialize)]
struct File {
    #[serde(default)]
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    terraform_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend: Option<Written>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    r#type: String,
    #[serde(default)]
    config: Map<String, Json>,
    #[serde(default)]
    hash: u64,
}

impl BackendMetadata {
    /// Creates metadata from settings and the hash of their block.
    pub fn from_settings(settings: &Settings, hash: u32) -> Self {
        Self {
            kind: settings.kind().to_string(),
            config: settings.all_arguments(),
            hash: hash.into(),
        }
    }

    /// Reads the metadata of a data directory; `None` if no backend is recorded.
    ///
    /// # Errors
    /// The file cannot be read or is not backend metadata.
    pub fn read(data: &Path) -> Result<Option<Self>, StateError> {
        let path = data.join(NAME);
        let text = match fsroot::read_regular(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StateError::io("read", &path)(e)),
        };
        let none = |why: String| StateError::Record {
            path: path.clone(),
            why,
        };
        if text.is_empty() {
            // An empty file names no backend.
            return Ok(None);
        }
        let file: File = serde_json::from_slice(&text).map_err(|e| none(e.to_string()))?;
        if file.version != VERSION {
            return Err(none(format!(
                "it has version {}, but only version {VERSION} is supported",
                file.version
            )));
        }
        Ok(file.backend.map(|b| Self {
            kind: b.r#type,
            config: b.config,
            hash: b.hash,
        }))
    }

    /// Writes the metadata, or records that there is no backend. The file is replaced atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(record: Option<&Self>, data: &RootedPath) -> Result<(), StateError> {
        let to = data.join(NAME);
        let file = File {
            version: VERSION,
            terraform_version: None,
            backend: record.map(|r| Written {
                r#type: r.kind.clone(),
                config: r.config.clone(),
                hash: r.hash,
            }),
        };
        // Arguments may be secret.
        to.replace(serialize(&file).as_bytes(), 0o600)
            .map_err(StateError::io("write", &to.path()))
    }
}

/// Serializes with four spaces and the escapes of Go.
fn serialize(file: &File) -> String {
    let mut text = Vec::new();
    let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut to = serde_json::Serializer::with_formatter(&mut text, indent);
    // Serializing a struct of strings and numbers into memory cannot fail.
    drop(file.serialize(&mut to));
    let mut escaped = String::new();
    // These characters occur in JSON only inside strings.
    for c in String::from_utf8_lossy(&text).chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped + "\n"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    /// Written by `tofu init`.
    const WRITTEN: &str = "{\n    \"version\": 3,\n    \"backend\": {\n        \"type\": \"local\",\n        \"config\": {\n            \"path\": \"a\\u003cb\\u0026.tfstate\",\n            \"workspace_dir\": null\n        },\n        \"hash\": 3761973635\n    }\n}\n";

    #[test]
    fn backend_metadata_round_trips_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        assert_eq!(BackendMetadata::read(&data).unwrap(), None);
        std::fs::create_dir(&data).unwrap();
        let file = data.join(NAME);
        std::fs::write(&file, WRITTEN).unwrap();
        let read = BackendMetadata::read(&data).unwrap().unwrap();
        assert_eq!((read.kind.as_str(), read.hash), ("local", 3_761_973_635));
        assert_eq!(read.config["path"], "a<b&.tfstate");
        std::fs::remove_file(&file).unwrap();
        BackendMetadata::write(Some(&read), &RootedPath::new(&data, "")).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), WRITTEN);
        BackendMetadata::write(None, &RootedPath::new(&data, "")).unwrap();
        assert_eq!(BackendMetadata::read(&data).unwrap(), None);
    }

    #[test]
    fn malformed_backend_metadata_is_rejected_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        for (text, why) in [("{", "EOF"), ("{\"version\":4}", "version 4")] {
            std::fs::write(dir.path().join(NAME), text).unwrap();
            let said = BackendMetadata::read(dir.path()).unwrap_err().to_string();
            assert!(said.contains(why) && said.contains(NAME), "{said}");
        }
    }
}
