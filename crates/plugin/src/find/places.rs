//! Locations to search for providers, gathered once per workspace from the environment and the CLI
//! configuration.

use super::cli_config::{self, CliConfig};
use super::config_syntax::TreeError;
use super::methods::{Method, Registries};
use super::plugin_path::{PluginPath, plugin_roots};
use super::reattach::reattach;
use crate::settings::Reattach;
use dependency::{DEFAULT_HOSTS, ProviderAddress};
use fsroot::roots;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Environment to gather the locations from; a value, so that tests can supply their own.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub variables: HashMap<String, OsString>,
    /// Path of this program, which serves the bundled providers.
    pub executable: Option<PathBuf>,
}

impl Environment {
    /// Returns the environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v)))
            .collect();
        Self {
            variables,
            executable: std::env::current_exe().ok(),
        }
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables
            .get(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    }

    /// Expands `$NAME` and `${NAME}`, and `~/` at the beginning.
    pub(super) fn expand(&self, text: &str) -> PathBuf {
        let mut out = String::new();
        let mut rest = text;
        if let (Some(tail), Some(home)) = (text.strip_prefix("~/"), self.path("HOME")) {
            out = format!("{}/", home.display());
            rest = tail;
        }
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let (name, tail) = match after
                .strip_prefix('{')
                .and_then(|inner| inner.split_once('}'))
            {
                Some(parts) => parts,
                None => after.split_at(
                    after
                        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                        .unwrap_or(after.len()),
                ),
            };
            out.push_str(
                &self
                    .variables
                    .get(name)
                    .map(|v| v.to_string_lossy())
                    .unwrap_or_default(),
            );
            rest = tail;
        }
        out.push_str(rest);
        PathBuf::from(out)
    }
}

/// Error of locations that cannot be gathered.
#[derive(Debug, Error)]
pub enum PlacesError {
    #[error("TF_REATTACH_PROVIDERS is invalid: {0}")]
    Reattach(String),
    #[error("cannot read the CLI configuration {}: {source}", .path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the CLI configuration {} has a syntax error: {source}", .path.display())]
    Syntax { path: PathBuf, source: TreeError },
    #[error("the CLI configuration {} is invalid: line {line}: {what}", .path.display())]
    Content {
        path: PathBuf,
        line: usize,
        what: String,
    },
}

/// Kind of a directory of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorKind {
    /// Set in the CLI configuration.
    Configured,
    /// Default directory, used if no installation method is configured.
    Implied,
    /// The plugin cache.
    Cache,
}

impl MirrorKind {
    /// Display name.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Configured => "filesystem mirror",
            Self::Implied => "implied mirror",
            Self::Cache => "plugin cache",
        }
    }
}

/// Variable that describes provider processes started by others, such as a debugger.
const REATTACH: &str = "TF_REATTACH_PROVIDERS";

/// Directory of packages, with patterns of the providers it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub kind: MirrorKind,
    pub path: PathBuf,
    pub include: Vec<Pattern>,
    pub exclude: Vec<Pattern>,
}

impl Mirror {
    fn without_filters(kind: MirrorKind, path: PathBuf) -> Self {
        Self {
            kind,
            path,
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }

    /// Returns true if the mirror serves a complete address.
    #[must_use]
    pub fn serves(&self, address: &ProviderAddress) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|p| p.matches(address));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    /// Display name: kind and path.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} {}", self.kind.display_name(), self.path.display())
    }
}

/// A pattern of addresses: `registry.terraform.io/hashicorp/*`, `hashicorp/*`, `*/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// `None` matches either default host.
    host: Option<String>,
    namespace: String,
    name: String,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.iter().any(|p| p.is_empty()) {
            return None;
        }
        let (host, namespace, name) = match parts[..] {
            [name] => (None, "hashicorp", name),
            [namespace, name] => (None, namespace, name),
            [host, namespace, name] => (Some(host.to_lowercase()), namespace, name),
            _ => return None,
        };
        Some(Self {
            host,
            namespace: namespace.to_lowercase(),
            name: name.to_lowercase(),
        })
    }

    pub(super) fn matches(&self, address: &ProviderAddress) -> bool {
        let fits = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let host = address.host.as_deref().unwrap_or_default();
        let on_host = match &self.host {
            Some(pattern) => fits(pattern, host),
            None => DEFAULT_HOSTS.contains(&host),
        };
        on_host && fits(&self.namespace, &address.namespace) && fits(&self.name, &address.name)
    }
}

/// All locations that may have a provider of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub reattach: BTreeMap<ProviderAddress, Reattach>,
    pub overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Directory of the configuration.
    pub root: PathBuf,
    /// `.terraform/providers` of the workspace.
    pub workspace: PathBuf,
    /// Directories given by the user: by an absolute path, and not in a file of the workspace.
    /// Plugins there belong to the user, even inside the workspace.
    pub user_directories: BTreeSet<PathBuf>,
    /// True if a file of the workspace is the CLI configuration, so that it names the sources.
    pub has_config_of_workspace: bool,
    /// In search order.
    pub mirrors: Vec<Mirror>,
    /// Bluelink plugins, in the directories that the environment names.
    pub plugin_path: PluginPath,
    /// Installation methods in order of preference; `None` if none is configured.
    pub methods: Option<Vec<Method>>,
    /// The plugin cache.
    pub cache: Option<PathBuf>,
    /// True to use cached packages that have no entry in the lock file.
    pub may_break_lock: bool,
    pub registries: Registries,
    /// Path of this program; bundled providers are unavailable without it.
    pub executable: Option<PathBuf>,
    /// Variables that bundled providers receive in addition to the environment.
    pub bundled_environment: BTreeMap<OsString, OsString>,
    /// Problems that are no errors, such as a missing configuration file or a skipped method.
    pub warnings: Vec<String>,
}

impl Places {
    /// Gathers the locations for a workspace.
    ///
    /// # Errors
    /// `TF_REATTACH_PROVIDERS` or the CLI configuration cannot be parsed.
    pub fn gather(workspace: &Path, around: &Environment) -> Result<Self, PlacesError> {
        let data = around
            .path("TF_DATA_DIR")
            .map_or_else(|| workspace.join(".terraform"), |d| workspace.join(d));
        let mut places = Self {
            root: workspace.to_owned(),
            workspace: data.join("providers"),
            user_directories: plugin_roots(around)
                .into_iter()
                .filter(|root| root.is_absolute())
                .collect(),
            executable: around.executable.clone(),
            plugin_path: PluginPath::read(&plugin_roots(around)),
            ..Self::default()
        };
        if let Some(text) = around.variables.get(REATTACH).filter(|t| !t.is_empty()) {
            places.reattach = reattach(&text.to_string_lossy())?;
        }
        let config = places.cli_config(workspace, around)?;
        places.mirrors = match config.mirrors() {
            Some(mirrors) => mirrors,
            None => implied(workspace, around),
        };
        places.methods = config.methods;
        places.registries = config.registries;
        places.may_break_lock = config.may_break_lock
            || around
                .path("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE")
                .is_some_and(|v| v != Path::new("0"));
        places.warnings.extend(config.warnings);
        places.overrides = config.overrides;
        let cache = around
            .path("TF_PLUGIN_CACHE_DIR")
            .or_else(|| config.cache.map(|text| around.expand(&text)));
        // The cache comes last: a mirror of the same version takes precedence.
        if let Some(cache) = cache {
            let cache = workspace.join(cache);
            places.cache = Some(cache.clone());
            places
                .mirrors
                .push(Mirror::without_filters(MirrorKind::Cache, cache));
        }
        Ok(places)
    }

    fn cli_config(
        &mut self,
        workspace: &Path,
        around: &Environment,
    ) -> Result<CliConfig, PlacesError> {
        let (path, named) = match around.path("TF_CLI_CONFIG_FILE") {
            Some(path) => (path, true),
            None => match default_config_files(around)
                .into_iter()
                .find(|p| p.exists())
            {
                Some(path) => (path, false),
                None => return cli_config::with_logins(CliConfig::default(), workspace, around),
            },
        };
        let path = workspace.join(path);
        match fsroot::read_named(&path) {
            Ok(text) => {
                let mut config = cli_config::read(&path, &text, workspace)?;
                // A repository must not choose a credentials helper, because it would be run.
                if is_in_repository(&path, workspace, around) {
                    self.warnings.extend(config.belongs_to_workspace(&path));
                    self.has_config_of_workspace = true;
                }
                self.user_directories.append(&mut config.user_directories);
                match named {
                    true => Ok(config),
                    false => cli_config::with_logins(config, workspace, around),
                }
            }
            // As in OpenTofu, a missing file in the variable is a warning only.
            Err(e) if named && e.kind() == std::io::ErrorKind::NotFound => {
                self.warnings.push(format!(
                    "TF_CLI_CONFIG_FILE names {}, which does not exist; no CLI configuration is used",
                    path.display()
                ));
                Ok(CliConfig::default())
            }
            Err(source) => Err(PlacesError::Read { path, source }),
        }
    }
}

/// Returns true if a file belongs to the workspace or to the repository around it.
fn is_in_repository(file: &Path, workspace: &Path, around: &Environment) -> bool {
    // A file outside the workspace may still be part of the same repository.
    let all = roots(workspace, around.path("HOME").as_deref());
    let real = file.canonicalize();
    // Check both paths, because the workspace controls the targets of its own links.
    let real = real.as_deref().unwrap_or(file);
    let within = |root: &PathBuf| real.starts_with(root) || file.starts_with(root);
    file.starts_with(workspace) || all.iter().any(within)
}

/// Returns the default paths of the CLI configuration; the first one that exists is used.
fn default_config_files(around: &Environment) -> Vec<PathBuf> {
    let home = around.path("HOME");
    let mut files: Vec<PathBuf> = home
        .iter()
        .flat_map(|h| [h.join(".tofurc"), h.join(".terraformrc")])
        .collect();
    files.extend(
        around
            .path("XDG_CONFIG_HOME")
            .or(home.map(|h| h.join(".config")))
            .map(|c| c.join("opentofu/tofurc")),
    );
    files
}

/// Returns the mirrors that apply if none is configured.
fn implied(workspace: &Path, around: &Environment) -> Vec<Mirror> {
    let home = around.path("HOME");
    let mut folders = vec![workspace.join("terraform.d/plugins")];
    folders.extend(home.as_ref().map(|h| h.join(".terraform.d/plugins")));
    let own_data = around
        .path("XDG_DATA_HOME")
        .or(home.map(|h| h.join(".local/share")));
    let shared = around
        .variables
        .get("XDG_DATA_DIRS")
        .filter(|v| !v.is_empty())
        .cloned();
    let shared = shared.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    for data in own_data.into_iter().chain(std::env::split_paths(&shared)) {
        folders.extend(["opentofu", "terraform"].map(|tool| data.join(tool).join("plugins")));
    }
    folders
        .into_iter()
        .map(|path| Mirror::without_filters(MirrorKind::Implied, path))
        .collect()
}

#[cfg(test)]
mod tests;
