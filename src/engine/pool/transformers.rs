//! Transformers, which serve no configuration: they are supervised as every plugin is, have no slots,
//! and nobody calls them. Owns nothing; their processes belong to their supervisors.

use super::declared::short_name;
use super::handle::Pool;
use crate::engine::plugin::{Plugin, SpawnSpec, Start};
use crate::engine::words::{PluginFound, PluginId};

impl Pool {
    /// Takes these under supervision and has each of them launched, unless it runs or has failed for
    /// good. One that is known as another program is ended and takes its new place. The answer is
    /// there before they are.
    pub async fn launch_transformers(&self, all: Vec<(PluginFound, SpawnSpec)>) -> Vec<Plugin> {
        // Two at once would both take what is not known yet.
        let _one = self.shared.declaring.lock().await;
        let mut plugins = Vec::new();
        for (found, spec) in all {
            let plugin = self.transformer(found, spec).await;
            let demand = plugin.clone();
            self.shared.plugins.spawn(async move {
                // How it went is in its state and its attempts.
                demand.ready().await.ok();
            });
            plugins.push(plugin);
        }
        plugins
    }

    async fn transformer(&self, found: PluginFound, spec: SpawnSpec) -> Plugin {
        let plugins = &self.shared.plugins;
        let id = id(&found);
        let known = plugins.get(&id);
        if let Some(known) = known.filter(|k| is_same(&k.found(), &found)) {
            return known;
        }
        plugins.remove(&id).await;
        match self.shared.settings.dialects.of(&found).transformers() {
            Some(life) => plugins.add(id, found, Start::Spawn(spec), life),
            None => {
                let why = "its dialect has no transformers".to_owned();
                plugins.add_rejected(id, found, why)
            }
        }
    }
}

/// No provider's name begins so: a provider and a transformer of one id are two plugins.
fn id(found: &PluginFound) -> PluginId {
    PluginId(format!(
        "{}/{}",
        found.kind.word(),
        short_name(&found.address)
    ))
}

fn is_same(known: &PluginFound, found: &PluginFound) -> bool {
    (&known.executable, &known.version) == (&found.executable, &found.version)
}
