//! What is looked for, and what comes of it: a provider with the place where it was and why it was
//! taken, or all places with what was there.

use super::address::ProviderAddress;
use super::hash::HashCache;
use super::places::MirrorKind;
use super::version::Constraints;
use crate::engine::plugin::settings::Start;
use crate::engine::words::{NO_TRANSFORMERS, PluginFound, PluginKind};
use semver::Version;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Want {
    pub address: ProviderAddress,
    pub constraints: Constraints,
    /// Complete addresses that the state has for this provider; they say which host is meant where
    /// none is written.
    pub named: Vec<ProviderAddress>,
    /// Nobody has said which one is meant: the address is that of the usual provider of this name.
    pub implied: bool,
}

/// The kind of place where a provider was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Reattach,
    DevOverride(PathBuf),
    /// The workspace's own installation.
    Workspace(PathBuf),
    /// A mirror or cache.
    Mirror(MirrorKind, PathBuf),
    /// A directory of plugins of the deploy engine's kind.
    PluginPath(PathBuf),
    Bundled,
    /// Part of the engine: nothing is launched.
    Builtin,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reattach => f.write_str("TF_REATTACH_PROVIDERS"),
            Self::DevOverride(path) => write!(f, "dev_overrides {}", path.display()),
            Self::Workspace(path) => write!(f, "workspace {}", path.display()),
            Self::Mirror(kind, path) => write!(f, "{} {}", kind.word(), path.display()),
            Self::PluginPath(path) => write!(f, "plugin path {}", path.display()),
            Self::Bundled => f.write_str("bundled"),
            Self::Builtin => f.write_str("builtin"),
        }
    }
}

impl Origin {
    /// What is spoken with all that is found there, where the place tells: the name of a dialect.
    pub(super) fn dialect(&self) -> Option<String> {
        matches!(self, Self::PluginPath(_)).then(|| "bluelink".to_owned())
    }
}

/// A provider that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Complete, with the host.
    pub address: ProviderAddress,
    pub version: Option<Version>,
    /// How to run it; `None` for the builtin one.
    pub start: Option<Start>,
    /// The package's directory, where it has one.
    pub package: Option<PathBuf>,
    pub origin: Origin,
    pub why: String,
}

impl Found {
    /// The executable, where one is launched.
    #[must_use]
    pub fn executable(&self) -> Option<&Path> {
        match &self.start {
            Some(Start::Spawn(spec)) => Some(&spec.executable),
            _ => None,
        }
    }

    /// Has it launched only as long as its files have this digest.
    pub fn only_as(&mut self, digest: String) {
        let files = self.files().map(Path::to_owned);
        if let (Some(Start::Spawn(spec)), Some(files)) = (&mut self.start, files) {
            spec.approved = Some((files, digest));
        }
    }

    /// The files that it consists of: the package's directory, else the executable alone. `None`
    /// where nothing is launched.
    #[must_use]
    pub fn files(&self) -> Option<&Path> {
        let executable = self.executable()?;
        Some(self.package.as_deref().unwrap_or(executable))
    }

    /// The record of it.
    #[must_use]
    pub fn record(&self) -> PluginFound {
        PluginFound {
            kind: PluginKind::Provider,
            address: self.address.to_string(),
            version: self.version.as_ref().map(Version::to_string),
            dialect: self.origin.dialect(),
            executable: self.executable().map(|p| p.display().to_string()),
            source: self.origin.to_string(),
            why: self.why.clone(),
            transform: None,
            about: None,
        }
    }

    /// The identity of what would run: two plugins are the same if and only if their digests are
    /// equal. It covers bytes alone. Path, modification time, owner and machine play no part, so
    /// that a copy, a fresh clone and another machine's installation have the same digest.
    ///
    /// - A package (`.terraform/providers`, mirrors, the plugin cache) is its `h1:` hash, over the
    ///   names and contents of all of its files, as lock files have it: a provider may read the
    ///   files beside its executable, and the hash can be compared with the lock file's.
    /// - A development override, a plugin of the plugin path and a bundled provider are the
    ///   `sha256:` of the executable alone. The directory of a build has much in it that the
    ///   plugin never reads, and the plugin path has no notion of a package.
    ///
    /// `None` where nothing is launched by us, or a file cannot be read: then nothing vouches for
    /// the contents, and the caller must not take it for the same as anything.
    #[must_use]
    pub fn digest(&self, cache: &HashCache) -> Option<String> {
        cache.digest(self.files()?).ok()
    }
}

/// Nothing that may be used was found: every place, and what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Boxed, for an answer that is mostly another one.
    pub address: Box<ProviderAddress>,
    pub constraints: String,
    /// Place and what was seen, in the order of looking.
    pub looked: Vec<(String, String)>,
    /// What the provider would be called below a place that is looked at; `None` where it can be
    /// put nowhere.
    pub package: Option<String>,
    /// Whether the plugin path has it in other versions alone: no registry of providers has it.
    pub is_plugin_of_path: bool,
    /// The transformer whose id it is, where somebody has written that id down.
    pub transformer: Option<PathBuf>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the provider {} ({}) was not found",
            self.address, self.constraints
        )?;
        if let Some(path) = &self.transformer {
            write!(
                f,
                ": what has this id is a transformer, {}, and {NO_TRANSFORMERS}; take it out of required_providers",
                path.display()
            )?;
        }
        f.write_str("\nlooked at")?;
        for (place, saw) in &self.looked {
            write!(f, "\n  {place}: {saw}")?;
        }
        if self.is_plugin_of_path {
            return write!(f, "\n{}", self.remedy());
        }
        match (&self.package, &self.transformer) {
            (Some(package), None) => write!(
                f,
                "\ninstall it with `flightdeck init`, or put it into one of these folders as {package}"
            ),
            (None, _) | (_, Some(_)) => Ok(()),
        }
    }
}

impl NotFound {
    /// Remedy for an operator, as a sentence without its end.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.is_plugin_of_path {
            true => {
                "install a version that is allowed in a directory of the plugin path, as providers/NAMESPACE/NAME/VERSION/plugin, or change the version constraint in required_providers"
            }
            false => "`flightdeck init` installs what is missing",
        }
    }
}

impl std::error::Error for NotFound {}
