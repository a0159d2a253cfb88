//! Reads the CLI configuration file of Terraform and OpenTofu (`.tofurc`, `.terraformrc` or the
//! file in `TF_CLI_CONFIG_FILE`): provider locations, registry hosts and credentials.

use super::config_syntax::{Item, Node, parse, parse_json};
use super::methods::{Method, MethodKind, Registries};
use super::places::{Environment, Mirror, MirrorKind, Pattern, PlacesError};
use dependency::ProviderAddress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Contents of a CLI configuration file.
#[derive(Debug, Default)]
pub(super) struct CliConfig {
    pub cache: Option<String>,
    pub may_break_lock: bool,
    /// `None` without a `provider_installation` block; the implied mirrors apply then.
    pub methods: Option<Vec<Method>>,
    pub overrides: BTreeMap<ProviderAddress, PathBuf>,
    pub registries: Registries,
    /// Directories given by absolute paths.
    pub user_directories: BTreeSet<PathBuf>,
    pub warnings: Vec<String>,
}

impl CliConfig {
    /// Removes the settings that only a file of the user may make. Returns a warning if a
    /// credentials helper was removed.
    pub(super) fn belongs_to_workspace(&mut self, file: &Path) -> Option<String> {
        self.user_directories.clear();
        let (name, _) = self.registries.helper.take()?;
        Some(format!(
            "{}: the credentials helper {name} is not run, because the file belongs to the workspace",
            file.display()
        ))
    }

    fn resolve_path(&mut self, base: &Path, path: &str) -> PathBuf {
        let directory = base.join(path);
        if Path::new(path).is_absolute() {
            self.user_directories.insert(directory.clone());
        }
        directory
    }

    /// Returns the filesystem mirrors among the installation methods.
    pub(super) fn mirrors(&self) -> Option<Vec<Mirror>> {
        let of = |method: &Method| match &method.kind {
            MethodKind::Filesystem(path) => Some(Mirror {
                kind: MirrorKind::Configured,
                path: path.clone(),
                include: method.include.clone(),
                exclude: method.exclude.clone(),
            }),
            _ => None,
        };
        Some(self.methods.as_ref()?.iter().filter_map(of).collect())
    }
}

/// Parses a file. Relative paths in it are relative to `base`, the working directory.
pub(super) fn read(file: &Path, text: &str, base: &Path) -> Result<CliConfig, PlacesError> {
    let is_json =
        file.extension().is_some_and(|e| e == "json") || text.trim_start().starts_with('{');
    let items = if is_json {
        parse_json(text)
    } else {
        parse(text)
    }
    .map_err(|source| PlacesError::Syntax {
        path: file.to_owned(),
        source,
    })?;
    let mut config = CliConfig::default();
    for item in &items {
        match item.key.as_str() {
            "plugin_cache_dir" => config.cache = item.value.text().map(str::to_owned),
            "provider_installation" => {
                if config.methods.is_some() {
                    return Err(invalid_item(
                        file,
                        item,
                        "duplicate `provider_installation` block",
                    ));
                }
                installation(file, item, base, &mut config)?;
            }
            "plugin_cache_may_break_dependency_lock_file" => {
                config.may_break_lock = matches!(item.value, Node::Bool(true));
            }
            "credentials" => blocks(item, &mut |host, body| {
                if let Some(token) = text_of(body, "token") {
                    config.registries.tokens.insert(host, token);
                }
            }),
            "credentials_helper" => blocks(item, &mut |name, body| {
                let args = body.items().iter().find(|i| i.key == "args");
                let args = args.and_then(|i| i.value.texts()).unwrap_or_default();
                config.registries.helper = Some((name, args));
            }),
            "host" => blocks(item, &mut |host, body| {
                let services = body.items().iter().find(|i| i.key == "services");
                let services = services.map(|i| i.value.items()).unwrap_or_default();
                let services = services
                    .iter()
                    .filter_map(|i| Some((i.key.clone(), i.value.text()?.to_owned())));
                config.registries.hosts.insert(host, services.collect());
            }),
            "registry_protocols" => {
                let number = |key| number_of(&item.value, key);
                config.registries.retries = number("retry_count");
                config.registries.answer_s = number("request_timeout_seconds");
            }
            _ => {} // the business of others
        }
    }
    Ok(config)
}

/// Adds the tokens of the other files in the CLI configuration directory, where `login` saves them.
pub(super) fn with_logins(
    mut config: CliConfig,
    workspace: &Path,
    around: &Environment,
) -> Result<CliConfig, PlacesError> {
    let home = around.path("HOME").map(|h| h.join(".terraform.d"));
    let other = around.path("XDG_CONFIG_HOME").map(|c| c.join("opentofu"));
    let Some(folder) = home.filter(|f| f.is_dir()).or(other) else {
        return Ok(config);
    };
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Ok(config);
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".tfrc") || name.ends_with(".tfrc.json")
    });
    // A fixed order, so that the same file wins on every run.
    files.sort();
    for path in files {
        let text = fsroot::read_named(&path).map_err(|source| PlacesError::Read {
            path: path.clone(),
            source,
        })?;
        let more = read(&path, &text, workspace)?.registries;
        config.registries.tokens.extend(more.tokens);
        config.registries.hosts.extend(more.hosts);
        config.registries.helper = config.registries.helper.or(more.helper);
    }
    Ok(config)
}

/// Calls `found` for each block of a kind with its label; in JSON the labels are
/// members.
fn blocks(item: &Item, found: &mut dyn FnMut(String, &Node)) {
    match &item.labels[..] {
        [label] => found(label.to_lowercase(), &item.value),
        _ => {
            for inner in item.value.items() {
                found(inner.key.to_lowercase(), &inner.value);
            }
        }
    }
}

fn text_of(body: &Node, key: &str) -> Option<String> {
    let item = body.items().iter().find(|i| i.key == key)?;
    item.value.text().map(str::to_owned)
}

fn number_of(body: &Node, key: &str) -> Option<u32> {
    match &body.items().iter().find(|i| i.key == key)?.value {
        Node::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn invalid_item(file: &Path, item: &Item, what: &str) -> PlacesError {
    PlacesError::Content {
        path: file.to_owned(),
        line: item.line,
        what: what.to_owned(),
    }
}

fn installation(
    file: &Path,
    block: &Item,
    base: &Path,
    config: &mut CliConfig,
) -> Result<(), PlacesError> {
    let mut methods = Vec::new();
    for method in block.value.items() {
        match method.key.as_str() {
            "filesystem_mirror" => {
                let path = config.resolve_path(base, required_text(file, method, "path")?);
                methods.push(read_method(file, method, MethodKind::Filesystem(path))?);
            }
            "network_mirror" => {
                let url = required_text(file, method, "url")?.to_owned();
                let items = method.value.items();
                let trust = items.iter().find(|i| i.key == "trust_all_hashes");
                let trust_all = trust.is_some_and(|i| matches!(i.value, Node::Bool(true)));
                methods.push(read_method(
                    file,
                    method,
                    MethodKind::Network { url, trust_all },
                )?);
            }
            "direct" => methods.push(read_method(file, method, MethodKind::Direct)?),
            "dev_overrides" => {
                for entry in method.value.items() {
                    let address = entry
                        .key
                        .parse()
                        .map_err(|e| invalid_item(file, entry, &format!("{e}")))?;
                    let Some(path) = entry.value.text() else {
                        return Err(invalid_item(file, entry, "expected a directory"));
                    };
                    let directory = config.resolve_path(base, path);
                    config.overrides.insert(address, directory);
                }
            }
            // A warning, because the other methods may still provide the package.
            "oci_mirror" => config.warnings.push(format!(
                "{}: `oci_mirror` is ignored: packages from OCI registries are not supported",
                file.display()
            )),
            other => {
                return Err(invalid_item(
                    file,
                    method,
                    &format!("unknown installation method `{other}`"),
                ));
            }
        }
    }
    config.methods = Some(methods);
    Ok(())
}

fn required_text<'i>(file: &Path, block: &'i Item, key: &str) -> Result<&'i str, PlacesError> {
    let item = block.value.items().iter().find(|i| i.key == key);
    let text = item.and_then(|i| i.value.text());
    text.ok_or_else(|| invalid_item(file, block, &format!("`{}` requires `{key}`", block.key)))
}

fn read_method(file: &Path, block: &Item, kind: MethodKind) -> Result<Method, PlacesError> {
    let value = |key: &str| block.value.items().iter().find(|i| i.key == key);
    let patterns = |key: &str| -> Result<Vec<Pattern>, PlacesError> {
        let Some(item) = value(key) else {
            return Ok(Vec::new());
        };
        let texts = item
            .value
            .texts()
            .filter(|_| matches!(item.value, Node::List(_)));
        let texts = texts.ok_or_else(|| {
            invalid_item(file, item, &format!("`{key}` must be a list of strings"))
        })?;
        texts
            .iter()
            .map(|t| {
                Pattern::parse(t).ok_or_else(|| {
                    invalid_item(file, item, &format!("`{t}` is not a valid address pattern"))
                })
            })
            .collect()
    };
    Ok(Method {
        kind,
        include: patterns("include")?,
        exclude: patterns("exclude")?,
        retries: number_of(&block.value, "download_retry_count"),
    })
}
