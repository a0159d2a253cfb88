//! Resolves the providers of a workspace: required addresses, search results, and the declaration
//! to the pool. Keeps no state except the cache of file digests.

mod error;
mod plugin_digests;
mod search_result;

pub use error::NotLaunched;
pub use plugin_digests::PluginDigests;
pub use search_result::ProviderSearch;

use super::stage::walk::Providers;
use async_trait::async_trait;
use calls::{CallContext, ProviderError};
use cty::Value;
use dependency::{ProviderAddress, VersionConstraint};
use lang::config::Module;
use model::settings::Settings;
use model::{
    BUILTIN_PROVIDER, ConfigKey, Diagnostic, PLUGIN_PATH_DIALECT, PluginFound, PluginKind,
    Severity, WorkspacePlugin, short_provider,
};
use plugin::find::{
    self, Discovered, Environment, Found, HashCache, LockFile, Places, PluginPath, ProviderRequest,
};
use plugin::trust::{Trust, Verdict};
use plugin::{Plugins, SpawnSpec, Start};
use provider::functions::Functions;
use provider::pool::Pool;
use provider::{Provider, ProviderSchema};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trust::file::is_outside;
use workspace::provider_addr;

fn problem(summary: &str, detail: String, severity: Severity) -> Diagnostic {
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

/// Returns the reason why a plugin may not be launched. If it is trusted, restricts it to the
/// trusted digest.
fn launch_refusal(
    found: &mut Found,
    trust: &Trust,
    places: &Places,
    cache: &HashCache,
    untrusted: &mut Vec<WorkspacePlugin>,
) -> Option<NotLaunched> {
    match trust.verify(found, places, cache) {
        Ok(Verdict::NotShipped) => None,
        Ok(Verdict::Trusted { digest }) => {
            // The files may change between this check and the launch.
            found.restrict_to_digest(digest);
            None
        }
        Ok(Verdict::Lacking(plugin)) => {
            // Collected, so that the user is asked for all of them at once.
            untrusted.push(plugin.clone());
            Some(NotLaunched::Untrusted(Box::new(plugin)))
        }
        Err(error) => Some(error.into()),
    }
}

fn around(settings: &Settings) -> Environment {
    let mut around = Environment::from_process();
    // A setting replaces the directories that the environment names.
    if let Some(root) = &settings.plugin_path {
        around.search_plugins_in(root);
    }
    around
}

/// Returns the directories of the plugin path that the environment names but that do not exist.
pub fn missing_plugin_roots(settings: &Settings) -> Vec<(&'static str, PathBuf)> {
    find::missing_plugin_roots(&around(settings))
}

/// Returns the transformers of the plugin path. A relative directory inside the workspace is
/// skipped, because its plugins need trust and no configuration requires a transformer. Blocking.
pub fn transformers(settings: &Settings) -> Vec<find::FoundTransformer> {
    let mut roots = find::plugin_roots(&around(settings));
    roots.retain(|root| root.is_absolute() || is_outside(root, &settings.workspace));
    find::transformers(&PluginPath::read(&roots))
}

/// Returns the provider of each installed address, with its start or the reason why it is not
/// launched. Blocking.
///
/// # Errors
/// The locations cannot be gathered.
pub fn installed(
    settings: &Settings,
    cache: &HashCache,
    trust: &Trust,
) -> Result<Vec<(PluginFound, Result<Start, NotLaunched>)>, find::PlacesError> {
    let mut places = Places::gather(&settings.workspace, &around(settings))?;
    for (name, value) in &settings.bundled_environment {
        places.bundled_environment.insert(name.into(), value.into());
    }
    // An invalid lock file is an error of the configuration, which this list does not need.
    let lock = LockFile::read(&settings.workspace).unwrap_or_default();
    let all = find::installed(&places).into_iter().map(|address| {
        let want = ProviderRequest {
            address,
            constraints: VersionConstraint::any(),
            in_state: Vec::new(),
            implied: false,
        };
        match find::find(&want, &lock, &places, cache) {
            Ok(mut found) => {
                let why = launch_refusal(&mut found, trust, &places, cache, &mut Vec::new());
                let record = PluginFound {
                    why: why.as_ref().map_or(found.why.clone(), ToString::to_string),
                    ..found.record()
                };
                let start = found.start.ok_or(NotLaunched::Bundled);
                (record, why.map_or(start, Err))
            }
            Err(missing) => (not_found_record(&missing), Err(missing.into())),
        }
    });
    Ok(all.collect())
}

/// Host of executables that a command line names.
const EXECUTABLE_HOST: &str = "executable.internal";

/// Returns the provider of the plugin path that this executable is by its place.
fn on_plugin_path(path: &Path) -> Option<Discovered> {
    let mut folders = path.ancestors();
    let folder = folders.find(|folder| folder.ends_with("providers"))?;
    let all = PluginPath::read(&[folder.parent()?.to_owned()]);
    let is_it =
        |plugin: &Discovered| plugin.kind == PluginKind::Provider && plugin.executable == path;
    all.plugins.into_iter().find(is_it)
}

/// Returns the record and the start of an executable that the operator names. One in the layout of
/// the plugin path, `providers/NAMESPACE/NAME/VERSION/plugin`, has the address and the dialect of
/// its place.
pub fn executable(path: &Path) -> (PluginFound, Start) {
    let found = on_plugin_path(path);
    let name = path.file_stem().and_then(|name| name.to_str());
    let name = name
        .unwrap_or("plugin")
        .trim_start_matches("terraform-provider-");
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let address = found.as_ref().and_then(Discovered::address);
    let record = PluginFound {
        address: match &address {
            Some(address) => address.to_string(),
            None => format!("{EXECUTABLE_HOST}/local/{}", name.to_lowercase()),
        },
        version: found.as_ref().map(|plugin| plugin.version.clone()),
        dialect: found.map(|_| PLUGIN_PATH_DIALECT.to_owned()),
        executable: Some(path.display().to_string()),
        source: "command line".to_owned(),
        why: "named on the command line".to_owned(),
        ..PluginFound::default()
    };
    let start = Start::Spawn(SpawnSpec {
        executable: path.to_owned(),
        ..SpawnSpec::default()
    });
    (record, start)
}

/// Returns the record of a provider that was not found.
fn not_found_record(missing: &find::NotFound) -> PluginFound {
    PluginFound {
        address: missing.address.to_string(),
        source: "nowhere".to_owned(),
        why: missing.to_string(),
        ..PluginFound::default()
    }
}

/// Searches every provider that the configuration declares or the state names. Blocking.
pub fn find_providers(
    root: &Module,
    in_state: &BTreeSet<String>,
    settings: &Settings,
    cache: &HashCache,
    trust: &Trust,
) -> ProviderSearch {
    let mut out = ProviderSearch {
        in_state: in_state.clone(),
        ..ProviderSearch::default()
    };
    let (mut places, lock) = match search_inputs(settings, &mut out.problems) {
        Ok(inputs) => inputs,
        Err(problem) => {
            out.problems.push(*problem);
            return out;
        }
    };
    let (wants, others) = required_providers(root, in_state, &mut out.problems);
    for want in wants.values() {
        if let Some(directory) = settings.development.get(&*want.address.name) {
            // The operator named it, so it needs no trust, even inside the workspace.
            places.user_directories.insert(directory.clone());
            places
                .overrides
                .insert(want.address.clone(), directory.clone());
        }
    }
    for (address, want) in wants {
        // Part of the engine: nothing to search or launch.
        if *address == *BUILTIN_PROVIDER {
            out.resolved.insert(address.clone(), address);
            continue;
        }
        match find::find(&want, &lock, &places, cache) {
            Ok(mut found) => {
                match launch_refusal(&mut found, trust, &places, cache, &mut out.untrusted) {
                    Some(why) => out.record_refused(address, &found, why),
                    None => out.record_found(address, &found, cache),
                }
            }
            Err(missing) => out.record_missing(address, missing),
        }
    }
    // Addresses that only the state uses lead to the plugin of the configured provider.
    for (other, address) in others {
        if let Some(found) = out.resolved.get(&address).cloned() {
            out.resolved.entry(other).or_insert(found);
        }
    }
    out
}

/// Locations to search and the lock file; adds warnings to `problems`.
fn search_inputs(
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) -> Result<(Places, LockFile), Box<Diagnostic>> {
    let failed = |summary: &str, why: String| Box::new(problem(summary, why, Severity::Error));
    let mut places = Places::gather(&settings.workspace, &around(settings))
        .map_err(|error| failed("Cannot search for plugins", error.to_string()))?;
    let warnings = places.warnings.iter();
    problems.extend(warnings.map(|w| problem("CLI configuration", w.clone(), Severity::Warning)));
    for (name, value) in &settings.bundled_environment {
        places.bundled_environment.insert(name.into(), value.into());
    }
    let lock = LockFile::read(&settings.workspace)
        .map_err(|error| failed("Cannot read the dependency lock file", error.to_string()))?;
    Ok((places, lock))
}

/// Returns every required address with its constraints from all modules and its addresses in the
/// state, and the other addresses that the state uses for the same providers.
fn required_providers(
    root: &Module,
    in_state: &BTreeSet<String>,
    problems: &mut Vec<Diagnostic>,
) -> (
    BTreeMap<Arc<str>, ProviderRequest>,
    Vec<(Arc<str>, Arc<str>)>,
) {
    let mut out: BTreeMap<Arc<str>, ProviderRequest> = BTreeMap::new();
    let state: Vec<ProviderAddress> = in_state.iter().filter_map(|a| a.parse().ok()).collect();
    let mut sources: BTreeMap<Arc<str>, String> = BTreeMap::new();
    let mut all_constraints: BTreeMap<Arc<str>, VersionConstraint> = BTreeMap::new();
    for module in root.all() {
        for (name, required) in &module.required_providers {
            sources
                .entry(provider_addr::address_of(module, name))
                .or_insert_with(|| required.source.to_string());
        }
        for (address, conditions) in provider_addr::required(module) {
            let constraints = all_constraints.entry(address);
            let constraints = constraints.or_insert_with(VersionConstraint::any);
            for (name, text) in conditions {
                match VersionConstraint::of_provider(&text) {
                    Ok(more) => constraints.extend(more),
                    Err(error) => problems.push(problem(
                        "Invalid version constraint",
                        format!("{name}: {error}"),
                        Severity::Error,
                    )),
                }
            }
        }
    }
    for address in provider_addr::addresses(root) {
        // Without a source, another provider of the same name may be used.
        let implied = !sources.contains_key(&address);
        let source = sources.get(&address).cloned();
        // Without a source, the name of the configured provider implies its address.
        let source = source.unwrap_or_else(|| short_provider(&address).to_owned());
        let constraints = all_constraints.remove(&address);
        // The configuration's own checks report invalid sources.
        let Ok(parsed) = source.parse::<ProviderAddress>() else {
            continue;
        };
        // The state may name the same provider under another host.
        let named = state
            .iter()
            // On any host: the state decides between the default hosts.
            .filter(|s| s.namespace == parsed.namespace && s.name == parsed.name)
            .cloned()
            .collect();
        out.insert(
            address,
            ProviderRequest {
                address: parsed,
                constraints: constraints.unwrap_or_else(VersionConstraint::any),
                in_state: named,
                implied,
            },
        );
    }
    let others = add_state_providers(in_state, &mut out);
    (out, others)
}

/// Adds providers that only the state names. Returns other addresses of providers that are already
/// required.
fn add_state_providers(
    in_state: &BTreeSet<String>,
    out: &mut BTreeMap<Arc<str>, ProviderRequest>,
) -> Vec<(Arc<str>, Arc<str>)> {
    let mut others = Vec::new();
    for text in in_state {
        let Ok(parsed) = text.parse::<ProviderAddress>() else {
            continue;
        };
        if out.contains_key(text.as_str()) {
            continue;
        }
        // A default host in the state is that of the tool that wrote it; the configuration may use
        // the other default host.
        let meant = out
            .iter()
            .find(|(_, want)| want.address.is_same_provider(&parsed));
        if let Some((address, _)) = meant {
            others.push((text.as_str().into(), address.clone()));
            continue;
        }
        out.insert(
            text.as_str().into(),
            ProviderRequest {
                address: parsed.without_default_host(),
                constraints: VersionConstraint::any(),
                in_state: vec![parsed],
                implied: false,
            },
        );
    }
    others
}

/// Providers of the pool, for walks of the graph.
pub struct Pooled {
    pub pool: Pool,
}

#[async_trait]
impl Providers for Pooled {
    async fn unconfigured(
        &self,
        address: &str,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        self.pool.unconfigured(address, ctx).await
    }

    async fn configured(
        &self,
        key: &ConfigKey,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError> {
        self.pool
            .configured(&key.address, &key.to_string(), config, ctx)
            .await
    }

    fn functions(&self) -> Functions {
        self.pool.functions()
    }

    fn secrets(&self) -> &model::secrets::Secrets {
        self.pool.secrets()
    }

    fn sink(&self) -> &dyn model::bus::EventSink {
        self.pool.sink()
    }
}

/// Fetches the schemas of these providers in parallel; returns the errors of those that failed.
pub async fn schemas(
    pool: &Pool,
    addresses: &BTreeSet<Arc<str>>,
    ctx: &CallContext,
) -> (
    HashMap<Arc<str>, Arc<ProviderSchema>>,
    BTreeMap<Arc<str>, ProviderError>,
) {
    let answers = futures_util::future::join_all(addresses.iter().map(|address| async move {
        let schema = async { pool.unconfigured(address, ctx).await?.schema(ctx).await };
        (address.clone(), schema.await)
    }))
    .await;
    let mut good = HashMap::new();
    let mut bad = BTreeMap::new();
    for (address, answer) in answers {
        match answer {
            Ok(schema) => {
                good.insert(address, schema);
            }
            Err(error) => {
                bad.insert(address, error);
            }
        }
    }
    (good, bad)
}

/// Declares the search results to the pool.
pub async fn declare(pool: &Pool, sought: &ProviderSearch) {
    let programs = pool.plugins().programs();
    for (executable, expected) in &sought.expected {
        // Before the declaration, because a demand may launch the plugin at once.
        programs.expect(executable.clone(), expected.clone());
    }
    for (record, start) in &sought.records {
        match start {
            Ok(start) => pool.declare(record.clone(), start.clone()).await,
            Err(why) => pool.declare_rejected(record.clone(), why.to_string()).await,
        };
    }
    // The plan must be made with the current contents, so changed plugins are replaced first.
    pool.replace_changed().await;
}

/// Returns the file of cached digests, unless it is inside the workspace, where a repository could
/// ship a forged one.
fn digest_cache(settings: &Settings) -> Option<PathBuf> {
    let file = settings.digest_cache.clone()?;
    is_outside(&file, &settings.workspace).then_some(file)
}

/// Opens the cache of plugin digests for these settings.
pub fn hashes(settings: &Settings) -> HashCache {
    digest_cache(settings).map_or_else(HashCache::in_memory, HashCache::open)
}

/// Creates the plugin set of an engine with its settings.
pub fn plugins(settings: &model::settings::Settings, bus: &model::bus::Bus) -> Plugins {
    let settings = plugin::PluginSettings {
        launch: settings.launch.clone(),
        crashes: settings.crashes,
        drain: settings.service.renew.drain,
        digest_cache: digest_cache(settings),
        ..plugin::PluginSettings::default()
    };
    Plugins::start(settings, Arc::new(bus.clone()))
}
