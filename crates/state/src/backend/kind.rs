//! Kinds of backends.

use super::SettingsError;
use std::fmt;
use std::str::FromStr;

/// A supported kind of backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    Local,
    Http,
    S3,
    Pg,
    Gcs,
    Azurerm,
}

impl BackendKind {
    const ALL: [Self; 6] = [
        Self::Local,
        Self::Http,
        Self::S3,
        Self::Pg,
        Self::Gcs,
        Self::Azurerm,
    ];

    /// Name in configurations and backend metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Http => "http",
            Self::S3 => "s3",
            Self::Pg => "pg",
            Self::Gcs => "gcs",
            Self::Azurerm => "azurerm",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fails for a backend that is not supported; the error has a remedy.
impl FromStr for BackendKind {
    type Err = SettingsError;

    fn from_str(name: &str) -> Result<Self, SettingsError> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| SettingsError::Kind(refusal(name)))
    }
}

/// Describes an unsupported or removed backend, with a remedy.
fn refusal(kind: &str) -> String {
    let (what, remedy) = match kind {
        "cloud" | "remote" => (
            "which stores the state in a remote service that also runs operations; flightdeck does not support that",
            "Move the state to another backend with `tofu init -migrate-state`",
        ),
        "consul" | "kubernetes" | "cos" | "oss" | "inmem" => (
            "which flightdeck does not support yet",
            "Move the state to local, http, s3, pg, gcs or azurerm with `tofu init -migrate-state`",
        ),
        "azure" => (
            "which was renamed",
            "Replace it with \"azurerm\", and run `flightdeck init`",
        ),
        "artifactory" | "etcd" | "etcdv3" | "manta" | "swift" => (
            "which OpenTofu and Terraform have removed",
            "Move the state to another backend with a release that still has it (Terraform 1.2 or earlier)",
        ),
        _ => (
            "which does not exist",
            "Use local, http, s3, pg, gcs or azurerm",
        ),
    };
    let subject = if kind == "cloud" {
        "The configuration has a cloud block".to_owned()
    } else {
        format!("The configuration uses the backend {kind:?}")
    };
    format!("{subject}, {what}. {remedy}.")
}
