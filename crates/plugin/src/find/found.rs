//! Request and result of a provider search. The result is the provider with its location and the
//! reason of the choice, or the list of all locations searched.

use super::hash::HashCache;
use super::places::MirrorKind;
use crate::settings::Start;
use dependency::{ProviderAddress, Version, VersionConstraint};
use model::{NO_TRANSFORMERS, PLUGIN_PATH_DIALECT, PluginFound, PluginKind};
use std::fmt;
use std::path::{Path, PathBuf};

/// Provider to search for.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    pub address: ProviderAddress,
    pub constraints: VersionConstraint,
    /// Complete addresses of this provider in the state. They decide the host if the configuration
    /// gives none.
    pub in_state: Vec<ProviderAddress>,
    /// True if no source is configured: the address is that of the usual provider of this name.
    pub implied: bool,
}

/// The kind of location where a provider was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Reattach,
    DevOverride(PathBuf),
    /// The workspace's own installation.
    Workspace(PathBuf),
    /// A mirror or cache.
    Mirror(MirrorKind, PathBuf),
    /// A directory of the plugin path, in the layout of Bluelink's deploy engine.
    PluginPath(PathBuf),
    Bundled,
    /// Part of the engine; no process is launched.
    Builtin,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reattach => f.write_str("TF_REATTACH_PROVIDERS"),
            Self::DevOverride(path) => write!(f, "dev_overrides {}", path.display()),
            Self::Workspace(path) => write!(f, "workspace {}", path.display()),
            Self::Mirror(kind, path) => write!(f, "{} {}", kind.display_name(), path.display()),
            Self::PluginPath(path) => write!(f, "plugin path {}", path.display()),
            Self::Bundled => f.write_str("bundled"),
            Self::Builtin => f.write_str("builtin"),
        }
    }
}

impl Origin {
    /// Returns the dialect that the location implies for all its plugins.
    pub(super) fn dialect(&self) -> Option<String> {
        matches!(self, Self::PluginPath(_)).then(|| PLUGIN_PATH_DIALECT.to_owned())
    }
}

/// A provider that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Complete, with the host.
    pub address: ProviderAddress,
    pub version: Option<Version>,
    /// Start of the process; `None` for the builtin provider.
    pub start: Option<Start>,
    /// Directory of the package, if there is one.
    pub package: Option<PathBuf>,
    pub origin: Origin,
    pub why: String,
}

impl Found {
    /// Returns the path of the executable, if a process is launched.
    #[must_use]
    pub fn executable(&self) -> Option<&Path> {
        match &self.start {
            Some(Start::Spawn(spec)) => Some(&spec.executable),
            _ => None,
        }
    }

    /// Restricts launches to files with this digest.
    pub fn restrict_to_digest(&mut self, digest: String) {
        let files = self.files().map(Path::to_owned);
        if let (Some(Start::Spawn(spec)), Some(files)) = (&mut self.start, files) {
            spec.approved = Some((files, digest));
        }
    }

    /// Returns the files of the plugin: the package's directory, else the executable alone. `None`
    /// if no process is launched.
    #[must_use]
    pub fn files(&self) -> Option<&Path> {
        let executable = self.executable()?;
        Some(self.package.as_deref().unwrap_or(executable))
    }

    /// Returns the record for events.
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

    /// Returns the identity of the plugin: two plugins are the same if and only if their digests
    /// are equal. It covers bytes alone. Path, modification time, owner and machine play no part,
    /// so that a copy, a fresh clone and another machine's installation have the same digest.
    ///
    /// - A package (`.terraform/providers`, mirrors, the plugin cache) is its `h1:` hash, over the
    ///   names and contents of all of its files, as lock files have it: a provider may read the
    ///   files beside its executable, and the hash can be compared with the lock file's.
    /// - A development override, a plugin of the plugin path and a bundled provider are the
    ///   `sha256:` of the executable alone. The directory of a build has much in it that the
    ///   plugin never reads, and the plugin path has no notion of a package.
    ///
    /// `None` if flightdeck does not launch the plugin or a file cannot be read: the contents are
    /// then unknown, and the caller must not treat the plugin as equal to any other.
    #[must_use]
    pub fn digest(&self, cache: &HashCache) -> Option<String> {
        cache.digest(self.files()?).ok()
    }
}

/// Result of a search without a usable provider: every location, with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Boxed to keep the error small, because most searches succeed.
    pub address: Box<ProviderAddress>,
    pub constraints: String,
    /// Locations with their findings, in the order of the search.
    pub searched: Vec<(String, String)>,
    /// Path of the provider's package below a searched directory; `None` if it cannot be installed
    /// there.
    pub package: Option<String>,
    /// True if the plugin path has only other versions; no provider registry has the plugin.
    pub is_plugin_of_path: bool,
    /// Executable of the transformer with this id, if the configuration requires one as a provider.
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
                ": the plugin with this id is a transformer, {}, and {NO_TRANSFORMERS}; remove it from required_providers",
                path.display()
            )?;
        }
        f.write_str("\nsearched")?;
        for (place, saw) in &self.searched {
            write!(f, "\n  {place}: {saw}")?;
        }
        // `init` cannot help: no registry has plugins of the plugin path.
        if self.is_plugin_of_path {
            return write!(f, "\n{}", self.remedy());
        }
        match (&self.package, &self.transformer) {
            (Some(package), None) => write!(
                f,
                "\nrun `flightdeck init` to install it, or copy it into one of these directories as {package}"
            ),
            (None, _) | (_, Some(_)) => Ok(()),
        }
    }
}

impl NotFound {
    /// Returns the remedy for the operator, without a full stop.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.is_plugin_of_path {
            true => {
                "install an allowed version in a directory of the plugin path as providers/NAMESPACE/NAME/VERSION/plugin, or change the version constraint in required_providers"
            }
            false => "run `flightdeck init` to install missing providers",
        }
    }
}

impl std::error::Error for NotFound {}
