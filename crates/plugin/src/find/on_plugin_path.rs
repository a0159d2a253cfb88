//! Searches the plugin path for a provider: by its id, or by its name alone if no source is
//! configured and only one id on the path has that name.

use super::found::{Found, Origin};
use super::plugin_path::Discovered;
use super::search::Search;
use crate::settings::{SpawnSpec, Start};
use dependency::PLUGIN_HOST;
use model::{NO_TRANSFORMERS, PluginKind};

impl Search<'_> {
    /// Returns the newest plugin with an allowed version. Without one, notes the missing
    /// directories of the plugin path.
    pub(super) fn on_plugin_path(&mut self) -> Option<Found> {
        let found = self.newest_on_plugin_path();
        let missing = &self.places.plugin_path.missing;
        if found.is_none() && !missing.is_empty() {
            let missing: Vec<String> = missing.iter().map(|p| p.display().to_string()).collect();
            let place = format!("the plugin path, {}", missing.join(", "));
            self.note_place(place, "no such directory");
        }
        found
    }

    fn newest_on_plugin_path(&mut self) -> Option<Found> {
        let path = &self.places.plugin_path;
        let found = path.matching(PluginKind::Provider, |d| self.matches_request(d));
        let ids: Vec<&str> = found.iter().map(|d| d.id.as_str()).collect();
        // Two namespaces with this name: choosing one could run the wrong plugin.
        if let Some(other) = ids.iter().find(|id| **id != ids[0]) {
            let what = format!(
                "both {} and {other} match; set the source in required_providers",
                ids[0]
            );
            self.note_place("the plugin path", what);
            return None;
        }
        let (may, not): (Vec<&Discovered>, _) =
            found.into_iter().partition(|d| self.version_fits(d));
        let Some(newest) = may.first() else {
            let what = match (not.is_empty(), self.transformer()) {
                (false, _) => self.no_allowed_version_text(&not),
                (true, None) => "no match for this provider".to_owned(),
                (true, Some(it)) => format!(
                    "{} is a transformer, {}; {NO_TRANSFORMERS}",
                    it.id,
                    it.executable.display()
                ),
            };
            self.note_place("the plugin path", what);
            return None;
        };
        let why = newest_of(&may);
        Some(Found {
            address: newest.address()?,
            version: newest.semver(),
            start: Some(Start::Spawn(SpawnSpec {
                executable: newest.executable.clone(),
                ..SpawnSpec::default()
            })),
            package: None,
            origin: Origin::PluginPath(newest.root.clone()),
            why,
        })
    }

    /// Returns true if the plugin path has the provider, but in no allowed version.
    pub(super) fn has_only_other_versions(&self) -> bool {
        let path = &self.places.plugin_path;
        let all = path.matching(PluginKind::Provider, |d| self.matches_request(d));
        !all.is_empty() && !all.iter().any(|d| self.version_fits(d))
    }

    /// Returns the transformer with the id of the wanted provider, if there is one.
    pub(super) fn transformer(&self) -> Option<&Discovered> {
        let path = &self.places.plugin_path;
        let all = path.matching(PluginKind::Transformer, |d| self.matches_request(d));
        all.first().copied()
    }

    fn matches_request(&self, plugin: &Discovered) -> bool {
        let Some(address) = plugin.address() else {
            return false;
        };
        let want = &self.want.address;
        if self.want.implied {
            return address.name == want.name;
        }
        let host = want.host.as_deref().unwrap_or(PLUGIN_HOST);
        want.on_host(host) == address
    }

    /// A version that is not semver cannot be compared, so it is allowed only without constraints.
    fn version_fits(&self, plugin: &Discovered) -> bool {
        let constraints = &self.want.constraints;
        constraints.is_empty()
            || plugin
                .semver()
                .is_some_and(|v| constraints.allows_package(&v))
    }

    fn no_allowed_version_text(&self, plugins: &[&Discovered]) -> String {
        let versions: Vec<&str> = plugins.iter().map(|d| d.version.as_str()).collect();
        format!(
            "{}, not allowed by {}",
            versions.join(", "),
            self.want.constraints
        )
    }
}

/// Returns the reason of the choice of the first plugin.
pub(super) fn newest_of(all: &[&Discovered]) -> String {
    let others = all.iter().skip(1);
    let others: Vec<String> = others
        .map(|d| format!("{} ({})", d.version, d.executable.display()))
        .collect();
    match others.is_empty() {
        true => "the only version".to_owned(),
        false => format!(
            "newest of {} versions, preferred to {}",
            all.len(),
            others.join(", ")
        ),
    }
}
