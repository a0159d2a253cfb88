//! Installation of one provider: selects a version, downloads and verifies its package, and moves
//! or links it to its directory.

use super::files::{LinkError, lock, replace_with_link};
use super::sources::{Listed, Package, Source};
use super::{Step, Tell};
use dependency::{DEFAULT_HOST, ProviderAddress, Version, VersionConstraint};
use fetch::{Checks, FetchError, Policy, Services};
use fsroot::RootedPath;
use plugin::find::{Environment, HashCache, LockEntry, Places, platform};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use trust::file::TrustFile;

/// Shared parts of all providers in a run.
pub(super) struct Shared {
    pub(super) places: Places,
    pub(super) services: Arc<Services>,
    pub(super) upgrade: bool,
    pub(super) on_step: Tell,
    /// Require a signature even if the default registry names no key.
    pub(super) strict: bool,
    pub(super) expired_is_wrong: bool,
    pub(super) cache: HashCache,
    /// The user's decisions.
    pub(super) trust: TrustFile,
    /// Platform of the packages.
    pub(super) platform: String,
    /// The only source to query, regardless of the CLI configuration.
    pub(super) only_source: Option<Source>,
}

impl Shared {
    /// Creates the data for this platform, with the sources of the CLI configuration.
    pub(super) fn new(
        places: Places,
        around: &Environment,
        services: Arc<Services>,
        tell: Tell,
    ) -> Self {
        let is_true = |name: &str| around.variables.get(name).is_some_and(|v| v == "true");
        let variable = |name: &str| {
            let value = around.variables.get(name);
            value.map(|value| value.to_string_lossy().into_owned())
        };
        Self {
            trust: TrustFile::default_file(variable, &places.root),
            strict: is_true("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            expired_is_wrong: is_true("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            upgrade: false,
            cache: HashCache::in_memory(),
            platform: platform(),
            only_source: None,
            places,
            services,
            on_step: tell,
        }
    }
}

/// An installed provider.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) version: Version,
    pub(super) hashes: BTreeSet<String>,
    /// Hashes for other platforms are known.
    pub(super) complete: bool,
    pub(super) warnings: Vec<String>,
}

/// Failure: summary and detail.
pub(super) type Problem = (&'static str, String);

pub(super) struct Job {
    pub(super) shared: Arc<Shared>,
    pub(super) address: ProviderAddress,
    pub(super) requirement: VersionConstraint,
    /// Entry in the lock file.
    pub(super) locked: Option<LockEntry>,
}

impl Job {
    pub(super) async fn run(self) -> Result<Done, Problem> {
        let (version, lists) = self.version().await?;
        let warnings = lists.iter().flat_map(|l| l.warnings.clone()).collect();
        let base = self.shared.places.workspace.clone();
        // An installed package that the lock file allows is not downloaded again.
        if let Some(done) = self.installed_package(&base, &version, warnings).await {
            (self.shared.on_step)(Step::ProviderReused {
                provider: self.address.to_string(),
                version: version.to_string(),
            });
            return Ok(done);
        }
        // A locked version was chosen without lists, so every source is asked.
        let from = match lists.is_empty() {
            true => self.sources(),
            false => {
                let has = |list: &&Listed| list.versions.contains(&version);
                lists.iter().filter(has).map(|l| l.source.clone()).collect()
            }
        };
        let mut done = self.install(&version, &from).await?;
        done.warnings = lists.into_iter().flat_map(|l| l.warnings).collect();
        Ok(done)
    }

    /// Returns the hashes that the lock file allows for a version.
    fn allowed_hashes(&self, version: &Version) -> Vec<String> {
        let entry = self.locked.as_ref().filter(|e| e.version == *version);
        let hashes = entry.map(|e| e.hashes.clone()).unwrap_or_default();
        // Hashes of other schemes cannot be checked.
        let known = |h: &String| h.starts_with("h1:") || h.starts_with("zh:");
        hashes.into_iter().filter(known).collect()
    }

    fn package_dir(&self, base: &Path, version: &Version) -> RootedPath {
        let inner = Path::new(&self.address.to_string())
            .join(version.to_string())
            .join(&self.shared.platform);
        // The plugin cache is the operator's directory and may contain links.
        if base == self.shared.places.workspace {
            RootedPath::new(base, inner)
        } else {
            RootedPath::trusted(base, inner)
        }
    }

    /// Returns the installed package, if its hash is in the lock file.
    async fn installed_package(
        &self,
        base: &Path,
        version: &Version,
        warnings: Vec<String>,
    ) -> Option<Done> {
        let allowed = self.allowed_hashes(version);
        let dir = self.package_dir(base, version).path();
        // Without a hash of its files, an unpacked package cannot be verified.
        if !dir.is_dir() || !allowed.iter().any(|h| h.starts_with("h1:")) {
            return None;
        }
        let shared = self.shared.clone();
        let hash = tokio::task::spawn_blocking(move || shared.cache.package(&dir)).await;
        let hash = hash.ok()?.ok()?;
        allowed.contains(&hash).then(|| Done {
            version: version.clone(),
            hashes: allowed.into_iter().collect(),
            complete: true,
            warnings,
        })
    }

    async fn install(&self, version: &Version, from: &[Source]) -> Result<Done, Problem> {
        let own = self.shared.places.workspace.clone();
        let Some(cache) = self.shared.places.cache.clone() else {
            return self.install_into(&own, version, from).await;
        };
        let done = match self.installed_package(&cache, version, Vec::new()).await {
            Some(done) => done,
            None => match self.cached_package(&cache, version).await {
                Some(done) => done,
                // Other workspaces use and trust the cache, so packages of this workspace stay out
                // of it.
                None if from.iter().any(|source| self.is_shipped(source)) => {
                    return self.install_into(&own, version, from).await;
                }
                None => self.install_into(&cache, version, from).await?,
            },
        };
        // The workspace only links to the package in the cache.
        let (package, link) = (
            self.package_dir(&cache, version).path(),
            self.package_dir(&own, version),
        );
        replace_with_link(&package, &link)
            .map_err(|e| self.fetch_problem(version, &e.to_string()))?;
        (self.shared.on_step)(Step::ProviderInstalled {
            provider: self.address.to_string(),
            version: version.to_string(),
            from: format!("the plugin cache {}", cache.display()),
            signed_by: None,
        });
        Ok(done)
    }

    /// Returns the package in the cache, if configuration allows its use without a hash in the lock
    /// file.
    async fn cached_package(&self, cache: &Path, version: &Version) -> Option<Done> {
        let dir = self.package_dir(cache, version).path();
        if !self.shared.places.may_break_lock
            || !self.allowed_hashes(version).is_empty()
            || !dir.is_dir()
        {
            return None;
        }
        let shared = self.shared.clone();
        let hash = tokio::task::spawn_blocking(move || shared.cache.package(&dir)).await;
        Some(Done {
            version: version.clone(),
            hashes: [hash.ok()?.ok()?].into(),
            complete: false,
            warnings: Vec::new(),
        })
    }

    pub(super) fn fetch_problem(&self, version: &Version, why: &str) -> Problem {
        (
            FAILED,
            format!("Failed to install {} {version}: {why}.", self.address),
        )
    }

    /// Returns the package from the first source that has it.
    pub(super) async fn first<'s>(
        &self,
        version: &Version,
        from: &'s [Source],
    ) -> Result<(&'s Source, Package), Problem> {
        let mut found = None;
        for source in from {
            let package = source
                .package(
                    &self.shared.services,
                    &self.address,
                    version,
                    &self.shared.platform,
                )
                .await;
            let package = package.map_err(|e| {
                self.fetch_problem(
                    version,
                    &format!("{} failed: {e}", source.describe(&self.address)),
                )
            })?;
            if let Some(package) = package {
                found = Some((source, package));
                break;
            }
        }
        let Some(found) = found else {
            let asked: Vec<String> = from.iter().map(|s| s.describe(&self.address)).collect();
            let why = format!(
                "no package for {} in {}",
                self.shared.platform,
                asked.join(", ")
            );
            return Err(self.fetch_problem(version, &why));
        };
        Ok(found)
    }

    async fn install_into(
        &self,
        base: &Path,
        version: &Version,
        from: &[Source],
    ) -> Result<Done, Problem> {
        let (source, package) = self.first(version, from).await?;
        let to = self.package_dir(base, version);
        // Another process may be installing the same package.
        let _lock = lock(&to)
            .await
            .map_err(|e| self.fetch_problem(version, &e.to_string()))?;
        (self.shared.on_step)(Step::ProviderFetching {
            provider: self.address.to_string(),
            version: version.to_string(),
            from: source.describe(&self.address),
        });
        let allowed = self.allowed_hashes(version);
        let is_brought = self.is_shipped(source);
        let (h1, checked, vouched, signer) = match package {
            Package::Unpacked(dir) => {
                let h1 = self.link_package(&dir, &to, &allowed).await;
                let h1 = h1.map_err(|why| self.fetch_problem(version, &why.to_string()))?;
                (h1, BTreeSet::new(), BTreeSet::new(), None)
            }
            Package::Packed(package) => {
                let obtained = self.unpack(&package, &to.path(), &allowed).await;
                let obtained = obtained.map_err(|e| self.fetch_problem(version, &e.to_string()))?;
                let mut vouched = obtained.other_platform_hashes;
                let is_mirrored = matches!(package.checks, Checks::Hashes { .. });
                // A mirror's hashes do not prove a signature, so they are not recorded as verified.
                if is_mirrored && self.requires_signature() {
                    vouched.clear();
                }
                (obtained.h1, obtained.checked, vouched, obtained.signer)
            }
        };
        if is_brought && let Err(source) = self.shared.places.record_shipped(&h1) {
            // Only this record distinguishes it from the user's own packages.
            to.remove_all().ok();
            let why = format!("cannot record its provenance: {source}");
            return Err(self.fetch_problem(version, &why));
        }
        if !is_brought {
            self.trust_in_workspace(base, &h1);
        }
        (self.shared.on_step)(Step::ProviderInstalled {
            provider: self.address.to_string(),
            version: version.to_string(),
            from: source.describe(&self.address),
            signed_by: signer.as_ref().map(|s| s.key.clone()),
        });
        let mut warnings = Vec::new();
        if let Some(signer) = signer.filter(|s| s.expired) {
            warnings.push(format!("the signing key {} is expired", signer.key));
        }
        let own: BTreeSet<String> = [h1.clone()].into_iter().chain(checked).collect();
        let before: BTreeSet<String> = allowed.into_iter().collect();
        let complete = !vouched.is_empty() || (!before.is_empty() && before != own);
        Ok(Done {
            version: version.clone(),
            hashes: own.into_iter().chain(before).chain(vouched).collect(),
            complete,
            warnings,
        })
    }

    /// Trusts a package that the user's own sources gave, if it is now in a directory whose
    /// plugins need trust, such as a plugin cache below a checkout.
    fn trust_in_workspace(&self, base: &Path, h1: &str) {
        let places = &self.shared.places;
        if places.has_config_of_workspace || !places.ships_plugins_in(base) {
            return;
        }
        let name = format!("{} {}", self.address, base.display());
        if let Err(error) = self.shared.trust.add(h1, &name) {
            // Without the decision, the next command asks for it.
            tracing::warn!(%error, "the trust in an installed provider is not saved");
        }
    }

    /// Returns true if the source is inside the workspace.
    fn is_shipped(&self, source: &Source) -> bool {
        match source {
            Source::Directory(path) => self.shared.places.ships_plugins_in(path),
            Source::Mirror { .. } | Source::Registry => false,
        }
    }

    fn requires_signature(&self) -> bool {
        self.shared.strict || self.address.host() != DEFAULT_HOST
    }

    /// Returns the signature policy.
    pub(super) fn policy(&self) -> Policy {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Policy {
            must_be_signed: self.requires_signature(),
            expired_is_wrong: self.shared.expired_is_wrong,
            now: now.map_or(0, |d| d.as_secs()),
        }
    }

    /// Reports the progress of a download.
    pub(super) fn on_bytes(&self) -> impl Fn(u64, Option<u64>) + Send + Sync + use<> {
        let (tell, what) = (self.shared.on_step.clone(), self.address.to_string());
        move |done, total| {
            tell(Step::Bytes {
                what: what.clone(),
                done,
                total,
            });
        }
    }

    /// Unpacks an archive into its place; an existing package must be equal.
    async fn unpack(
        &self,
        package: &fetch::ProviderPackage,
        to: &Path,
        allowed: &[String],
    ) -> Result<fetch::FetchedPackage, FetchError> {
        let (policy, on_bytes) = (self.policy(), self.on_bytes());
        let http = self.shared.services.http();
        let file = |source| FetchError::File {
            path: to.to_owned(),
            source,
        };
        if std::fs::symlink_metadata(to).is_err() {
            return package.install(http, to, allowed, policy, &on_bytes).await;
        }
        // On the same file system, so that the package can be renamed.
        let folder = to.parent().unwrap_or(Path::new("."));
        let room = tempfile::Builder::new()
            .prefix(".fetching-")
            .tempdir_in(folder)
            .map_err(file)?;
        let new = room.path().join("package");
        let obtained = package
            .install(http, &new, allowed, policy, &on_bytes)
            .await?;
        let (shared, there) = (self.shared.clone(), to.to_owned());
        let hash = tokio::task::spawn_blocking(move || shared.cache.package(&there)).await;
        match hash.ok().and_then(Result::ok) {
            Some(hash) if hash == obtained.h1 => Ok(obtained),
            _ if std::fs::remove_dir(to).is_ok() => {
                // The existing directory was empty.
                std::fs::rename(&new, to).map_err(file)?;
                Ok(obtained)
            }
            _ => Err(FetchError::Checksum {
                what: to.display().to_string(),
                why: "a different package is already installed there; remove it if you do not need its changes".to_owned(),
            }),
        }
    }

    /// Links to an unpacked package.
    async fn link_package(
        &self,
        package: &Path,
        to: &RootedPath,
        allowed: &[String],
    ) -> Result<String, LinkError> {
        let (shared, dir) = (self.shared.clone(), package.to_owned());
        let hash = tokio::task::spawn_blocking(move || shared.cache.package(&dir)).await;
        let hash = hash??;
        // Hashes of archives cannot verify an unpacked package.
        if !allowed.is_empty() && !allowed.contains(&hash) {
            return Err(LinkError::Other {
                package: package.to_owned(),
                hash,
            });
        }
        replace_with_link(package, to)?;
        Ok(hash)
    }
}

const FAILED: &str = "Failed to install provider";
