//! Installs modules while the configuration is loaded, because the calls of a module are known only
//! after its download. Owns the manifest until it is written.

use super::files::copy;
use super::{Request, Step, Tell};
use dependency::{Version, VersionConstraint};
use fetch::{FetchError, Packages as Fetcher, Services, expand};
use fsroot::RootedPath;
use lang::config::{
    self, InstalledModule, Manifest, ModuleRequest, ModuleSource, RegistryModule, RemoteModule,
};
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use workspace::state_location;

/// Installs requested modules that are missing.
pub(super) struct Installer<'a> {
    root: PathBuf,
    /// Modules directory, relative to the root.
    folder: PathBuf,
    /// Modules directory, for writing.
    target_dir: RootedPath,
    manifest: Manifest,
    previous_manifest: Manifest,
    services: &'a Services,
    upgrade: bool,
    /// Packages downloaded in this run, by address; further calls copy them.
    fetched: HashMap<String, PathBuf>,
    versions: HashMap<String, Vec<String>>,
    on_step: Tell,
    stop: CancellationToken,
    runtime: Handle,
}

/// A package to download.
struct Package {
    /// Address, with the directory inside.
    remote: RemoteModule,
    token: Option<String>,
    version: Option<Version>,
}

type ModuleResult<T> = Result<T, Box<Diagnostic>>;

fn module_error<T>(asked: &ModuleRequest<'_>, summary: &str, detail: String) -> ModuleResult<T> {
    Err(Box::new(Diagnostic::error(summary, detail).at(asked.span)))
}

impl<'a> Installer<'a> {
    pub(super) fn new(
        request: &Request,
        data: &Path,
        services: &'a Services,
        tell: Tell,
        stop: CancellationToken,
        runtime: Handle,
    ) -> Result<Self, Diagnostic> {
        let folder = config::modules_dir(Path::new(""), data);
        let to = state_location::data(&request.dir).join(folder.file_name().unwrap_or_default());
        let at = request.dir.join(&folder);
        let before = Manifest::read(&at).map_err(|why| {
            let file = at.join(config::MANIFEST);
            Diagnostic::error(
                "Unreadable modules manifest",
                format!(
                    "The manifest of the installed modules, {}, cannot be used: {why}. Remove the file and run `flightdeck get` to install all modules again.",
                    file.display()
                ),
            )
        })?;
        let mut manifest = before.clone();
        let root = InstalledModule {
            source: String::new(),
            version: None,
            dir: ".".to_owned(),
        };
        manifest.records.insert(String::new(), root);
        Ok(Self {
            root: request.dir.clone(),
            folder,
            target_dir: to,
            manifest,
            previous_manifest: before,
            services,
            upgrade: request.upgrade,
            fetched: HashMap::new(),
            versions: HashMap::new(),
            on_step: tell,
            stop,
            runtime,
        })
    }

    /// Returns true if the installation was cancelled.
    pub(super) fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Writes the manifest, if there are modules and it changed.
    pub(super) fn write_manifest(&self, diags: &mut Diagnostics) {
        let none = self.manifest.records.len() == 1 && self.previous_manifest.records.is_empty();
        if none || self.manifest == self.previous_manifest {
            return;
        }
        let file = self.target_dir.join(config::MANIFEST);
        if let Err(error) = file.replace(self.manifest.text().as_bytes(), 0o644) {
            let detail = format!("{} could not be written: {error}.", file.path().display());
            diags.push(Diagnostic::error(
                "Failed to update the modules manifest",
                detail,
            ));
        }
    }

    /// Returns the valid record of an installed module.
    fn valid_record(&self, asked: &ModuleRequest<'_>, source: &str) -> Option<InstalledModule> {
        let record = self.manifest.records.get(&asked.key)?;
        let fits = match (&record.version, asked.version) {
            (Some(version), Some(wanted)) => wanted.allows(version),
            (None, Some(_)) => false,
            (_, None) => true,
        };
        // Source and constraint may have changed in the configuration.
        let good = !self.upgrade
            && record.source == source
            && fits
            && self.root.join(&record.dir).is_dir();
        good.then(|| record.clone())
    }

    fn forget(&mut self, key: &str) {
        // The records of its calls go with a module.
        let below = format!("{key}.");
        let records = &mut self.manifest.records;
        records.retain(|known, _| known != key && !known.starts_with(&below));
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, FetchError>>) -> Result<T, FetchError> {
        let stop = self.stop.clone();
        // The loader is synchronous and runs in a blocking thread.
        self.runtime.block_on(async move {
            tokio::select! { biased;
                () = stop.cancelled() => Err(FetchError::Cancelled),
                done = work => done,
            }
        })
    }

    fn install(&mut self, asked: &ModuleRequest<'_>) -> ModuleResult<(String, Option<Version>)> {
        let package = match asked.source {
            ModuleSource::Remote(remote) => Package {
                remote: remote.clone(),
                token: None,
                version: None,
            },
            ModuleSource::Registry(module) => self.find_in_registry(asked, module)?,
            ModuleSource::Local(_) => {
                return module_error(
                    asked,
                    "Unreadable module directory",
                    "A local path cannot be downloaded.".to_owned(),
                );
            }
        };
        (self.on_step)(Step::ModuleFetching {
            module: asked.key.clone(),
            source: match asked.source {
                ModuleSource::Registry(module) => module.package(),
                _ => fetch::redacted(&package.remote.package),
            },
            version: package.version.as_ref().map(Version::to_string),
        });
        let place = self.target_dir.join(&asked.key);
        let to = self.root.join(&self.folder).join(&asked.key);
        self.fetch(asked, &package, &place, &to)?;
        let dir = expand(&to, &package.remote.subdir).or_else(|e| {
            let subdir = &package.remote.subdir;
            let detail = format!(
                "The package of module \"{}\", {}, has no usable directory \"{subdir}\": {e}.",
                asked.name,
                fetch::redacted(&package.remote.package)
            );
            module_error(asked, "Module subdirectory not found", detail)
        })?;
        let inner = dir.strip_prefix(&to).unwrap_or(Path::new(""));
        let shown = self.folder.join(&asked.key).join(inner);
        Ok((
            shown.to_string_lossy().trim_end_matches('/').to_owned(),
            package.version,
        ))
    }

    fn fetch(
        &mut self,
        asked: &ModuleRequest<'_>,
        package: &Package,
        place: &RootedPath,
        to: &Path,
    ) -> ModuleResult<()> {
        let address = &package.remote.package;
        let failed = |why: String| {
            let detail = format!(
                "Failed to download the package of module \"{}\" from {}: {}.",
                asked.name,
                fetch::redacted(address),
                // The message of a failed program may end with a dot.
                why.trim_end().trim_end_matches('.')
            );
            module_error(asked, "Failed to download module", detail)
        };
        // Ensures that the parent directories exist and are no links.
        if let Err(e) = place.create_parents().and_then(|()| place.remove_all()) {
            return failed(format!("cannot replace {}: {e}", to.display()));
        }
        // A package with several calls is downloaded once.
        if let Some(other) = self.fetched.get(address).filter(|other| other.is_dir()) {
            return copy(other, to).or_else(|e| failed(e.to_string()));
        }
        let (tell, what) = (self.on_step.clone(), asked.key.clone());
        let on_bytes = move |done, total| {
            tell(Step::Bytes {
                what: what.clone(),
                done,
                total,
            });
        };
        let http = self.services.http().logging_in();
        let fetcher = Fetcher::new(&http);
        let fetching = fetcher.fetch(address, package.token.as_deref(), to, &on_bytes);
        match self.wait(fetching) {
            Ok(()) => {
                self.fetched.insert(address.clone(), to.to_owned());
                Ok(())
            }
            Err(error) => failed(error.to_string()),
        }
    }

    fn find_in_registry(
        &mut self,
        asked: &ModuleRequest<'_>,
        module: &RegistryModule,
    ) -> ModuleResult<Package> {
        let version = self.version(asked, module)?;
        let names = [&*module.namespace, &module.name, &module.system];
        let text = version.to_string();
        let located = self.services.module_location(&module.host, names, &text);
        let location = self.wait(located).or_else(|error| {
            let detail = format!(
                "The registry {} has no download location for version {text} of {}: {error}.",
                module.host,
                module.package()
            );
            module_error(asked, "Error accessing remote module registry", detail)
        })?;
        let remote = RemoteModule::parse(&location.source).or_else(|error| {
            let detail = format!(
                "The registry {} returned an invalid package address for version {text} of {}, \"{}\": {error}.",
                module.host,
                module.package(),
                fetch::redacted(&location.source)
            );
            module_error(asked, "Error accessing remote module registry", detail)
        })?;
        // A registry must not make this machine read its own files.
        if remote.package.starts_with("file:") {
            let detail = format!(
                "The registry {} returned a local path for {}, which is not allowed.",
                module.host,
                module.package()
            );
            return module_error(asked, "Error accessing remote module registry", detail);
        }
        Ok(Package {
            remote: remote.below(&module.subdir),
            token: location.token,
            version: Some(version),
        })
    }

    /// Returns the newest allowed version.
    fn version(
        &mut self,
        asked: &ModuleRequest<'_>,
        module: &RegistryModule,
    ) -> ModuleResult<Version> {
        let package = format!("{}/{}", module.host, module.package());
        let texts = match self.versions.get(&package) {
            Some(texts) => texts.clone(),
            None => {
                let names = [&*module.namespace, &module.name, &module.system];
                let asking = self.services.module_versions(&module.host, names);
                let texts = self
                    .wait(asking)
                    .or_else(|error| unlisted_error(asked, module, &error))?;
                self.versions.insert(package, texts.clone());
                texts
            }
        };
        let mut all: Vec<Version> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        let wanted = asked.version.cloned().unwrap_or_default();
        // A pre-release must be requested exactly.
        all.retain(|version| version.prerelease.is_empty() || names(&wanted, version));
        all.sort();
        let Some(newest) = all.last() else {
            let detail = format!(
                "The registry {} has no version of {}.",
                module.host,
                module.package()
            );
            return module_error(asked, "Module has no versions", detail);
        };
        match all.iter().rev().find(|version| wanted.allows(version)) {
            Some(version) => Ok(version.clone()),
            None => {
                let detail = format!(
                    "No version of {} in {} matches the version constraint. The newest version is {newest}.",
                    module.package(),
                    module.host
                );
                module_error(asked, "Unresolvable module version constraint", detail)
            }
        }
    }
}

/// Returns true if a constraint allows exactly this version.
fn names(wanted: &VersionConstraint, version: &Version) -> bool {
    [format!("{version}"), format!("v{version}")]
        .iter()
        .filter_map(|text| text.parse::<VersionConstraint>().ok())
        .any(|exact| exact == *wanted)
}

fn unlisted_error<T>(
    asked: &ModuleRequest<'_>,
    module: &RegistryModule,
    error: &FetchError,
) -> ModuleResult<T> {
    let (package, host) = (module.package(), &module.host);
    if let FetchError::NotFound(_) = error {
        let detail = format!(
            "The module {package} of the call \"{}\" is not in the registry {host}.",
            asked.name
        );
        return module_error(asked, "Module not found", detail);
    }
    let detail = format!("Cannot list the versions of {package} from {host}: {error}.");
    module_error(asked, "Error accessing remote module registry", detail)
}

impl config::ModuleResolver for Installer<'_> {
    fn module_directory(
        &mut self,
        asked: &ModuleRequest<'_>,
        diags: &mut Diagnostics,
    ) -> Option<String> {
        if self.stopped() {
            return None;
        }
        // An invalid name is reported elsewhere; here it would become a path.
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if asked.name.is_empty() || !asked.name.chars().all(plain) {
            return None;
        }
        let source = asked.source.to_string();
        if let ModuleSource::Local(path) = asked.source {
            // A local module is used in its place.
            let dir = config::local(&self.root, asked, path, diags)?;
            let known = self.manifest.records.get(&asked.key);
            if known.is_none_or(|known| known.source != source) {
                self.forget(&asked.key);
            }
            self.record(asked, source, dir.clone(), None);
            return Some(dir);
        }
        if let Some(record) = self.valid_record(asked, &source) {
            return Some(record.dir);
        }
        self.forget(&asked.key);
        match self.install(asked) {
            Ok((dir, version)) => {
                (self.on_step)(Step::ModuleInstalled {
                    module: asked.key.clone(),
                    dir: dir.clone(),
                    version: version.as_ref().map(Version::to_string),
                });
                self.record(asked, source, dir.clone(), version);
                Some(dir)
            }
            // The caller reports the cancellation.
            Err(_) if self.stopped() => None,
            Err(diagnostic) => {
                diags.push(*diagnostic);
                None
            }
        }
    }
}

impl Installer<'_> {
    fn record(
        &mut self,
        asked: &ModuleRequest<'_>,
        source: String,
        dir: String,
        version: Option<Version>,
    ) {
        let dir = if dir.is_empty() { ".".to_owned() } else { dir };
        let record = InstalledModule {
            source,
            version,
            dir,
        };
        self.manifest.records.insert(asked.key.clone(), record);
    }
}
