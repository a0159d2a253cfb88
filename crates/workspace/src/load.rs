//! Loads a workspace: configuration, variable values, their source positions, and the digest of the
//! files. Refuses unsupported backends, and warns if the store has in plain text what is encrypted
//! elsewhere.

use super::provider_addr;
use cty::Value;
use lang::config::{
    self, Encrypted, Flag, Inputs, Method, Module, Overridden, RequiredProvider, SecretReference,
};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::{FileId, SourceFile, SourceMap, Span};
use model::{StageMode, StageRequest, VariableFlag};
use sha2::{Digest, Sha256};
use state::backend::BackendKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A loaded workspace.
pub struct Loaded {
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    /// Values of root variables, with the place where they were given.
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    /// The same values before conversion to their types.
    pub written: BTreeMap<Arc<str>, Value>,
    /// Values from the environment and automatic files that were overridden.
    pub overridden: Overridden,
    /// References in use; the values of their variables are unknown until they are resolved.
    pub secrets: BTreeMap<Arc<str>, SecretReference>,
    pub config_digest: String,
    /// Configuration files: name and text.
    pub snapshot: Vec<(String, String)>,
    /// Errors in values of variables, reported when a stage is computed.
    pub value_errors: Diagnostics,
    /// Content of test files, when only validating.
    pub tested: config::TestModules,
}

impl Loaded {
    /// A module under test, to be validated as a root.
    pub fn with_root(&self, root: Arc<Module>) -> Self {
        Self {
            root,
            dir: self.dir.clone(),
            sources: self.sources.clone(),
            given: HashMap::new(),
            written: BTreeMap::new(),
            overridden: Overridden::new(),
            secrets: BTreeMap::new(),
            config_digest: String::new(),
            snapshot: self.snapshot.clone(),
            value_errors: Diagnostics::new(),
            tested: config::TestModules::default(),
        }
    }
}

const NO_FILES: &str = "No configuration files";

/// Message for a directory without configuration; its first line is the summary.
pub fn missing_configuration(dir: &Path) -> Option<String> {
    (!config::is_config_dir(dir)).then(|| {
        format!(
            "{NO_FILES}\nThe directory {} contains no configuration files (.tf, .tf.json). Go to the directory that has them, or name it with -C.",
            dir.display()
        )
    })
}

/// Loads a workspace. With `partial`, for validation: variables need no values, backends are not
/// checked, and an empty directory is valid.
///
/// # Errors
/// All errors of the configuration, with the sources to display them.
pub fn load(
    dir: &Path,
    workspace: &str,
    request: &StageRequest,
    partial: bool,
) -> Result<(Loaded, Diagnostics), (SourceMap, Diagnostics)> {
    let sources = SourceMap::of_stored(request.stored.clone());
    let inputs = Inputs {
        partial,
        ..inputs(request, workspace)
    };
    // Destroying everything needs no configuration; the state has all that is needed.
    let destroys = request.mode == StageMode::Destroy && !partial;
    if !destroys
        && !partial
        && request.stored.is_none()
        && let Some(why) = missing_configuration(dir)
    {
        let detail = why.split_once('\n').map_or("", |(_, detail)| detail);
        let detail = detail.to_owned();
        return Err((sources, Diagnostic::error(NO_FILES, detail).into()));
    }
    let (loaded, mut diags) = config::load_root(dir, &sources, &inputs);
    if !partial {
        diags.append(unsupported_backends(&loaded.root));
        diags.append(unencrypted(&loaded.encrypted));
    }
    diags.append(group::declared::declared_groups(&loaded.root).1);
    if diags.has_errors() {
        return Err((sources, diags));
    }
    let given: HashMap<Arc<str>, (Value, Option<Span>)> = loaded
        .values
        .values
        .iter()
        .map(|(name, v)| {
            (
                name.clone(),
                (
                    v.value.clone(),
                    // The place of a default is not a place where a value was given.
                    v.span.filter(|_| v.origin != config::Origin::Default),
                ),
            )
        })
        .collect();
    let written = loaded.values.values.iter();
    let written = written.filter(|(_, v)| v.origin.is_given());
    let written = written
        .map(|(name, v)| (name.clone(), v.given.clone()))
        .collect();
    let snapshot = snapshot(&sources, request);
    let secrets = secrets_in_use(&loaded);
    let loaded = Loaded {
        secrets,
        config_digest: config_digest(&snapshot),
        value_errors: loaded.values.value_errors,
        tested: loaded.tested,
        root: loaded.root,
        dir: dir.to_path_buf(),
        sources,
        given,
        written,
        overridden: loaded.values.overridden,
        snapshot,
    };
    Ok((loaded, diags))
}

/// References that no other value replaces.
fn secrets_in_use(loaded: &config::Loaded) -> BTreeMap<Arc<str>, SecretReference> {
    let is_used = |name: &Arc<str>| {
        let value = loaded.values.values.get(name);
        value.is_some_and(|v| v.origin == config::Origin::Secret)
    };
    let all = loaded.root.secrets.iter();
    let used = all.filter(|(name, _)| is_used(name));
    used.map(|(name, secret)| (name.clone(), secret.clone()))
        .collect()
}

/// Inputs of the operator for a workspace's configuration.
pub fn inputs(request: &StageRequest, workspace: &str) -> Inputs {
    let flags = request.variables.iter().cloned().map(|flag| match flag {
        VariableFlag::Value { name, text } => Flag::Var { name, text },
        VariableFlag::File(path) => Flag::File(path),
    });
    Inputs {
        flags: flags.collect(),
        workspace: workspace.into(),
        planned: request.planned.clone(),
        ..Inputs::default()
    }
    .environment()
}

/// Reports an unsupported backend before any work.
fn unsupported_backends(root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    if let Some((kind, span)) = &root.backend
        && let Err(error) = kind.parse::<BackendKind>()
    {
        diags.error(*span, "Backend is not supported", error.to_string());
    }
    diags
}

/// Warns that the store is plain text although the state or plans are encrypted.
fn unencrypted(encrypted: &[Encrypted]) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let really = |one: &&Encrypted| !matches!(one.methods.first(), Some(Method::Unencrypted));
    // Methods for remote states only read and do not matter here.
    let kept = |one: &&Encrypted| matches!(&*one.target, "state" | "plan");
    if let Some(one) = encrypted.iter().filter(really).find(kept) {
        let detail = "The state is encrypted in its backend, but the store in .flightdeck/ is not: it contains stages and a copy of the state as plain text, in a file that only its owner can read.";
        diags.warning(one.span, "The store is not encrypted", detail);
    }
    diags
}

/// Configuration files: name and text. Names do not depend on the location of the directory or data
/// directory. Excludes files with values of variables.
pub fn snapshot(sources: &SourceMap, request: &StageRequest) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for file in files(sources).filter(|file| !has_variables(&file.name, request)) {
        out.push((usual_name(&file.name), file.text.to_string()));
    }
    out.sort();
    out
}

const USUAL_DATA_DIR: &str = ".terraform";

/// Name of a file or directory of the configuration as it is stored. The data directory may be
/// elsewhere, but installed modules keep their usual names.
pub fn usual_name(name: &str) -> String {
    with_prefix(name, &data_dir(), Path::new(USUAL_DATA_DIR))
}

/// Present name of a file or directory that is stored under its usual one.
pub fn present_name(name: &str) -> String {
    with_prefix(name, Path::new(USUAL_DATA_DIR), &data_dir())
}

fn data_dir() -> PathBuf {
    let inputs = Inputs::default().environment();
    inputs.data_dir().to_owned()
}

fn with_prefix(name: &str, before: &Path, after: &Path) -> String {
    let inside = Path::new(name).strip_prefix(before);
    inside.map_or_else(
        |_| name.to_owned(),
        |rest| after.join(rest).display().to_string(),
    )
}

/// Files with values of variables: name and text. The texts may be sensitive, so they must not be
/// stored or shown.
pub fn variable_files(sources: &SourceMap, request: &StageRequest) -> Vec<(String, String)> {
    let all = files(sources).filter(|file| has_variables(&file.name, request));
    let all = all.map(|file| (file.name.clone(), file.text.to_string()));
    let all: BTreeSet<(String, String)> = all.collect();
    all.into_iter().collect()
}

/// Files that were read. Names in angle brackets belong to generated sources.
fn files(sources: &SourceMap) -> impl Iterator<Item = Arc<SourceFile>> + '_ {
    let all = (0..).map_while(|id| sources.get(FileId(id)));
    all.filter(|file| !file.name.starts_with('<'))
}

/// Returns true if the file has values of variables.
fn has_variables(name: &str, request: &StageRequest) -> bool {
    let named = |flag: &VariableFlag| match flag {
        VariableFlag::File(path) => path.display().to_string() == name,
        VariableFlag::Value { .. } => false,
    };
    name.ends_with(".tfvars")
        || name.ends_with(".tfvars.json")
        || request.variables.iter().any(named)
}

/// Digest of configuration files.
pub fn config_digest(snapshot: &[(String, String)]) -> String {
    digest(snapshot.iter().map(|(n, t)| format!("{n}\0{t}")))
}

/// Hexadecimal SHA-256 of length-prefixed texts.
pub fn digest(parts: impl Iterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // The length keeps adjacent parts apart.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex::encode(hasher.finalize())
}

/// Binds every local provider name to a full address: without a host, the one under which the
/// provider was found.
pub fn pin(root: &Module, found: &HashMap<Arc<str>, Arc<str>>) -> Arc<Module> {
    let mut module = root.clone();
    let mut names: BTreeSet<Arc<str>> = module.required_providers.keys().cloned().collect();
    names.extend(module.providers.iter().map(|p| p.name.clone()));
    names.extend(
        module
            .resources
            .values()
            .map(|r| Arc::from(provider_addr::provider_name(r))),
    );
    for call in module.calls.values() {
        names.extend(
            call.providers
                .iter()
                .flatten()
                .map(|(_, outer)| outer.name.clone()),
        );
    }
    for name in names {
        let address = provider_addr::address_of(&module, &name);
        let Some(actual) = found.get(&address) else {
            continue;
        };
        let span = module
            .providers
            .first()
            .map(|p| p.span)
            .or_else(|| module.resources.values().next().map(|r| r.span));
        let entry = module
            .required_providers
            // A provider that the module does not declare gets an implied entry.
            .entry(name)
            .or_insert_with(|| RequiredProvider {
                source: actual.clone(),
                explicit: false,
                implied: true,
                versions: Vec::new(),
                aliases: Vec::new(),
                span: span.unwrap_or(Span {
                    file: FileId(0),
                    start: 0,
                    end: 0,
                }),
            });
        entry.source = actual.clone();
    }
    for call in module.calls.values_mut() {
        if let Some(child) = &call.module {
            call.module = Some(pin(child, found));
        }
    }
    Arc::new(module)
}

/// First mention of a provider address, for diagnostics.
pub fn place_of(root: &Module, address: &str) -> Option<Span> {
    for module in root.all() {
        for (name, required) in &module.required_providers {
            if *provider_addr::address_of(module, name) == *address {
                return Some(required.span);
            }
        }
    }
    root.all().into_iter().find_map(|module| {
        let resource = module.resources.values().find(|r| {
            *provider_addr::address_of(module, provider_addr::provider_name(r)) == *address
        })?;
        Some(resource.span)
    })
}

/// Provider addresses used by resources, data sources and provider blocks.
pub fn used_providers(root: &Module) -> BTreeSet<Arc<str>> {
    let mut out = BTreeSet::new();
    for module in root.all() {
        out.extend(
            module
                .resources
                .values()
                .map(|r| provider_addr::address_of(module, provider_addr::provider_name(r))),
        );
        out.extend(
            module
                .providers
                .iter()
                .map(|p| provider_addr::address_of(module, &p.name)),
        );
    }
    out
}

/// Addresses of providers whose functions are called. Searches the text; a match in a comment only
/// launches a plugin that is required anyway.
pub fn used_by_calls(root: &Module, files: &[(String, String)]) -> BTreeSet<Arc<str>> {
    let mut out = BTreeSet::new();
    for module in root.all() {
        for name in module.required_providers.keys() {
            let prefix = format!("provider::{name}::");
            if files.iter().any(|(_, text)| text.contains(&prefix)) {
                out.insert(provider_addr::address_of(module, name));
            }
        }
    }
    out
}
