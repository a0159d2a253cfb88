//! Model of the installation methods and registry settings in the CLI configuration.

use super::places::Pattern;
use dependency::ProviderAddress;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Installation method, with patterns of the providers it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    pub kind: MethodKind,
    pub include: Vec<Pattern>,
    pub exclude: Vec<Pattern>,
    /// Number of retries of a download, if configured.
    pub retries: Option<u32>,
}

/// Kinds of installation methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MethodKind {
    /// The registry that the address names.
    Direct,
    /// Directory of packages (`filesystem_mirror`).
    Filesystem(PathBuf),
    /// Server with packages (`network_mirror`).
    Network {
        url: String,
        /// True to accept the server's hashes for all platforms (`trust_all_hashes`).
        trust_all: bool,
    },
}

impl Method {
    /// Returns true if the method applies to a complete address.
    #[must_use]
    pub fn serves(&self, address: &ProviderAddress) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|p| p.matches(address));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// Settings of registries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registries {
    /// Tokens by host.
    pub tokens: BTreeMap<String, String>,
    /// Credentials helper, with its arguments.
    pub helper: Option<(String, Vec<String>)>,
    /// Services by host, which replace the host's own discovery document.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Number of retries of a request.
    pub retries: Option<u32>,
    /// Timeout of a request, in seconds.
    pub answer_s: Option<u32>,
}
