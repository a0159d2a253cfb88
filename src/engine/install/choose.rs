//! Selection of a provider's version and sources.

use super::Step;
use super::provider::{Job, Problem};
use super::sources::{Listed, Source, sources};
use dependency::Version;
use std::collections::BTreeSet;

const UNKNOWN: &str = "Failed to query available provider packages";
const LOCK_MISMATCH: &str = "Locked provider version does not match";

impl Job {
    /// Returns the locked version, else the newest allowed one with the list of each source.
    pub(super) async fn version(&self) -> Result<(Version, Vec<Listed>), Problem> {
        // An upgrade ignores the locked version.
        let locked = self.locked.as_ref().filter(|_| !self.shared.upgrade);
        if let Some(entry) = locked
            && !self.requirement.allows_package(&entry.version)
        {
            let detail = format!(
                "The lock file has {} in version {}, but the version constraint is {}. Run `flightdeck init --upgrade` to select another version.",
                self.address, entry.version, self.requirement
            );
            return Err((LOCK_MISMATCH, detail));
        }
        (self.shared.on_step)(Step::ProviderSought {
            provider: self.address.to_string(),
            constraints: self.requirement.to_string(),
            locked: locked.map(|entry| entry.version.to_string()),
        });
        match locked {
            // The lock file decides alone, so no source is asked for its versions.
            Some(entry) => Ok((entry.version.clone(), Vec::new())),
            None => self.choose().await,
        }
    }

    /// Returns the sources to query.
    pub(super) fn sources(&self) -> Vec<Source> {
        match &self.shared.only_source {
            Some(source) => vec![source.clone()],
            None => sources(&self.shared.places, &self.address),
        }
    }

    /// Returns the newest allowed version, and the list of each source.
    async fn choose(&self) -> Result<(Version, Vec<Listed>), Problem> {
        let mut lists = Vec::new();
        for source in self.sources() {
            let list = source
                .list(&self.shared.services, &self.address, &self.shared.platform)
                .await;
            // A failed source is not skipped, because another one may have a different package.
            lists.push(list.map_err(|error| {
                let detail = format!(
                    "Cannot list the versions of {} from {}: {error}.",
                    self.address,
                    source.describe(&self.address)
                );
                (UNKNOWN, detail)
            })?);
        }
        let all: BTreeSet<&Version> = lists.iter().flat_map(|l| &l.versions).collect();
        let fits = |version: &&&Version| self.requirement.allows_package(version);
        if let Some(version) = all.iter().rev().find(fits) {
            let version = (*version).clone();
            return Ok((version, lists));
        }
        let asked: Vec<String> = lists
            .iter()
            .map(|l| l.source.describe(&self.address))
            .collect();
        let asked = match asked.is_empty() {
            true => "any source, because the CLI configuration has no source for it".to_owned(),
            false => asked.join(", "),
        };
        let detail = match all.last() {
            None => format!("The provider {} was not found in {asked}.", self.address),
            Some(newest) => format!(
                "No version of {} matches the constraint ({}). The newest version is {newest}. Searched: {asked}.",
                self.address, self.requirement
            ),
        };
        Err((UNKNOWN, detail))
    }
}
