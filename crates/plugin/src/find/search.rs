//! Searches all locations for one provider, in order, and chooses the newest usable version.

use super::found::{Found, NotFound, Origin, ProviderRequest};
use super::hash::HashCache;
use super::layout::{Package, executable, scan};
use super::lock::LockFile;
use super::places::Places;
use crate::settings::{SpawnSpec, Start};
use dependency::{BUILTIN_HOST, BUNDLED_HOST, BUNDLED_TYPES, ProviderAddress, Version};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

/// Finds a provider. Reads directories, and the files of a package if the lock file has hashes for
/// it (cached in `cache`). Blocks, so call it from a blocking thread.
///
/// # Errors
/// No usable package is found; the error lists all locations with their contents.
pub fn find(
    want: &ProviderRequest,
    lock: &LockFile,
    places: &Places,
    cache: &HashCache,
) -> Result<Found, NotFound> {
    let mut search = Search {
        want,
        lock,
        places,
        cache,
        searched: Vec::new(),
    };
    match search.run().break_value().flatten() {
        Some(found) => Ok(found),
        None => Err(NotFound {
            address: Box::new(want.address.clone()),
            constraints: want.constraints.to_string(),
            package: search.package(),
            is_plugin_of_path: search.has_only_other_versions(),
            transformer: search
                .transformer()
                .filter(|_| !want.implied)
                .map(|it| it.executable.clone()),
            searched: search.searched,
        }),
    }
}

pub(super) struct Search<'a> {
    pub(super) want: &'a ProviderRequest,
    pub(super) lock: &'a LockFile,
    pub(super) places: &'a Places,
    pub(super) cache: &'a HashCache,
    pub(super) searched: Vec<(String, String)>,
}

impl Search<'_> {
    pub(super) fn note_place(&mut self, place: impl fmt::Display, what: impl Into<String>) {
        let seen = (place.to_string(), what.into());
        if !self.searched.contains(&seen) {
            self.searched.push(seen);
        }
    }

    /// Searches each location in order. Breaks with the result: a provider, or `None` if the search
    /// ended without a usable one.
    fn run(&mut self) -> ControlFlow<Option<Found>> {
        match self.want.address.host.as_deref() {
            Some(BUILTIN_HOST) if self.want.address.namespace == "builtin" => {
                return ControlFlow::Break(self.find_builtin());
            }
            Some(BUNDLED_HOST) => return ControlFlow::Break(self.bundled()),
            _ => {}
        }
        if let Some(found) = self.reattach() {
            return ControlFlow::Break(Some(found));
        }
        if let Some(answer) = self.dev_override() {
            return ControlFlow::Break(answer);
        }
        // Locked or known addresses are searched first, before other hosts are considered.
        let meanings = self.candidates();
        self.installed(&meanings)?;
        let others: Vec<ProviderAddress> = self.want.address.candidates();
        let others: Vec<_> = others
            .into_iter()
            .filter(|a| !meanings.contains(a))
            .collect();
        let locked = self.locked_candidates();
        if !locked.is_empty() {
            // A provider of the same name on another host is a different provider, with no locked
            // hash.
            self.restrict_to_locked(&locked, &others);
            return ControlFlow::Break(None);
        }
        if let Some(found) = self.on_plugin_path() {
            return ControlFlow::Break(Some(found));
        }
        // The provider in the state may since have been installed from the other default host, by
        // another tool that worked in this directory.
        match others.is_empty() {
            true => ControlFlow::Break(None),
            false => self.installed(&others),
        }
    }

    /// Returns the locked addresses among the candidates for the configured one.
    fn locked_candidates(&self) -> Vec<ProviderAddress> {
        let all = self.want.address.candidates().into_iter();
        all.filter(|address| self.lock.get(address).is_some())
            .collect()
    }

    fn restrict_to_locked(&mut self, locked: &[ProviderAddress], others: &[ProviderAddress]) {
        let required = locked.iter().filter_map(|address| {
            let entry = self.lock.get(address)?;
            Some(format!("{address} {}", entry.version))
        });
        let required: Vec<String> = required.collect();
        let mut what = format!("requires {}", required.join(", "));
        if !others.is_empty() {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            what += &format!("; packages of {} cannot replace it", others.join(", "));
        }
        self.note_place(format!("the lock file {}", self.lock.path.display()), what);
    }

    /// Searches the workspace's own packages, then those of all mirrors.
    fn installed(&mut self, meanings: &[ProviderAddress]) -> ControlFlow<Option<Found>> {
        self.note_excluded_lock(meanings);
        let own = self.places.workspace.clone();
        let packages = self.usable_packages(&Origin::Workspace(own.clone()), &own, meanings);
        // A matching package of the workspace ends the search, even if a mirror has a newer one.
        self.choose(packages)?;
        let mut all = Vec::new();
        let mut nowhere = Vec::new();
        for mirror in self.places.mirrors.clone() {
            let origin = Origin::Mirror(mirror.kind, mirror.path.clone());
            // Mirrors may include or exclude providers by patterns.
            let served: Vec<ProviderAddress> = meanings
                .iter()
                .filter(|a| mirror.serves(a))
                .cloned()
                .collect();
            if served.is_empty() {
                self.note_place(&origin, "does not serve this provider");
            } else if !mirror.path.is_dir() {
                // Most implied mirrors do not exist, so report all missing ones in one line.
                nowhere.push(mirror.path.display().to_string());
            } else {
                all.extend(self.usable_packages(&origin, &mirror.path, &served));
            }
        }
        if !nowhere.is_empty() {
            self.note_place(nowhere.join(", "), "no such directory");
        }
        self.choose(all)
    }

    fn find_builtin(&mut self) -> Option<Found> {
        if self.want.address.name != "terraform" {
            self.note_place("the builtin providers", "only `terraform` exists");
            return None;
        }
        let why = "part of flightdeck".to_owned();
        Some(Found {
            address: self.want.address.clone(),
            version: None,
            start: None,
            package: None,
            origin: Origin::Builtin,
            why,
        })
    }

    fn bundled(&mut self) -> Option<Found> {
        let address = &self.want.address;
        if address.namespace != "bundled" || !BUNDLED_TYPES.contains(&address.name.as_str()) {
            self.note_place(
                "the bundled providers",
                BUNDLED_TYPES
                    .map(|n| format!("{BUNDLED_HOST}/bundled/{n}"))
                    .join(", "),
            );
            return None;
        }
        let Some(executable) = self.places.executable.clone() else {
            self.note_place(
                "the bundled providers",
                "the path of flightdeck itself is unknown",
            );
            return None;
        };
        let spec = SpawnSpec {
            executable,
            args: ["plugin", "serve", &address.name].map(Into::into).to_vec(),
            env: self.places.bundled_environment.clone(),
            ..SpawnSpec::default()
        };
        Some(Found {
            address: address.clone(),
            version: Version::of_package(env!("CARGO_PKG_VERSION")).ok(),
            start: Some(Start::Spawn(spec)),
            package: None,
            origin: Origin::Bundled,
            why: "part of flightdeck, served in a separate process".to_owned(),
        })
    }

    fn reattach(&mut self) -> Option<Found> {
        let fits = |(address, _): &(&ProviderAddress, _)| self.want.address.matches(address);
        match self.places.reattach.iter().find(fits) {
            Some((address, reattach)) => Some(Found {
                address: self.complete(address),
                version: None,
                start: Some(Start::Attach(reattach.clone())),
                package: None,
                origin: Origin::Reattach,
                why: "already running; versions and lock file are not checked".to_owned(),
            }),
            None => {
                let what = if self.places.reattach.is_empty() {
                    "not set"
                } else {
                    "has only other providers"
                };
                self.note_place("TF_REATTACH_PROVIDERS", what);
                None
            }
        }
    }

    /// Returns `Some` if there is an override, which ends the search even if it is unusable.
    fn dev_override(&mut self) -> Option<Option<Found>> {
        let fits = |(address, _): &(&ProviderAddress, _)| self.want.address.matches(address);
        let Some((address, folder)) = self.places.overrides.iter().find(fits) else {
            self.note_place(
                "dev_overrides",
                if self.places.overrides.is_empty() {
                    "none"
                } else {
                    "none for this provider"
                },
            );
            return None;
        };
        let origin = Origin::DevOverride(folder.clone());
        match executable(folder, &address.name) {
            Ok(path) => Some(Some(Found {
                address: self.complete(address),
                version: None,
                start: Some(Start::Spawn(SpawnSpec {
                    executable: path,
                    ..SpawnSpec::default()
                })),
                package: None,
                origin,
                why: "development override; versions and lock file are not checked".to_owned(),
            })),
            Err(none) => {
                self.note_place(origin, none.to_string());
                Some(None)
            }
        }
    }

    /// Returns the candidate addresses: the locked ones, else those in the state, else all that the
    /// configured address may stand for.
    fn candidates(&self) -> Vec<ProviderAddress> {
        let locked = self.locked_candidates();
        if !locked.is_empty() {
            return locked;
        }
        let named = self.want.in_state.iter();
        let named: BTreeSet<ProviderAddress> = named
            .filter(|a| a.host.is_some() && self.want.address.matches(a))
            .cloned()
            .collect();
        if self.want.address.host.is_none() && !named.is_empty() {
            return named.into_iter().collect();
        }
        self.want.address.candidates()
    }

    /// Returns the path of the provider's package below a mirror or `.terraform/providers`.
    pub(super) fn package(&self) -> Option<String> {
        let address = self.candidates().pop()?;
        let host = address
            .host
            .as_deref()
            .filter(|h| ![BUILTIN_HOST, BUNDLED_HOST].contains(h))?;
        let (namespace, name) = (&address.namespace, &address.name);
        Some(format!(
            "{host}/{namespace}/{name}/VERSION/{}/terraform-provider-{name}_vVERSION",
            super::layout::platform()
        ))
    }

    /// Returns the address with a host, choosing the first candidate if it has none.
    fn complete(&self, address: &ProviderAddress) -> ProviderAddress {
        if address.host.is_some() {
            return address.clone();
        }
        self.candidates()
            .into_iter()
            .next()
            .unwrap_or_else(|| address.clone())
    }

    /// Returns the usable packages in one location; notes the others.
    fn usable_packages(
        &mut self,
        origin: &Origin,
        base: &Path,
        meanings: &[ProviderAddress],
    ) -> Vec<(Origin, Package)> {
        let mut taken = Vec::new();
        let mut notes = Vec::new();
        for address in meanings {
            let seen = scan(base, address);
            notes.extend(seen.notes);
            for package in seen.packages {
                match self.refusal_reason(&package) {
                    Some(reason) => notes.push(format!("{}, {reason}", package.version)),
                    None => taken.push((origin.clone(), package)),
                }
            }
        }
        if !notes.is_empty() {
            self.note_place(origin, notes.join(", "));
        } else if taken.is_empty() {
            self.note_place(
                origin,
                if base.is_dir() {
                    "no match for this provider"
                } else {
                    "no such directory"
                },
            );
        }
        taken
    }

    fn refusal_reason(&self, package: &Package) -> Option<String> {
        let constraints = &self.want.constraints;
        if !constraints.allows_package(&package.version) {
            // Without constraints, the usual text would claim that "any version" excludes it.
            let prerelease = !package.version.prerelease.is_empty() && constraints.is_empty();
            let reason = if prerelease {
                "a prerelease, which needs an exact version constraint".to_owned()
            } else {
                format!("not allowed by {constraints}")
            };
            return Some(reason);
        }
        let entry = self.lock.get(&package.address)?;
        (entry.version != package.version)
            .then(|| format!("but the lock file has {}", entry.version))
    }

    /// Notes a locked version that the constraints exclude: the search then cannot succeed.
    fn note_excluded_lock(&mut self, meanings: &[ProviderAddress]) {
        for address in meanings {
            if let Some(entry) = self.lock.get(address)
                && !self.want.constraints.allows_package(&entry.version)
            {
                let what = format!(
                    "{address} is locked to {}, which {} does not allow",
                    entry.version, self.want.constraints
                );
                self.note_place(format!("the lock file {}", self.lock.path.display()), what);
            }
        }
    }
}
