//! Discovers Bluelink (formerly Celerity) plugins in the directories of the plugin path, and
//! records why other files were rejected. Reads directories only; keeps no state.
//!
//! Layout: `ROOT/{providers|transformers}/[HOST/]NAMESPACE/NAME/VERSION/plugin`. Bluelink's own
//! tool omits the first directory and records the kind in a `manifest.json` beside the root.

use super::places::Environment;
use dependency::{AddressError, PLUGIN_HOST, ProviderAddress, Version};
use model::PluginKind;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// Variables with the directories, the newer name first.
const VARIABLES: [&str; 2] = [
    "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH",
    "CELERITY_DEPLOY_ENGINE_PLUGIN_PATH",
];
/// Default directories below the home directory, if no variable is set.
const DEFAULT_DIRECTORIES: [&str; 2] = [
    ".bluelink/engine/plugins/bin",
    ".celerity/deploy-engine/plugins/bin",
];
/// Name of every plugin's executable.
const FILE: &str = "plugin";
/// Maximum depth of directories below a root.
const DEPTH: usize = 5;
/// Maximum number of entries to read below one root.
const ENTRIES: usize = 20_000;

impl Environment {
    /// Restricts the search to this directory.
    pub fn search_plugins_in(&mut self, root: &Path) {
        for name in VARIABLES {
            self.variables.insert(name.to_owned(), root.into());
        }
    }
}

/// Returns the directories to search, in order.
#[must_use]
pub fn plugin_roots(around: &Environment) -> Vec<PathBuf> {
    let all = VARIABLES
        .iter()
        .flat_map(|name| roots_from_variable(around, name));
    let mut roots: Vec<PathBuf> = all.collect();
    if VARIABLES.iter().all(|name| around.path(name).is_none()) {
        let home = around.path("HOME");
        roots = home
            .iter()
            .flat_map(|home| DEFAULT_DIRECTORIES.map(|usual| home.join(usual)))
            .collect();
    }
    let mut seen = Vec::new();
    // Both variables may name the same directory.
    roots.retain(|root| !seen.contains(root) && (seen.push(root.clone()), true).1);
    roots
}

/// Returns the directories that a variable names; none if it is not set.
fn roots_from_variable(around: &Environment, variable: &str) -> Vec<PathBuf> {
    let Some(list) = around.path(variable) else {
        return Vec::new();
    };
    let list = around.expand(&list.to_string_lossy());
    let all = std::env::split_paths(&list);
    all.filter(|root| !root.as_os_str().is_empty()).collect()
}

/// Returns the directories of the plugin path that do not exist, each with its variable. Only
/// variables that are set are reported, because the default directories are often absent.
#[must_use]
pub fn missing_plugin_roots(around: &Environment) -> Vec<(&'static str, PathBuf)> {
    let set = VARIABLES
        .into_iter()
        .filter(|name| around.path(name).is_some());
    let named = |name: &'static str| {
        let roots = roots_from_variable(around, name).into_iter();
        roots
            .filter(|root| !root.exists())
            .map(move |root| (name, root))
    };
    set.flat_map(named).collect()
}

/// Executable at a valid location for a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discovered {
    pub kind: PluginKind,
    /// `bluelink/aws`, `registry.example.com/acme/azure`.
    pub id: String,
    /// Name of the version's directory.
    pub version: String,
    pub executable: PathBuf,
    /// Directory of the plugin path that contains it.
    pub root: PathBuf,
}

/// Reason why the location of a file is not that of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum UnexpectedPlace {
    #[error(
        "the file is where the installer of a deploy engine puts plugins, but no manifest.json beside its directory says if {id} is a provider or a transformer"
    )]
    NotInManifest { id: String },
    #[error(
        "the file is in neither the `providers` nor the `transformers` directory of the plugin path"
    )]
    NoKind,
    #[error(
        "the file is {deep} directories below the plugin path; the expected path is {}s/[HOST/]NAMESPACE/NAME/VERSION", kind.word()
    )]
    Depth { deep: usize, kind: PluginKind },
    #[error("{id} is not a plugin id: {source}")]
    NoId { id: String, source: AddressError },
}

/// All plugins below the directories of the plugin path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PluginPath {
    /// In search order.
    pub plugins: Vec<Discovered>,
    /// Rejected files, each with the reason for lists.
    pub rejected: Vec<(PathBuf, String)>,
    /// Directories of the plugin path that do not exist.
    pub missing: Vec<PathBuf>,
}

impl Discovered {
    /// Returns the version if it is semver.
    #[must_use]
    pub fn semver(&self) -> Option<Version> {
        let text = self.version.strip_prefix('v').unwrap_or(&self.version);
        Version::of_package(text).ok()
    }

    /// Returns the address of a provider with this id; `None` if the id is no valid address.
    #[must_use]
    pub fn address(&self) -> Option<ProviderAddress> {
        let address: ProviderAddress = self.id.parse().ok()?;
        match address.host {
            Some(_) => Some(address),
            None => Some(address.on_host(PLUGIN_HOST)),
        }
    }

    /// Orders newer versions first, and versions that are not semver last.
    fn before(&self, other: &Self) -> Ordering {
        match (self.semver(), other.semver()) {
            (Some(a), Some(b)) => b.cmp(&a),
            (a, b) => b
                .is_some()
                .cmp(&a.is_some())
                .then(other.version.cmp(&self.version)),
        }
    }
}

impl PluginPath {
    /// Searches all of these directories.
    #[must_use]
    pub fn read(roots: &[PathBuf]) -> Self {
        let mut all = Self::default();
        for root in roots {
            let mut left = ENTRIES;
            let manifest = Manifest::read_beside(root);
            all.scan_folder((root, &manifest), root, &mut Vec::new(), &mut left);
        }
        all
    }

    /// Returns the matching plugins, the newest first; of equal versions, the first one found.
    #[must_use]
    pub fn matching(&self, kind: PluginKind, id: impl Fn(&Discovered) -> bool) -> Vec<&Discovered> {
        let fits = |d: &&Discovered| d.kind == kind && id(d);
        let mut found: Vec<&Discovered> = self.plugins.iter().filter(fits).collect();
        found.sort_by(|a, b| a.before(b));
        found
    }

    /// Returns true if a provider with this complete address is on the path. An address on a
    /// default host also matches an id without a host.
    #[must_use]
    pub fn provides(&self, address: &ProviderAddress) -> bool {
        self.with_address(PluginKind::Provider, address).is_some()
    }

    /// Returns the transformer whose id equals this complete address.
    #[must_use]
    pub fn transformer(&self, address: &ProviderAddress) -> Option<&Discovered> {
        self.with_address(PluginKind::Transformer, address)
    }

    fn with_address(&self, kind: PluginKind, address: &ProviderAddress) -> Option<&Discovered> {
        let usual = address.without_default_host();
        let meant = match usual.host {
            Some(_) => usual,
            None => usual.on_host(PLUGIN_HOST),
        };
        let is_it = |d: &Discovered| d.address().as_ref() == Some(&meant);
        self.matching(kind, is_it).first().copied()
    }

    /// Returns the plugin with the same id that is used instead of this one, if there is one.
    #[must_use]
    pub fn shadowing_plugin(&self, plugin: &Discovered) -> Option<&Discovered> {
        let first = *self.matching(plugin.kind, |d| d.id == plugin.id).first()?;
        (first != plugin).then_some(first)
    }

    fn reject(&mut self, path: PathBuf, why: impl ToString) {
        self.rejected.push((path, why.to_string()));
    }

    fn scan_folder(
        &mut self,
        of: (&Path, &Manifest),
        folder: &Path,
        names: &mut Vec<String>,
        left: &mut usize,
    ) {
        let entries = match entries(folder) {
            Ok(entries) => entries,
            Err(e) if names.is_empty() && e.kind() == std::io::ErrorKind::NotFound => {
                return self.missing.push(folder.to_owned());
            }
            Err(e) => {
                return self.reject(folder.to_owned(), format!("cannot read the directory: {e}"));
            }
        };
        for entry in entries {
            // The limit guards against a path variable that names a large tree such as `/`.
            let Some(rest) = left.checked_sub(1) else {
                let why = format!(
                    "only the first {ENTRIES} files and directories below {} are searched for plugins",
                    of.0.display()
                );
                return self.reject(folder.to_owned(), why);
            };
            *left = rest;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
            if path.is_dir() {
                // A link could form a cycle or lead out of the root.
                if is_link {
                    self.reject(path, "symbolic link to a directory, not followed");
                } else if names.len() < DEPTH {
                    names.push(name);
                    self.scan_folder(of, &path, names, left);
                    names.pop();
                } else {
                    self.reject(
                        path,
                        format!("more than {DEPTH} directories deep, not searched"),
                    );
                }
            } else {
                self.file(of, path, &name, names);
            }
        }
    }

    fn file(
        &mut self,
        (root, manifest): (&Path, &Manifest),
        path: PathBuf,
        name: &str,
        names: &[String],
    ) {
        let at_version = (4..=DEPTH).contains(&names.len()) || names.len() == 3;
        if name != FILE {
            if at_version && is_executable(&path) {
                self.reject(
                    path,
                    format!("a plugin's executable must be named exactly `{FILE}`"),
                );
            }
            return;
        }
        match derive_kind_and_id(names, manifest) {
            Ok((kind, id)) => self.plugins.push(Discovered {
                kind,
                id,
                version: names.last().cloned().unwrap_or_default(),
                executable: path,
                root: root.to_owned(),
            }),
            Err(why) => self.reject(path, why),
        }
    }
}

/// Derives kind and id of a plugin from its directories.
fn derive_kind_and_id(
    names: &[String],
    manifest: &Manifest,
) -> Result<(PluginKind, String), UnexpectedPlace> {
    let kind = match names.first().map(String::as_str) {
        Some("providers") => PluginKind::Provider,
        Some("transformers") => PluginKind::Transformer,
        // Three directories without a kind is the layout of Bluelink's tool; ask its manifest.
        _ if names.len() == 3 => {
            let id = names[..2].join("/");
            return match manifest.kind(&id) {
                Some(kind) => Ok((kind, id)),
                None => Err(UnexpectedPlace::NotInManifest { id }),
            };
        }
        _ => return Err(UnexpectedPlace::NoKind),
    };
    if !(4..=DEPTH).contains(&names.len()) {
        let deep = names.len();
        return Err(UnexpectedPlace::Depth { deep, kind });
    }
    let id = names[1..names.len() - 1].join("/");
    match id.parse::<ProviderAddress>() {
        Ok(_) => Ok((kind, id)),
        Err(source) => Err(UnexpectedPlace::NoId { id, source }),
    }
}

/// Returns the entries of a directory, sorted by name.
fn entries(folder: &Path) -> std::io::Result<Vec<DirEntry>> {
    let mut all = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    all.sort_by_key(DirEntry::file_name);
    Ok(all)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Manifest of plugins installed by Bluelink's tool: `{"plugins": {"ID": {"type": "provider",
/// …}}}`.
#[derive(Debug, Default, serde::Deserialize)]
struct Manifest {
    #[serde(default)]
    plugins: BTreeMap<String, Installed>,
}

#[derive(Debug, serde::Deserialize)]
struct Installed {
    #[serde(default)]
    id: String,
    #[serde(default, rename = "type")]
    kind: String,
}

impl Manifest {
    /// Reads the manifest beside a root. A missing or invalid manifest is treated as empty.
    fn read_beside(root: &Path) -> Self {
        let file = root.parent().map(|folder| folder.join("manifest.json"));
        let text = file.and_then(|file| fsroot::read_regular(&file).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    fn kind(&self, id: &str) -> Option<PluginKind> {
        let ends = |full: &str| full == id || full.ends_with(&format!("/{id}"));
        let mut all = self.plugins.iter();
        let (_, installed) = all.find(|(key, it)| ends(key) || ends(&it.id))?;
        match installed.kind.as_str() {
            "provider" => Some(PluginKind::Provider),
            "transformer" => Some(PluginKind::Transformer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
