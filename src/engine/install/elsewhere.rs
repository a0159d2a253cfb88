//! `providers lock` and `providers mirror`: packages for other platforms. They come from their
//! registries or the one named source, regardless of the CLI configuration. Packages fetched only
//! for hashes are discarded.

use super::error::InstallError;
use super::provider::{Done, Job, Shared};
use super::providers::{all, locks, write};
use super::requirements::{Need, Needs, needs};
use super::sources::Source;
use super::{Step, Tell, plain, refused, services};
use crate::engine::error::EngineError;
use crate::engine::plugin::find::{
    LockEntry, LockFile, Places, ProviderAddress, Surroundings, platform,
};
use crate::engine::secrets::Secrets;
use crate::engine::told;
use crate::engine::words::{Diagnostic, Severity, StageRequest};
use crate::engine::workspace::load;
use fetch::{Locked, Services, constraints, lock_text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Options of `providers lock` and `providers mirror`.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere {
    /// Directory of the configuration.
    pub dir: PathBuf,
    /// The selected workspace; empty for the default one.
    pub named: String,
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
pub(super) struct Ground {
    needs: Needs,
    pub(super) before: LockFile,
    places: Places,
    around: Surroundings,
    services: Arc<Services>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// Adds hashes of packages to the lock file; existing entries stay.
///
/// # Errors
/// A download failed, or the configuration is wrong.
pub async fn lock(
    wanted: Elsewhere,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Written, EngineError> {
    let mut ground = ground(&wanted).await?;
    let before = ground.before.clone();
    let mut known: BTreeMap<ProviderAddress, LockEntry> = before
        .iter()
        .map(|(address, entry)| (address.clone(), entry.clone()))
        .collect();
    // Locked versions are binding, locked hashes are not: only the source's hashes count.
    let locked = locks(&before, &ground.needs, &mut ground.warnings).into_iter();
    let mut versions: BTreeMap<ProviderAddress, LockEntry> =
        locked.map(|(address, e)| (address, bare(e))).collect();
    for platform in wanted.platforms() {
        // An empty workspace without a cache, so that each package is downloaded and verified.
        let room = tempfile::tempdir()
            .map_err(EngineError::unable("cannot create a temporary directory"))?;
        let mut shared = ground.shared(hashed(&tell, &platform));
        shared.places.workspace = room.path().to_owned();
        shared.places.cache = None;
        shared.platform = platform;
        shared.only = Some(wanted.source());
        let done = all(ground.jobs(shared, &versions), &stop).await?;
        for (address, done) in done {
            ground.warnings.extend(done.warnings.iter().map(|warning| {
                let detail = format!("{address}: {warning}.");
                plain(Severity::Warning, "Provider warning", detail)
            }));
            let need = ground.needs.get(&address);
            let entry = merged(known.remove(&address), &done, need);
            versions.insert(address.clone(), bare(entry.clone()));
            known.insert(address, entry);
        }
    }
    // Entries of providers that were not named stay.
    let text = lock_text(&known.into_iter().map(locked_entry).collect::<Vec<_>>());
    let changed = fsroot::read_text(&before.path).ok().as_ref() != Some(&text)
        && (before.exists() || !ground.needs.is_empty());
    if changed {
        write(&before.path, &text).map_err(InstallError::lockfile(&before.path))?;
        let file = before.path.file_name().unwrap_or_default();
        tell(Step::Locked {
            file: file.to_string_lossy().into_owned(),
        });
    }
    Ok(Written {
        providers: ground.needs.len(),
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
    wanted: Elsewhere,
    dir: PathBuf,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Written, EngineError> {
    let mut ground = ground(&wanted).await?;
    let before = ground.before.clone();
    let versions = locks(&before, &ground.needs, &mut ground.warnings);
    let mut shared = ground.shared(tell);
    // A mirror takes nothing from other mirrors.
    shared.only = Some(Source::Registry);
    let jobs = ground.jobs(shared, &versions);
    let platforms = wanted.platforms();
    for job in jobs {
        let put = job.mirrored(&dir, &platforms);
        let put = tokio::select! { biased;
            () = stop.cancelled() => return Err(EngineError::Cancelled),
            put = put => put,
        };
        put.map_err(|(summary, detail)| {
            EngineError::Diagnostics(vec![plain(Severity::Error, summary, detail)])
        })?;
    }
    Ok(Written {
        providers: ground.needs.len(),
        changed: true,
        diagnostics: ground.warnings,
    })
}

impl Elsewhere {
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

impl Ground {
    fn shared(&self, tell: Tell) -> Shared {
        let (places, services) = (self.places.clone(), self.services.clone());
        Shared::new(places, &self.around, services, tell)
    }

    fn jobs(&self, shared: Shared, locked: &BTreeMap<ProviderAddress, LockEntry>) -> Vec<Job> {
        let shared = Arc::new(shared);
        let needs = self.needs.iter();
        needs
            .map(|(address, need)| Job {
                shared: shared.clone(),
                address: address.clone(),
                need: need.clone(),
                locked: locked.get(address).cloned(),
            })
            .collect()
    }
}

/// Loads the configuration's requirements and the lock file.
async fn ground(wanted: &Elsewhere) -> Result<Ground, EngineError> {
    let wanted = wanted.clone();
    let read = tokio::task::spawn_blocking(move || {
        let around = Surroundings::of_process();
        let places = Places::gather(&wanted.dir, &around).map_err(refused)?;
        let services = services(&places, &around).map_err(EngineError::because)?;
        let told = |diags: &_, sources: &_| told::tell_all(diags, sources, &Secrets::default());
        let (root, warnings) = match load::load(&wanted.dir, &wanted.named, &wanted.values, true) {
            Ok((loaded, diags)) => (loaded.root, told(&diags.0, &loaded.sources)),
            Err((sources, diags)) => {
                return Err(EngineError::Diagnostics(told(&diags.0, &sources)));
            }
        };
        // The lock file covers the configuration, not the state.
        let (mut needs, wrong) = needs(&root, &BTreeSet::new());
        if !wrong.is_empty() {
            let wrong = wrong.into_iter();
            let wrong = wrong.map(|w| plain(Severity::Error, "Invalid provider requirement", w));
            return Err(EngineError::Diagnostics(wrong.collect()));
        }
        chosen(&mut needs, &wanted.providers)?;
        let before = LockFile::read(&wanted.dir);
        Ok(Ground {
            needs,
            before: before.map_err(EngineError::because)?,
            places,
            around,
            services: Arc::new(services),
            warnings,
        })
    });
    read.await
        .map_err(EngineError::task("failed to read the configuration"))?
}

/// Keeps only the named providers, which must be needed.
fn chosen(needs: &mut Needs, named: &[String]) -> Result<(), InstallError> {
    let mut wanted = BTreeSet::new();
    for text in named {
        let whole = crate::engine::words::whole_provider(text);
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
fn bare(entry: LockEntry) -> LockEntry {
    LockEntry {
        hashes: Vec::new(),
        ..entry
    }
}

/// Merges the lock entry with the new hashes.
fn merged(before: Option<LockEntry>, done: &Done, need: Option<&Need>) -> LockEntry {
    // Hashes of another version do not apply.
    let known = before.filter(|entry| entry.version == done.version);
    let hashes: BTreeSet<String> = known
        .into_iter()
        .flat_map(|entry| entry.hashes)
        .chain(done.hashes.iter().cloned())
        .collect();
    let texts = need.map(|need| need.texts.clone()).unwrap_or_default();
    LockEntry {
        version: done.version.clone(),
        constraints: constraints(texts.iter().map(String::as_str)),
        hashes: hashes.into_iter().collect(),
    }
}

fn locked_entry((address, entry): (ProviderAddress, LockEntry)) -> Locked {
    Locked {
        host: address.host.unwrap_or_default(),
        namespace: address.namespace,
        name: address.name,
        version: entry.version,
        constraints: entry.constraints.unwrap_or_default(),
        hashes: entry.hashes.into_iter().collect(),
    }
}
