//! `providers lock` and `providers mirror`: packages for other platforms. They come from their
//! registries or the one named source, regardless of the CLI configuration. Packages fetched only
//! for hashes are discarded.

use super::error::InstallError;
use super::provider::{Done, Job, Shared};
use super::providers::{all, locks};
use super::requirements::{Needs, requirements};
use super::sources::Source;
use super::{Step, Tell, convert_places_error, plain, services};
use crate::diagnostics;
use crate::error::EngineError;
use dependency::{ProviderAddress, VersionConstraint};
use fetch::Services;
use model::secrets::Secrets;
use model::{Diagnostic, Severity, StageRequest};
use plugin::find::{Environment, LockEntry, LockFile, Places, platform};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use workspace::load;

/// Options of `providers lock` and `providers mirror`.
#[derive(Debug, Clone, Default)]
pub struct LockAndMirrorRequest {
    /// Directory of the configuration.
    pub dir: PathBuf,
    /// The selected workspace; empty for the default one.
    pub workspace: String,
    /// Values of variables; module sources may depend on them.
    pub values: StageRequest,
    /// Platforms; this machine's if empty.
    pub platforms: Vec<String>,
    pub from: From,
    /// Provider addresses; all needed ones if empty.
    pub providers: Vec<String>,
}

/// Source of packages.
#[derive(Debug, Clone, Default)]
pub enum From {
    /// Each provider's own registry.
    #[default]
    Registries,
    /// Directory in the layout of a mirror.
    Directory(PathBuf),
    /// Address of a mirror.
    Mirror(String),
}

/// Result of `providers lock` or `providers mirror`.
#[derive(Debug, Default)]
pub struct Written {
    /// Number of processed providers.
    pub providers: usize,
    /// True if files were changed.
    pub changed: bool,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Common inputs of `providers lock` and `providers mirror`.
pub(super) struct Inputs {
    requirements: Needs,
    pub(super) previous_lock: LockFile,
    places: Places,
    environment: Environment,
    services: Arc<Services>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// Adds hashes of packages to the lock file; existing entries stay.
///
/// # Errors
/// A download failed, or the configuration is wrong.
pub async fn lock(
    wanted: LockAndMirrorRequest,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Written, EngineError> {
    let mut ground = load_inputs(&wanted).await?;
    let before = ground.previous_lock.clone();
    // Entries of providers that were not named stay.
    let mut after = before.clone();
    // Locked versions are binding, locked hashes are not: only the source's hashes count.
    let locked = locks(&before, &ground.requirements, &mut ground.warnings).into_iter();
    let mut versions: BTreeMap<ProviderAddress, LockEntry> = locked
        .map(|(address, e)| (address, without_hashes(e)))
        .collect();
    for platform in wanted.platforms() {
        // An empty workspace without a cache, so that each package is downloaded and verified.
        let room = tempfile::tempdir().map_err(EngineError::failed_to(
            "cannot create a temporary directory",
        ))?;
        let mut shared = ground.shared(hashed(&tell, &platform));
        shared.places.workspace = room.path().to_owned();
        shared.places.cache = None;
        shared.platform = platform;
        shared.only_source = Some(wanted.source());
        let done = all(ground.jobs(shared, &versions), &stop).await?;
        for (address, done) in done {
            ground.warnings.extend(done.warnings.iter().map(|warning| {
                let detail = format!("{address}: {warning}.");
                plain(Severity::Warning, "Provider warning", detail)
            }));
            let need = ground.requirements.get(&address);
            let entry = merged(after.entries.remove(&address), &done, need);
            versions.insert(address.clone(), without_hashes(entry.clone()));
            after.entries.insert(address, entry);
        }
    }
    let changed = fsroot::read_text(&after.path).ok() != Some(after.text())
        && (before.exists() || !ground.requirements.is_empty());
    if changed {
        after.write().map_err(InstallError::lockfile(&after.path))?;
        tell(Step::Locked { file: after.name() });
    }
    Ok(Written {
        providers: ground.requirements.len(),
        changed,
        diagnostics: ground.warnings,
    })
}

/// Downloads packages from their registries to a directory in the layout of a mirror, with the
/// indexes of a network mirror.
///
/// # Errors
/// A download failed, or the configuration is wrong.
pub async fn mirror(
    wanted: LockAndMirrorRequest,
    dir: PathBuf,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Written, EngineError> {
    let mut ground = load_inputs(&wanted).await?;
    let before = ground.previous_lock.clone();
    let versions = locks(&before, &ground.requirements, &mut ground.warnings);
    let mut shared = ground.shared(tell);
    // A mirror takes nothing from other mirrors.
    shared.only_source = Some(Source::Registry);
    let jobs = ground.jobs(shared, &versions);
    let platforms = wanted.platforms();
    for job in jobs {
        let put = job.update_mirror(&dir, &platforms);
        let put = tokio::select! { biased;
            () = stop.cancelled() => return Err(EngineError::Cancelled),
            put = put => put,
        };
        put.map_err(|(summary, detail)| {
            EngineError::Diagnostics(vec![plain(Severity::Error, summary, detail)])
        })?;
    }
    Ok(Written {
        providers: ground.requirements.len(),
        changed: true,
        diagnostics: ground.warnings,
    })
}

impl LockAndMirrorRequest {
    fn platforms(&self) -> Vec<String> {
        match self.platforms.is_empty() {
            true => vec![platform()],
            false => self.platforms.clone(),
        }
    }

    fn source(&self) -> Source {
        match &self.from {
            From::Registries => Source::Registry,
            From::Directory(path) => Source::Directory(path.clone()),
            From::Mirror(url) => Source::Mirror {
                url: url.clone(),
                trust_all: false,
            },
        }
    }
}

impl Inputs {
    fn shared(&self, tell: Tell) -> Shared {
        let (places, services) = (self.places.clone(), self.services.clone());
        Shared::new(places, &self.environment, services, tell)
    }

    fn jobs(&self, shared: Shared, locked: &BTreeMap<ProviderAddress, LockEntry>) -> Vec<Job> {
        let shared = Arc::new(shared);
        let needs = self.requirements.iter();
        needs
            .map(|(address, need)| Job {
                shared: shared.clone(),
                address: address.clone(),
                requirement: need.clone(),
                locked: locked.get(address).cloned(),
            })
            .collect()
    }
}

/// Loads the configuration's requirements and the lock file.
async fn load_inputs(wanted: &LockAndMirrorRequest) -> Result<Inputs, EngineError> {
    let wanted = wanted.clone();
    let read = tokio::task::spawn_blocking(move || {
        let around = Environment::from_process();
        let places = Places::gather(&wanted.dir, &around).map_err(convert_places_error)?;
        let services = services(&places, &around).map_err(EngineError::refused)?;
        let converted =
            |diags: &_, sources: &_| diagnostics::convert_all(diags, sources, &Secrets::default());
        let (root, warnings) =
            match load::load(&wanted.dir, &wanted.workspace, &wanted.values, true) {
                Ok((loaded, diags)) => (loaded.root, converted(&diags.0, &loaded.sources)),
                Err((sources, diags)) => {
                    return Err(EngineError::Diagnostics(converted(&diags.0, &sources)));
                }
            };
        // The lock file covers the configuration, not the state.
        let (mut needs, wrong) = requirements(&root, &BTreeSet::new());
        if !wrong.is_empty() {
            let wrong = wrong.into_iter();
            let wrong = wrong.map(|w| plain(Severity::Error, "Invalid provider requirement", w));
            return Err(EngineError::Diagnostics(wrong.collect()));
        }
        retain_named(&mut needs, &wanted.providers)?;
        let before = LockFile::read(&wanted.dir);
        Ok(Inputs {
            requirements: needs,
            previous_lock: before.map_err(EngineError::refused)?,
            places,
            environment: around,
            services: Arc::new(services),
            warnings,
        })
    });
    read.await
        .map_err(EngineError::task("failed to read the configuration"))?
}

/// Keeps only the named providers, which must be needed.
fn retain_named(needs: &mut Needs, named: &[String]) -> Result<(), InstallError> {
    let mut wanted = BTreeSet::new();
    for text in named {
        let whole = model::full_address(text);
        let address: Option<ProviderAddress> = whole.parse().ok();
        match address.filter(|address| needs.contains_key(address)) {
            Some(address) => drop(wanted.insert(address)),
            None => {
                return Err(InstallError::Unneeded(text.clone()));
            }
        }
    }
    if !wanted.is_empty() {
        needs.retain(|address, _| wanted.contains(address));
    }
    Ok(())
}

/// Reports hashes in place of installations.
fn hashed(tell: &Tell, platform: &str) -> Tell {
    let (tell, platform) = (tell.clone(), platform.to_owned());
    Arc::new(move |step| match step {
        Step::ProviderInstalled {
            provider,
            version,
            signed_by,
            ..
        } => tell(Step::ProviderHashed {
            provider,
            version,
            platform: platform.clone(),
            signed_by,
        }),
        other => tell(other),
    })
}

/// Returns the entry without hashes.
fn without_hashes(entry: LockEntry) -> LockEntry {
    LockEntry {
        hashes: BTreeSet::new(),
        ..entry
    }
}

/// Merges the lock entry with the new hashes.
fn merged(before: Option<LockEntry>, done: &Done, need: Option<&VersionConstraint>) -> LockEntry {
    // Hashes of another version do not apply.
    let known = before.filter(|entry| entry.version == done.version);
    let known = known.map(|entry| entry.hashes).unwrap_or_default();
    LockEntry {
        version: done.version.clone(),
        constraints: need.map(VersionConstraint::canonical).unwrap_or_default(),
        hashes: known.into_iter().chain(done.hashes.clone()).collect(),
    }
}
