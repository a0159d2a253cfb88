//! Installation of a configuration's modules and providers, in OpenTofu's directory layout. Uses
//! neither the store nor the state lock; writes files only.

mod choose;
mod error;
mod files;
mod lock_and_mirror;
mod mirror;
mod modules;
mod plugin_dirs;
mod provider;
mod providers;
mod requirements;
mod sources;
mod step;

pub use lock_and_mirror::{From, LockAndMirrorRequest, Written, lock, mirror};
pub use step::{Step, Tell};

use super::diagnostics;
use super::error::EngineError;
use error::StateProvidersError;
use fetch::{Credentials, FetchError, Helper, Http, Limits, Netrc, Services};
use lang::config::{self, Module};
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use model::secrets::Secrets;
use model::{Diagnostic, Severity, StageRequest};
use modules::Installer;
use plugin::find::{Environment, Places, PlacesError};
use statefile::StateFile;
use statefile::encryption::is_encrypted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use workspace::initialize::{InitBackend, InitError, init_backend};
use workspace::{load, state_location};

/// Options of an installation.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Directory of the configuration.
    pub dir: PathBuf,
    /// The selected workspace; empty for the default one.
    pub workspace: String,
    /// Values of variables; module sources may depend on them.
    pub values: StageRequest,
    /// Take newer versions than those installed and locked.
    pub upgrade: bool,
    /// Directories of provider packages that replace all other sources, as given; a single empty
    /// one removes the recorded ones.
    pub plugin_dirs: Vec<PathBuf>,
    /// Permission to change the lock file.
    pub lockfile: Lockfile,
    /// Options for the backend.
    pub backend: InitBackend,
}

/// Permission to change the lock file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lockfile {
    /// Write it if it changes.
    #[default]
    Written,
    /// Do not write it; a missing entry is an error.
    ReadOnly,
}

/// Result of an installation.
#[derive(Debug, Default)]
pub struct Installed {
    /// Number of modules, including local ones.
    pub modules: usize,
    /// Number of providers, without the built-in ones.
    pub providers: usize,
    /// Messages about the backend.
    pub messages: Vec<String>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Installs modules and providers. `stop` ends it at the next wait; complete downloads stay.
///
/// # Errors
/// A download failed, or the configuration is wrong.
pub async fn install(
    request: Request,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Installed, EngineError> {
    // A link there could lead the download out of the workspace.
    for folder in ["providers", "modules"] {
        let place = state_location::data(&request.dir).join(folder);
        place
            .check_dirs()
            .map_err(EngineError::failed_to("cannot install into the workspace"))?;
    }
    plugin_dirs::record(&request)?;
    // The backend comes first, because the state there names further providers.
    let initialized = init_backend(&request.dir, &request.workspace, &request.backend).await;
    let words = initialized.map_err(convert_init_error)?.messages;
    let runtime = tokio::runtime::Handle::current();
    let (told, stopped) = (tell.clone(), stop.clone());
    let read = tokio::task::spawn_blocking(move || {
        let around = Environment::from_process();
        let mut places = Places::gather(&request.dir, &around).map_err(convert_places_error)?;
        plugin_dirs::restrict_to(&request, &mut places);
        let services = services(&places, &around).map_err(EngineError::refused)?;
        let (root, mut installed) = modules(&request, &services, told, stopped, &runtime)?;
        let warned = places.warnings.iter();
        let warned = warned.map(|w| plain(Severity::Warning, "CLI configuration", w.clone()));
        installed.diagnostics.extend(warned);
        // Objects whose configuration was removed still need their providers.
        let in_state = providers_in_state(&request, &mut installed.diagnostics, &runtime);
        let (needs, wrong) = requirements::requirements(&root, &in_state);
        match wrong.is_empty() {
            true => Ok((request, needs, places, around, services, installed)),
            false => {
                let wrong = wrong.into_iter();
                let errors =
                    wrong.map(|w| plain(Severity::Error, "Invalid provider requirement", w));
                Err(EngineError::Diagnostics(errors.collect()))
            }
        }
    });
    let read = read.await.map_err(|source| EngineError::Task {
        what: "failed to install the modules",
        source: Arc::new(source),
    })?;
    let (request, needs, places, around, services, mut installed) = read?;
    let all = (places, &around, services);
    let (count, warnings) = providers::providers(&request, needs, all, tell, stop).await?;
    installed.providers = count;
    installed.diagnostics.extend(warnings);
    installed.messages = words;
    Ok(installed)
}

/// Installs only modules. `stop` ends it at the next wait; complete downloads stay.
///
/// # Errors
/// A download failed, or the configuration is wrong.
pub async fn install_modules(
    request: Request,
    tell: Tell,
    stop: CancellationToken,
) -> Result<Installed, EngineError> {
    let runtime = tokio::runtime::Handle::current();
    let read = tokio::task::spawn_blocking(move || {
        let around = Environment::from_process();
        let places = Places::gather(&request.dir, &around).map_err(convert_places_error)?;
        let services = services(&places, &around).map_err(EngineError::refused)?;
        let (_, mut installed) = modules(&request, &services, tell, stop, &runtime)?;
        let warned = places.warnings.iter();
        let warned = warned.map(|w| plain(Severity::Warning, "CLI configuration", w.clone()));
        installed.diagnostics.extend(warned);
        Ok(installed)
    });
    read.await.map_err(|source| EngineError::Task {
        what: "failed to install the modules",
        source: Arc::new(source),
    })?
}

/// Converts an error of the backend's initialization.
pub fn convert_init_error(error: InitError) -> EngineError {
    match error {
        InitError::Configuration(why) => EngineError::Diagnostics(all(&why.diags, &why.sources)),
        InitError::State(error) => error.into(),
        InitError::ConfirmationNeeded { from, to } => EngineError::StatesToMigrate { from, to },
        other => EngineError::refused(other),
    }
}

fn convert_places_error(error: PlacesError) -> EngineError {
    EngineError::refused(error)
}

/// Returns the provider configurations in the state, if it can be read.
fn providers_in_state(
    request: &Request,
    warnings: &mut Vec<Diagnostic>,
    runtime: &tokio::runtime::Handle,
) -> BTreeSet<String> {
    let unseen = |why: String| {
        let detail = format!("{why} Providers that only the state needs are not installed.");
        plain(Severity::Warning, "Cannot read the state", detail)
    };
    let place = match state_location::locate(&request.dir, &request.workspace, &request.values) {
        Ok(place) => place,
        // The configuration's providers are installed even without the state.
        Err(why) => {
            let first = why.diags.iter().next().map(|d| d.detail.clone());
            warnings.push(unseen(first.unwrap_or_default()));
            return BTreeSet::new();
        }
    };
    let read = || -> Result<Option<StateFile>, StateProvidersError> {
        let text = runtime.block_on(place.place.text(&request.dir))?;
        let text = match is_encrypted(&text) {
            true => place.encryption.open(&text)?.into_owned(),
            false => text,
        };
        Ok(StateFile::read(&text)?)
    };
    match read() {
        Ok(None) => BTreeSet::new(),
        Ok(Some(file)) => file.providers().cloned().collect(),
        Err(why) => {
            warnings.push(unseen(format!("{why}.")));
            BTreeSet::new()
        }
    }
}

fn modules(
    request: &Request,
    services: &Services,
    tell: Tell,
    stop: CancellationToken,
    runtime: &tokio::runtime::Handle,
) -> Result<(Arc<Module>, Installed), EngineError> {
    if !config::is_config_dir(&request.dir) {
        return Ok(Default::default());
    }
    let sources = SourceMap::new();
    // Variables may have no values during an installation.
    let inputs = config::Inputs {
        partial: true,
        ..load::inputs(&request.values, &request.workspace)
    };
    let mut diags = Diagnostics::new();
    let installer = Installer::new(
        request,
        inputs.data_dir(),
        services,
        tell,
        stop,
        runtime.clone(),
    );
    let Some(mut installer) = installer.map_err(|d| diags.push(d)).ok() else {
        return Err(EngineError::Diagnostics(all(&diags, &sources)));
    };
    let (loaded, found) = config::load_with(&request.dir, &sources, &inputs, &mut installer);
    diags.append(found);
    // Written after a failure too, because complete downloads stay.
    installer.write_manifest(&mut diags);
    if installer.stopped() {
        return Err(EngineError::Cancelled);
    }
    if diags.has_errors() {
        return Err(EngineError::Diagnostics(all(&diags, &sources)));
    }
    let installed = Installed {
        // The root is not counted.
        modules: loaded.root.all().len() - 1,
        diagnostics: all(&diags, &sources),
        ..Installed::default()
    };
    Ok((loaded.root, installed))
}

fn all(diags: &Diagnostics, sources: &SourceMap) -> Vec<Diagnostic> {
    diagnostics::convert_all(diags.iter(), sources, &Secrets::default())
}

/// Returns the registry services with the settings of the CLI configuration and the environment.
fn services(places: &Places, around: &Environment) -> Result<Services, FetchError> {
    let said = &places.registries;
    let number =
        |name: &str| -> Option<u32> { around.variables.get(name)?.to_str()?.trim().parse().ok() };
    let mut limits = Limits::default();
    // The environment wins over the CLI configuration.
    if let Some(retries) = number("TF_REGISTRY_DISCOVERY_RETRY").or(said.retries) {
        // Bounded, because a registry that is down must not stop the command for hours.
        limits.retries = retries.min(100);
    }
    if let Some(seconds) = number("TF_REGISTRY_CLIENT_TIMEOUT").or(said.answer_s) {
        limits.answer = Duration::from_secs(u64::from(seconds.max(1)));
    }
    if let Some(retries) = number("TF_PROVIDER_DOWNLOAD_RETRY") {
        limits.download_retries = retries.min(100);
    }
    if let Some(seconds) = number("FLIGHTDECK_DOWNLOAD_STALL_S") {
        limits.stall = Duration::from_secs(u64::from(seconds.max(1)));
    }
    let path = |name: &str| around.variables.get(name).filter(|v| !v.is_empty());
    let logins = Netrc::read_user_file(path("NETRC").map(Into::into), path("HOME").map(Into::into));
    let http = Http::new(config::LANGUAGE_VERSION, limits)?.with_netrc(logins);
    let helper = said.helper.as_ref().map(|(name, args)| Helper {
        name: name.clone(),
        program: helper(places, name),
        args: args.clone(),
    });
    let credentials = Credentials::new(around.variables.clone(), said.tokens.clone(), helper);
    Ok(Services::new(http, credentials, said.hosts.clone()))
}

/// Returns the program of a credentials helper: the first one in the plugin directories outside of
/// the workspace.
fn helper(places: &Places, name: &str) -> PathBuf {
    let program = format!("terraform-credentials-{name}");
    let folders = places
        .mirrors
        .iter()
        .filter(|mirror| !places.ships_plugins_in(&mirror.path))
        .map(|mirror| mirror.path.join(&program));
    let mut found = folders.filter(|path| path.is_file());
    found
        .next()
        .unwrap_or_else(|| Path::new(&program).to_owned())
}

/// Returns a diagnostic without a source position in the configuration.
fn plain(severity: Severity, summary: &str, detail: String) -> Diagnostic {
    Diagnostic {
        severity,
        summary: summary.to_owned(),
        detail,
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}
