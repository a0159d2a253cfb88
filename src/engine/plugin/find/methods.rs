//! How providers are installed, and what registries are shown and asked, as the CLI configuration
//! says.

use super::address::ProviderAddress;
use super::places::Pattern;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A way in which providers are installed, and which of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    pub kind: MethodKind,
    pub include: Vec<Pattern>,
    pub exclude: Vec<Pattern>,
    /// Further attempts at a download, where that is said.
    pub retries: Option<u32>,
}

/// The kinds of ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MethodKind {
    /// From the registry that the address names.
    Direct,
    /// A directory of packages.
    Filesystem(PathBuf),
    /// A server with packages.
    Network {
        url: String,
        /// Whether its word for the hashes of all platforms is taken.
        trust_all: bool,
    },
}

impl Method {
    /// Whether a complete address is installed in this way.
    #[must_use]
    pub fn serves(&self, address: &ProviderAddress) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|p| p.matches(address));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// What is said of registries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registries {
    /// Tokens by host.
    pub tokens: BTreeMap<String, String>,
    /// A program that knows tokens, with its arguments.
    pub helper: Option<(String, Vec<String>)>,
    /// Services by host, in place of what the host itself says.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Further attempts at an answer.
    pub retries: Option<u32>,
    /// How long is waited for one, in seconds.
    pub answer_s: Option<u32>,
}
