//! Installs all needed providers concurrently and writes the lock file. Owns the lock file until it
//! is written.

use super::error::InstallError;
use super::provider::{Done, Job, Shared};
use super::requirements::Needs;
use super::{Lockfile, Request, Step, Tell, plain};
use crate::error::EngineError;
use fetch::{Locked, Services, constraints, lock_text};
use fsroot::RootedPath;
use model::{DEFAULT_HOST, Diagnostic, NO_TRANSFORMERS, Severity};
use plugin::find::{Environment, LockEntry, LockFile, Places, ProviderAddress};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Number of concurrent installations.
const MAX_CONCURRENT: usize = 8;
/// Registry whose providers have equivalents in the default one.
const TERRAFORM_REGISTRY: &str = "registry.terraform.io";

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
    let mut locks: BTreeMap<ProviderAddress, LockEntry> = before
        .iter()
        .map(|(address, entry)| (address.clone(), entry.clone()))
        .collect();
    let mut twins = Vec::new();
    for (address, entry) in before.iter() {
        let twin = address.on_host(DEFAULT_HOST);
        let is_other =
            address.host.as_deref() == Some(TERRAFORM_REGISTRY) && address.namespace == "hashicorp";
        if is_other && needs.contains_key(&twin) && !locks.contains_key(&twin) {
            twins.push(format!("{address} → {twin}"));
            let entry = LockEntry {
                hashes: Vec::new(),
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
    let same_versions = before.iter().count() == done.len()
        && done.iter().all(|(address, done)| {
            before
                .get(address)
                .is_some_and(|e| e.version == done.version)
        });
    let same_hashes = done.iter().all(|(address, done)| {
        let known = before.get(address).map(|e| e.hashes.iter().collect());
        known.is_some_and(|known: std::collections::BTreeSet<_>| {
            known == done.hashes.iter().collect()
        })
    });
    if (same_versions && same_hashes) || (done.is_empty() && !before.exists()) {
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
    let locked: Vec<Locked> = done
        .iter()
        .map(|(address, done)| {
            let texts = needs
                .get(address)
                .map(|n| n.texts.clone())
                .unwrap_or_default();
            Locked {
                host: address.host.clone().unwrap_or_default(),
                namespace: address.namespace.clone(),
                name: address.name.clone(),
                version: done.version.clone(),
                constraints: constraints(texts.iter().map(String::as_str)).unwrap_or_default(),
                hashes: done.hashes.clone(),
            }
        })
        .collect();
    write(&before.path, &lock_text(&locked)).map_err(InstallError::lockfile(&before.path))?;
    tell(Step::Locked {
        file: before
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    });
    // With hashes of one platform alone, the lock file fails on the others.
    let lonely: Vec<String> = done
        .iter()
        .filter(|(_, done)| !done.complete)
        .map(|(address, _)| address.short_form())
        .collect();
    if !lonely.is_empty() {
        let detail = format!(
            "Only hashes for this platform are known for these providers: {}. On other platforms the lock file does not match. Run `flightdeck providers lock --platform=OS_ARCH` to add hashes for a platform.",
            lonely.join(", ")
        );
        let summary = "Incomplete lock file information for providers";
        warnings.push(plain(Severity::Warning, summary, detail));
    }
    Ok(())
}

/// Replaces a file's text atomically.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    RootedPath::new(folder, name).replace(text.as_bytes(), 0o644)
}
