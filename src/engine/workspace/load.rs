//! Reading a workspace: its configuration, the values for its variables, digests of both, and what
//! refuses it as a whole.

use super::provider_addr;
use crate::engine::state::backend::Settings;
use crate::engine::words::{StageMode, StageRequest, VariableFlag};
use cty::Value;
use lang::config::{self, Encrypted, Flag, Inputs, Method, Module, Overridden, RequiredProvider};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::{FileId, SourceMap, Span};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workspace as read.
pub struct Loaded {
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    /// Values for root variables with the place where they were given.
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    /// The same as they were given, of whatever type.
    pub written: BTreeMap<Arc<str>, Value>,
    /// Values of the environment and of automatic files that others override.
    pub overridden: Overridden,
    pub config_digest: String,
    /// The configuration's files: name and text.
    pub snapshot: Vec<(String, String)>,
    /// Errors of values for variables, told when a stage is worked out.
    pub value_errors: Diagnostics,
    /// What its test files add, where it is validated alone.
    pub tested: config::Tested,
}

impl Loaded {
    /// A module that a test is about, as a root to be validated alone.
    pub fn apart(&self, root: Arc<Module>) -> Self {
        Self {
            root,
            dir: self.dir.clone(),
            sources: self.sources.clone(),
            given: HashMap::new(),
            written: BTreeMap::new(),
            overridden: Overridden::new(),
            config_digest: String::new(),
            snapshot: self.snapshot.clone(),
            value_errors: Diagnostics::new(),
            tested: config::Tested::default(),
        }
    }
}

const NO_FILES: &str = "No configuration files";

/// What is said where there is nothing to work on: what it is in the first line.
pub fn unconfigured(dir: &Path) -> Option<String> {
    (!config::is_config_dir(dir)).then(|| {
        format!(
            "{NO_FILES}\nThe directory {} contains no configuration files (.tf, .tf.json). Go to the directory that has them, or name it with -C.",
            dir.display()
        )
    })
}

/// Reads a workspace; where `partial`, to be validated alone: variables need no values, where the
/// state lies does not matter, and nothing at all is valid.
///
/// # Errors
/// Everything that is wrong with the configuration; the sources come along so that it can be shown.
pub fn load(
    dir: &Path,
    workspace: &str,
    request: &StageRequest,
    partial: bool,
) -> Result<(Loaded, Diagnostics), (SourceMap, Diagnostics)> {
    let sources = SourceMap::new();
    let inputs = Inputs {
        partial,
        ..inputs(request, workspace)
    };
    // What is all to be destroyed needs none; there the state says what that is.
    let destroys = request.mode == StageMode::Destroy && !partial;
    if !destroys
        && !partial
        && let Some(why) = unconfigured(dir)
    {
        let detail = why.split_once('\n').map_or("", |(_, detail)| detail);
        let detail = detail.to_owned();
        return Err((sources, Diagnostic::error(NO_FILES, detail).into()));
    }
    let (loaded, mut diags) = config::load_root(dir, &sources, &inputs);
    if !partial {
        diags.append(refused(&loaded.root));
        diags.append(unencrypted(&loaded.encrypted));
    }
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
                    v.span.filter(|_| v.origin != config::Origin::Default),
                ),
            )
        })
        .collect();
    let written = loaded.values.values.iter();
    let written = written.filter(|(_, v)| v.origin != config::Origin::Default);
    let written = written
        .map(|(name, v)| (name.clone(), v.given.clone()))
        .collect();
    let snapshot = snapshot(&sources, request);
    let loaded = Loaded {
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

/// What the operator gave, for the configuration of a workspace of this name.
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

/// A backend that cannot be used, said before anything is done.
fn refused(root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    if let Some((kind, span)) = &root.backend
        && let Err(error) = Settings::new(kind)
    {
        diags.error(*span, "Backend is not supported", error.to_string());
    }
    diags
}

/// What is kept as plain text though the state is not.
fn unencrypted(encrypted: &[Encrypted]) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let really = |one: &&Encrypted| !matches!(one.methods.first(), Some(Method::Unencrypted));
    // How the states of others are read is no matter of what is kept.
    let kept = |one: &&Encrypted| matches!(&*one.what, "state" | "plan");
    if let Some(one) = encrypted.iter().filter(really).find(kept) {
        let detail = "The state is encrypted where it lives. What flightdeck has on record itself, in .flightdeck/, is not: stages and a copy of the state are there as plain text, in a file that its owner alone can read.";
        diags.warning(
            one.span,
            "The record of flightdeck is not encrypted",
            detail,
        );
    }
    diags
}

/// The configuration's files: name and text. Names do not depend on where the directory or its data
/// directory lies. Files with values of variables are no configuration.
pub fn snapshot(sources: &SourceMap, request: &StageRequest) -> Vec<(String, String)> {
    let data_dir = inputs(request, "").data_dir().to_owned();
    let mut out = Vec::new();
    for id in 0.. {
        let Some(file) = sources.get(FileId(id)) else {
            break;
        };
        if !file.name.starts_with('<') && !has_variables(&file.name, request) {
            let installed = Path::new(&file.name).strip_prefix(&data_dir);
            let name = installed.map_or_else(
                |_| file.name.clone(),
                |rest| Path::new(".terraform").join(rest).display().to_string(),
            );
            out.push((name, file.text.to_string()));
        }
    }
    out.sort();
    out
}

/// Whether a file that was read has values of variables.
fn has_variables(name: &str, request: &StageRequest) -> bool {
    let named = |flag: &VariableFlag| match flag {
        VariableFlag::File(path) => path.display().to_string() == name,
        VariableFlag::Value { .. } => false,
    };
    name.ends_with(".tfvars")
        || name.ends_with(".tfvars.json")
        || request.variables.iter().any(named)
}

/// The digest of a configuration's files.
pub fn config_digest(snapshot: &[(String, String)]) -> String {
    digest(snapshot.iter().map(|(n, t)| format!("{n}\0{t}")))
}

/// The hexadecimal SHA-256 of texts, one after the other.
pub fn digest(parts: impl Iterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// The configuration with every provider's local name bound to a whole address: where no host is
/// written, the one under which the provider was found.
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

/// Where a provider address is first named, for diagnostics about it.
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

/// Provider addresses that resources, data sources and provider blocks really use.
pub fn used(root: &Module) -> BTreeSet<Arc<str>> {
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

/// Addresses of providers whose functions are called somewhere. By the text: a name in a comment
/// only means that a plugin is launched which the configuration requires anyway.
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
