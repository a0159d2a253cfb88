//! The transformers of the plugin path. Nobody asks for one of them by a constraint: of each the newest
//! version is taken.

use super::found::Origin;
use super::on_plugin_path::newest_of;
use super::plugin_path::PluginPath;
use crate::engine::plugin::settings::SpawnSpec;
use crate::engine::words::{PluginFound, PluginKind};
use std::collections::BTreeSet;

/// Every transformer that lies there, by its id, with how it is run.
#[must_use]
pub fn transformers(path: &PluginPath) -> Vec<(PluginFound, SpawnSpec)> {
    let kind = PluginKind::Transformer;
    let all = path.of(kind, |_| true);
    let ids: BTreeSet<&str> = all.iter().map(|d| d.id.as_str()).collect();
    let one = |id: &str| {
        let versions = path.of(kind, |d| d.id == id);
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
        };
        let spec = SpawnSpec {
            executable: newest.executable.clone(),
            ..SpawnSpec::default()
        };
        Some((found, spec))
    };
    ids.into_iter().filter_map(one).collect()
}
