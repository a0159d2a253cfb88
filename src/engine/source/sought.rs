//! Result of the search for a workspace's providers.

use super::{NotLaunched, PluginDigests};
use crate::engine::plugin::find::{Found, HashCache};
use crate::engine::plugin::{Expected, Start};
use crate::engine::words::{Diagnostic, PluginFound, WorkspacePlugin};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// What the search for a workspace's providers came to.
#[derive(Debug, Default)]
pub struct Sought {
    /// The providers of what is in the state.
    pub in_state: BTreeSet<String>,
    /// Address as the configuration means it (with the default host where none is written) → as
    /// found.
    pub found: HashMap<Arc<str>, Arc<str>>,
    /// Why an address could not be had.
    pub missing: BTreeMap<Arc<str>, NotLaunched>,
    /// Those of the missing that an installation may bring, as operators write them.
    pub absent: Vec<String>,
    /// Those that the workspace itself brings and that have no yes; they are among the missing too.
    pub untrusted: Vec<WorkspacePlugin>,
    /// To be declared to the pool.
    pub records: Vec<(PluginFound, Result<Start, NotLaunched>)>,
    /// Digests of all that were found.
    pub plugins: PluginDigests,
    /// Contents of each executable, without which it is not launched while something runs.
    pub(super) expected: Vec<(PathBuf, Expected)>,
    /// What is wrong with lock file and CLI configuration.
    pub problems: Vec<Diagnostic>,
}

impl Sought {
    /// Takes what was found for an address.
    pub(super) fn taken(&mut self, address: Arc<str>, found: &Found, cache: &HashCache) {
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
        if !self.records.iter().any(|(r, _)| *r.address == *actual) {
            self.records.push((found.record(), start));
        }
        self.found.insert(address, actual);
    }
}
