//! The CLI configuration file of the tools whose workspaces we read (`.tofurc`, `.terraformrc`, or
//! what `TF_CLI_CONFIG_FILE` names): only what it says about where providers are.

use super::address::ProviderAddress;
use super::places::{Mirror, MirrorKind, Pattern, PlacesError};
use super::tree::{Item, Node, parse, parse_json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct CliConfig {
    pub cache: Option<String>,
    /// `None` where nothing is said, and the implied mirrors count.
    pub mirrors: Option<Vec<Mirror>>,
    pub overrides: BTreeMap<ProviderAddress, PathBuf>,
    pub warnings: Vec<String>,
}

/// Reads a file. Relative paths in it are relative to `base`, the working directory.
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
                if config.mirrors.is_some() {
                    return Err(wrong(file, item, "`provider_installation` is there twice"));
                }
                installation(file, item, base, &mut config)?;
            }
            _ => {} // credentials and the like are the business of others
        }
    }
    Ok(config)
}

fn wrong(file: &Path, item: &Item, what: &str) -> PlacesError {
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
    let mirrors = config.mirrors.insert(Vec::new());
    for method in block.value.items() {
        match method.key.as_str() {
            "filesystem_mirror" => mirrors.push(mirror(file, method, base)?),
            "dev_overrides" => {
                for entry in method.value.items() {
                    let address = entry
                        .key
                        .parse()
                        .map_err(|e| wrong(file, entry, &format!("{e}")))?;
                    let Some(path) = entry.value.text() else {
                        return Err(wrong(file, entry, "a directory is needed"));
                    };
                    config.overrides.insert(address, base.join(path));
                }
            }
            // Nothing is downloaded, so what is nearer to hand is all there is.
            "direct" => {}
            other @ ("network_mirror" | "oci_mirror") => {
                config.warnings.push(format!(
                    "{}: `{other}` is left out: packages are not downloaded yet",
                    file.display()
                ));
            }
            other => {
                return Err(wrong(
                    file,
                    method,
                    &format!("the installation method `{other}` is unknown"),
                ));
            }
        }
    }
    Ok(())
}

fn mirror(file: &Path, block: &Item, base: &Path) -> Result<Mirror, PlacesError> {
    let value = |key: &str| block.value.items().iter().find(|i| i.key == key);
    let path = value("path")
        .and_then(|i| i.value.text())
        .ok_or_else(|| wrong(file, block, "`filesystem_mirror` needs a `path`"))?;
    let patterns = |key: &str| -> Result<Vec<Pattern>, PlacesError> {
        let Some(item) = value(key) else {
            return Ok(Vec::new());
        };
        let texts = item
            .value
            .texts()
            .filter(|_| matches!(item.value, Node::List(_)));
        let texts =
            texts.ok_or_else(|| wrong(file, item, &format!("`{key}` must be a list of texts")))?;
        texts
            .iter()
            .map(|t| {
                Pattern::parse(t).ok_or_else(|| {
                    wrong(file, item, &format!("`{t}` is not a pattern of addresses"))
                })
            })
            .collect()
    };
    Ok(Mirror {
        kind: MirrorKind::Configured,
        path: base.join(path),
        include: patterns("include")?,
        exclude: patterns("exclude")?,
    })
}
