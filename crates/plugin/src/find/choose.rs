//! Chooses among the packages that a search found: the newest one whose files match the lock file.

use super::found::{Found, Origin};
use super::hash::HashError;
use super::layout::{Package, executable};
use super::lock::LockEntry;
use super::search::Search;
use crate::settings::{SpawnSpec, Start};
use dependency::Version;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Reason why a package's files cannot be verified.
#[derive(Debug, thiserror::Error)]
enum Unverified {
    #[error(transparent)]
    Unread(#[from] HashError),
    #[error(
        "its files do not match the lock file ({hash} is not among the {known} hashes recorded there)"
    )]
    Other { hash: String, known: usize },
    #[error(
        "its files cannot be verified, because the lock file has only hashes of archives; run `flightdeck init`"
    )]
    ArchivesAlone,
}

impl Search<'_> {
    /// Returns the newest package as `Break`. A package whose files do not match the lock file ends
    /// the search, because modified files are no reason to look for the provider elsewhere.
    pub(super) fn choose(
        &mut self,
        mut packages: Vec<(Origin, Package)>,
    ) -> ControlFlow<Option<Found>> {
        // The sort is stable: of equal versions, the one from the earlier place comes first.
        packages.sort_by(|(_, a), (_, b)| b.version.cmp(&a.version));
        let versions: BTreeSet<Version> = packages.iter().map(|(_, p)| p.version.clone()).collect();
        for (origin, package) in packages {
            let path = match executable(&package.directory, &package.address.name) {
                Ok(path) => path,
                Err(none) => {
                    self.note_place(&origin, none.to_string());
                    continue;
                }
            };
            let why = match self.lock.get(&package.address) {
                None => self.newest_of(versions.len()),
                Some(entry) => match self.verify(&package, entry) {
                    Ok(checked) => {
                        format!("locked to {} by the lock file; {checked}", entry.version)
                    }
                    Err(what) => {
                        self.note_place(&origin, format!("{}, but {what}", package.version));
                        return ControlFlow::Break(None);
                    }
                },
            };
            return ControlFlow::Break(Some(Found {
                address: package.address,
                version: Some(package.version),
                start: Some(Start::Spawn(SpawnSpec {
                    executable: path,
                    ..SpawnSpec::default()
                })),
                package: Some(package.directory),
                origin,
                why,
            }));
        }
        ControlFlow::Continue(())
    }

    fn newest_of(&self, count: usize) -> String {
        let allowed = if self.want.constraints.is_empty() {
            String::new()
        } else {
            format!(" allowed by {}", self.want.constraints)
        };
        if count == 1 {
            format!("the only version{allowed}")
        } else {
            format!("newest of {count} versions{allowed}")
        }
    }

    fn verify(&self, package: &Package, entry: &LockEntry) -> Result<String, Unverified> {
        let of = |scheme: &str| {
            entry
                .hashes
                .iter()
                .filter(|h| h.starts_with(scheme))
                .count()
        };
        let (known, archives) = (of("h1:"), of("zh:"));
        // `zh:` hashes are of the archive, so they cannot verify an unpacked directory.
        if known == 0 {
            return match archives {
                0 => Ok(
                    "its files are not verified, because the lock file has no hash for it".into(),
                ),
                _ => Err(Unverified::ArchivesAlone),
            };
        }
        let hash = self.cache.package(&package.directory)?;
        if entry.hashes.contains(&hash) {
            return Ok("its files match the lock file".to_owned());
        }
        Err(Unverified::Other { hash, known })
    }
}
