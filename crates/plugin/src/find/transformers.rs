//! Lists the transformers (Bluelink plugins that convert blueprints) on the plugin path.
//! Configurations have no version constraints for transformers, so the newest version is used.

use super::found::Origin;
use super::on_plugin_path::newest_of;
use super::plugin_path::PluginPath;
use crate::settings::SpawnSpec;
use model::{PluginFound, PluginKind};
use std::collections::BTreeSet;

/// Transformer on the plugin path.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTransformer {
    pub found: PluginFound,
    /// Start of its process.
    pub spec: SpawnSpec,
    /// True if a provider has the same id.
    pub shares_provider_id: bool,
}

/// Returns every transformer on the plugin path, sorted by id.
#[must_use]
pub fn transformers(path: &PluginPath) -> Vec<FoundTransformer> {
    let kind = PluginKind::Transformer;
    let all = path.matching(kind, |_| true);
    let ids: BTreeSet<&str> = all.iter().map(|d| d.id.as_str()).collect();
    let one = |id: &str| {
        let versions = path.matching(kind, |d| d.id == id);
        let newest = *versions.first()?;
        let origin = Origin::PluginPath(newest.root.clone());
        let found = PluginFound {
            kind,
            address: newest.address()?.to_string(),
            version: Some(newest.version.clone()),
            dialect: origin.dialect(),
            executable: Some(newest.executable.display().to_string()),
            source: origin.to_string(),
            why: newest_of(&versions),
            transform: None,
            about: None,
        };
        let spec = SpawnSpec {
            executable: newest.executable.clone(),
            ..SpawnSpec::default()
        };
        let twins = path.matching(PluginKind::Provider, |d| d.id == id);
        Some(FoundTransformer {
            found,
            spec,
            shares_provider_id: !twins.is_empty(),
        })
    };
    ids.into_iter().filter_map(one).collect()
}
