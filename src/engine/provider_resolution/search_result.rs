//! Result of the search for a workspace's providers.

use super::{NotLaunched, PluginDigests, not_found_record};
use model::{Diagnostic, PluginFound, WorkspacePlugin};
use plugin::find::NotFound;
use plugin::find::{Found, HashCache};
use plugin::{Expected, Start};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Result of the search for a workspace's providers.
#[derive(Debug, Default)]
pub struct ProviderSearch {
    /// Providers of resources in the state.
    pub in_state: BTreeSet<String>,
    /// Actual address by the configured address, which has the default host if none is written.
    pub resolved: HashMap<Arc<str>, Arc<str>>,
    /// Reason for each missing address.
    pub missing: BTreeMap<Arc<str>, NotLaunched>,
    /// Missing providers that an installation may provide, as written by users.
    pub absent: Vec<String>,
    /// Plugins shipped in the workspace without trust; they are also in `missing`.
    pub untrusted: Vec<WorkspacePlugin>,
    /// Plugins to declare to the pool.
    pub records: Vec<(PluginFound, Result<Start, NotLaunched>)>,
    /// Digests of all plugins found.
    pub plugins: PluginDigests,
    /// Expected contents of each executable; other contents are not launched during a stage or
    /// deploy.
    pub(super) expected: Vec<(PathBuf, Expected)>,
    /// Problems of the lock file and the CLI configuration.
    pub problems: Vec<Diagnostic>,
}

impl ProviderSearch {
    /// Records the plugin found for an address.
    pub(super) fn record_found(&mut self, address: Arc<str>, found: &Found, cache: &HashCache) {
        // One digest for the stage record and the pin, so that both mean the same contents.
        let digest = found.digest(cache);
        self.plugins.add(found, digest.clone());
        if let (Some(executable), Some(files), Some(digest)) =
            (found.executable(), found.files(), digest)
        {
            let files = files.to_owned();
            let expected = Expected { files, digest };
            self.expected.push((executable.to_owned(), expected));
        }
        let actual: Arc<str> = found.address.to_string().into();
        let start = found.start.clone().ok_or(NotLaunched::Bundled);
        // Several configured addresses may lead to the same plugin.
        if !self.records.iter().any(|(r, _)| *r.address == *actual) {
            self.records.push((found.record(), start));
        }
        self.resolved.insert(address, actual);
    }

    /// Records a plugin that was found but may not be launched.
    pub(super) fn record_refused(&mut self, address: Arc<str>, found: &Found, why: NotLaunched) {
        let record = PluginFound {
            why: why.to_string(),
            ..found.record()
        };
        self.records.push((record, Err(why.clone())));
        self.missing.insert(address, why);
    }

    /// Records an address without a plugin.
    pub(super) fn record_missing(&mut self, address: Arc<str>, missing: NotFound) {
        self.absent.push(missing.address.to_string());
        let record = PluginFound {
            address: address.to_string(),
            ..not_found_record(&missing)
        };
        let missing = NotLaunched::from(missing);
        self.records.push((record, Err(missing.clone())));
        self.missing.insert(address, missing);
    }
}
