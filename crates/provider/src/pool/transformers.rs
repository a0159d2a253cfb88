//! Launches transformers. They are supervised like every plugin, but have no slots, because they
//! serve no configuration and receive no calls. Supervisors own their processes.

use super::handle::Pool;
use super::registration::short_name;
use model::{PluginFound, PluginId, PluginKind};
use plugin::find::FoundTransformer;
use plugin::{Plugin, Start};

impl Pool {
    /// Registers transformers and starts to launch each one, unless it runs or has failed for good.
    /// One whose executable or version has changed is ended and replaced. Returns without waiting
    /// for the launches.
    pub async fn launch_transformers(&self, all: Vec<FoundTransformer>) -> Vec<Plugin> {
        // Two concurrent calls would both register an unknown transformer.
        let _one = self.shared.declaring.lock().await;
        let mut plugins = Vec::new();
        for one in all {
            let plugin = self.transformer(one).await;
            let demand = plugin.clone();
            self.shared.plugins.spawn(async move {
                // The outcome is recorded in the plugin's state and attempts.
                demand.ready().await.ok();
            });
            plugins.push(plugin);
        }
        plugins
    }

    async fn transformer(&self, one: FoundTransformer) -> Plugin {
        let FoundTransformer {
            found,
            spec,
            shares_provider_id: has_twin,
        } = one;
        let plugins = &self.shared.plugins;
        let all = plugins.list();
        let known = all.iter().find(|p| is_transformer(p, &found.address));
        if let Some(known) = known.filter(|k| is_same(&k.description(), &found)) {
            return known.clone();
        }
        if let Some(known) = known {
            plugins.remove(known.id()).await;
        }
        let short = short_name(&found.address);
        // A provider of the same name has the short id; qualify this one with its kind.
        let taken = has_twin || plugins.get(&PluginId(short.into())).is_some();
        let id = PluginId(match taken {
            true => format!("{}/{short}", found.kind.word()).into(),
            false => short.into(),
        });
        match self.shared.settings.dialects.of(&found).transformers() {
            Some(lifecycle) => plugins.add(id, found, Start::Spawn(spec), lifecycle),
            None => {
                let why = "its dialect does not support transformers".to_owned();
                plugins.add_rejected(id, found, why)
            }
        }
    }
}

fn is_transformer(plugin: &Plugin, address: &str) -> bool {
    let found = plugin.description();
    found.kind == PluginKind::Transformer && found.address == address
}

fn is_same(known: &PluginFound, found: &PluginFound) -> bool {
    (&known.executable, &known.version) == (&found.executable, &found.version)
}
