//! What is told while something is installed.

use serde::Serialize;
use std::sync::Arc;

/// A step of installing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Step {
    /// A module's package is fetched.
    ModuleFetching {
        /// Its calls, joined by dots.
        module: String,
        source: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A module is where it belongs.
    ModuleInstalled {
        module: String,
        dir: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A provider's version is looked for.
    ProviderSought {
        provider: String,
        constraints: String,
        /// The version of the lock file.
        #[serde(skip_serializing_if = "Option::is_none")]
        locked: Option<String>,
    },
    /// A provider's package is fetched.
    ProviderFetching {
        provider: String,
        version: String,
        from: String,
    },
    /// A provider is where it belongs.
    ProviderInstalled {
        provider: String,
        version: String,
        from: String,
        /// The key that has signed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// The hashes of a provider's package for a kind of machine are known.
    ProviderHashed {
        provider: String,
        version: String,
        platform: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// A provider's package for a kind of machine lies in the mirror.
    ProviderMirrored {
        provider: String,
        version: String,
        platform: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// A provider was there, as the lock file has it.
    ProviderReused { provider: String, version: String },
    /// The lock file was written.
    Locked { file: String },
    /// How far a download is.
    Bytes {
        /// The module or provider that is fetched.
        what: String,
        done: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
}

/// Hears of each step, on whatever thread it happens.
pub type Tell = Arc<dyn Fn(Step) + Send + Sync>;
