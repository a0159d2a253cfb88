//! Installs all needed providers concurrently and writes the lock file. Owns the lock file until it
//! is written.

use super::error::InstallError;
use super::provider::{Done, Job, Shared};
use super::requirements::Needs;
use super::{Lockfile, Request, Step, Tell, plain};
use crate::error::EngineError;
use dependency::{DEFAULT_HOST, ProviderAddress, TERRAFORM_REGISTRY, VersionConstraint};
use fetch::Services;
use model::{Diagnostic, NO_TRANSFORMERS, Severity};
use plugin::find::{Environment, LockEntry, LockFile, Places};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Number of concurrent installations.
const MAX_CONCURRENT: usize = 8;

/// Installs all needed providers and writes the lock file. Returns their number and warnings.
pub(super) async fn providers(
    request: &Request,
    needs: Needs,
    (places, around, services): (Places, &Environment, Services),
    tell: Tell,
    stop: CancellationToken,
) -> Result<(usize, Vec<Diagnostic>), EngineError> {
    let before = LockFile::read(&request.dir).map_err(EngineError::refused)?;
    let mut warnings = Vec::new();
    let locks = locks(&before, &needs, &mut warnings);
    // A running process or a build of the user needs no package.
    let skipped = |address: &ProviderAddress| {
        let mut own = places.reattach.keys().chain(places.overrides.keys());
        own.any(|a| address.matches(a))
    };
    let (left, needs): (Needs, Needs) = needs.into_iter().partition(|(a, _)| skipped(a));
    if !left.is_empty() {
        let names: Vec<String> = left.keys().map(ToString::to_string).collect();
        let detail = format!(
            "TF_REATTACH_PROVIDERS or dev_overrides provide these providers, so nothing is installed for them: {}.",
            names.join(", ")
        );
        warnings.push(plain(Severity::Warning, "Development overrides", detail));
    }
    // A locked provider comes from its package, not from the plugin path.
    let found = |address: &ProviderAddress| {
        places.plugin_path.provides(address) && !locks.contains_key(address)
    };
    let (there, needs): (Needs, Needs) = needs.into_iter().partition(|(a, _)| found(a));
    if !there.is_empty() {
        let names: Vec<String> = there.keys().map(ProviderAddress::short_form).collect();
        let detail = format!(
            "These providers are used from the plugin path, so nothing is installed for them: {}.",
            names.join(", ")
        );
        let summary = "Providers are on the plugin path";
        warnings.push(plain(Severity::Warning, summary, detail));
    }
    let shared = Arc::new(Shared {
        upgrade: request.upgrade,
        ..Shared::new(places, around, Arc::new(services), tell.clone())
    });
    let jobs = needs.iter().map(|(address, need)| Job {
        shared: shared.clone(),
        address: address.clone(),
        requirement: need.clone(),
        locked: locks.get(address).cloned(),
    });
    let done = all(jobs.collect(), &stop).await?;
    for (address, done) in &done {
        for warning in &done.warnings {
            let detail = format!("{address}: {warning}.");
            warnings.push(plain(Severity::Warning, "Provider warning", detail));
        }
    }
    write_lock_file(request, &before, &needs, &done, &tell, &mut warnings)?;
    Ok((done.len(), warnings))
}

/// Returns the lock entries by provider. An entry of the other registry also stands for the
/// equivalent provider in the default registry: with its version, but without hashes.
pub(super) fn locks(
    before: &LockFile,
    needs: &Needs,
    warnings: &mut Vec<Diagnostic>,
) -> BTreeMap<ProviderAddress, LockEntry> {
    let mut locks = before.entries.clone();
    let mut twins = Vec::new();
    for (address, entry) in &before.entries {
        let twin = address.on_host(DEFAULT_HOST);
        let is_other = address.host() == TERRAFORM_REGISTRY && address.has_default_namespace();
        if is_other && needs.contains_key(&twin) && !locks.contains_key(&twin) {
            twins.push(format!("{address} → {twin}"));
            let entry = LockEntry {
                hashes: BTreeSet::new(),
                ..entry.clone()
            };
            locks.insert(twin, entry);
        }
    }
    if !twins.is_empty() {
        let detail = format!(
            "These providers use the locked versions of the providers with the same name in another registry: {}.",
            twins.join(", ")
        );
        let summary = "Dependency lock file entries automatically updated";
        warnings.push(plain(Severity::Warning, summary, detail));
    }
    locks
}

/// Runs the jobs concurrently, up to the limit. A failure does not stop the others.
pub(super) async fn all(
    jobs: Vec<Job>,
    stop: &CancellationToken,
) -> Result<BTreeMap<ProviderAddress, Done>, EngineError> {
    let room = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let shared = jobs.first().map(|job| job.shared.clone());
    let mut running = JoinSet::new();
    for job in jobs {
        let (room, address) = (room.clone(), job.address.clone());
        running.spawn(async move {
            let _place = room.acquire_owned().await;
            (address, job.run().await)
        });
    }
    // After a failure the other jobs finish, so that all failures are reported together.
    let (mut done, mut wrong) = (BTreeMap::new(), BTreeMap::new());
    loop {
        let next = tokio::select! { biased;
            () = stop.cancelled() => {
                // Partial downloads are discarded; placed packages are complete.
                running.shutdown().await;
                return Err(EngineError::Cancelled);
            }
            next = running.join_next() => next,
        };
        match next {
            None => break,
            Some(Ok((address, Ok(found)))) => drop(done.insert(address, found)),
            Some(Ok((address, Err(trouble)))) => drop(wrong.insert(address, trouble)),
            Some(Err(source)) => {
                return Err(EngineError::Task {
                    what: "failed to install the providers",
                    source: Arc::new(source),
                });
            }
        }
    }
    if wrong.is_empty() {
        return Ok(done);
    }
    let told = wrong.into_iter().map(|(address, (summary, detail))| {
        let places = shared.as_ref().map(|shared| &shared.places);
        // A transformer with this id explains why the provider was not found.
        let transformer = places.and_then(|p| p.plugin_path.transformer(&address));
        let detail = match transformer {
            None => detail,
            Some(it) => format!(
                "{detail} The plugin with this id on the plugin path is a transformer, {}: {NO_TRANSFORMERS}.",
                it.executable.display()
            ),
        };
        plain(Severity::Error, summary, detail)
    });
    Err(EngineError::Diagnostics(told.collect()))
}

/// Writes the lock file if it changed.
fn write_lock_file(
    request: &Request,
    before: &LockFile,
    needs: &Needs,
    done: &BTreeMap<ProviderAddress, Done>,
    tell: &Tell,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), EngineError> {
    let same_versions = has_versions(before, done);
    if (same_versions && has_hashes(before, done)) || (done.is_empty() && !before.exists()) {
        return Ok(());
    }
    if request.lockfile == Lockfile::ReadOnly {
        if !same_versions {
            return Err(InstallError::LockfileReadOnly.into());
        }
        // Further hashes of the same versions are no error.
        let detail =
            "More hashes of packages were found, but --lockfile=readonly prevents writing them.";
        let summary = "Lock file not updated";
        warnings.push(plain(Severity::Warning, summary, detail.to_owned()));
        return Ok(());
    }
    let lock = LockFile {
        path: before.path.clone(),
        entries: entries(needs, done),
    };
    lock.write().map_err(InstallError::lockfile(&lock.path))?;
    tell(Step::Locked { file: lock.name() });
    warnings.extend(incomplete(done));
    Ok(())
}

/// Returns true if the lock file has exactly these providers in these versions.
fn has_versions(lock: &LockFile, done: &BTreeMap<ProviderAddress, Done>) -> bool {
    let is_locked = |(address, done): (&ProviderAddress, &Done)| {
        let entry = lock.get(address);
        entry.is_some_and(|entry| entry.version == done.version)
    };
    lock.entries.len() == done.len() && done.iter().all(is_locked)
}

fn has_hashes(lock: &LockFile, done: &BTreeMap<ProviderAddress, Done>) -> bool {
    let is_locked = |(address, done): (&ProviderAddress, &Done)| {
        let entry = lock.get(address);
        entry.is_some_and(|entry| entry.hashes == done.hashes)
    };
    done.iter().all(is_locked)
}

/// Returns the entries of the lock file for the installed providers.
fn entries(
    needs: &Needs,
    done: &BTreeMap<ProviderAddress, Done>,
) -> BTreeMap<ProviderAddress, LockEntry> {
    let entry = |(address, done): (&ProviderAddress, &Done)| {
        let constraints = needs.get(address).map(VersionConstraint::canonical);
        let entry = LockEntry {
            version: done.version.clone(),
            constraints: constraints.unwrap_or_default(),
            hashes: done.hashes.clone(),
        };
        (address.clone(), entry)
    };
    done.iter().map(entry).collect()
}

/// Warns of providers with hashes of one platform alone, for which the lock file fails on the
/// others.
fn incomplete(done: &BTreeMap<ProviderAddress, Done>) -> Option<Diagnostic> {
    let lonely = done.iter().filter(|(_, done)| !done.complete);
    let lonely: Vec<String> = lonely.map(|(address, _)| address.short_form()).collect();
    if lonely.is_empty() {
        return None;
    }
    let detail = format!(
        "Only hashes for this platform are known for these providers: {}. On other platforms the lock file does not match. Run `flightdeck providers lock --platform=OS_ARCH` to add hashes for a platform.",
        lonely.join(", ")
    );
    let summary = "Incomplete lock file information for providers";
    Some(plain(Severity::Warning, summary, detail))
}
