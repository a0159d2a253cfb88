//! Loads the module tree from directories. Module sources must be known while loading;
//! [`ModuleResolver`] resolves sources outside the tree to directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Value;
use dependency::VersionConstraint;

use super::assemble::assemble;
use super::backend::backend;
use super::call::{CallBlock, arguments};
use super::call_source::source;
use super::encryption::with_environment;
use super::encryption_methods::Encrypted;
use super::inputs::{Inputs, RootValues, collect};
use super::load_time_values::{constants, provider_instances};
use super::manifest::{Installed, ModuleRequest, ModuleResolver};
use super::model::{Module, ModuleCall, Variable};
use super::module_source::ModuleSource;
use super::statics::{Given, Statics};
use super::test_file::TestFile;
use super::test_modules::TestModules;
use super::{check, files, group, keys, language, secret, test_modules};
use crate::addr::ModulePath;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};
use crate::stored::StoredModules;

/// Maximum depth of nested module calls.
const MAX_MODULE_DEPTH: usize = 32;

/// A configuration with the values of its root variables.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The root module and, through its calls, all others.
    pub root: Arc<Module>,
    /// Values of the root module's variables.
    pub values: RootValues,
    /// Encryption methods by target, from the root's `encryption` block.
    pub encrypted: Vec<Encrypted>,
    /// Test files; only read when a configuration is validated.
    pub tested: TestModules,
}

/// Reads the configuration in `dir`, or the stored one of `sources`, and reports all errors that
/// need no evaluation of resources.
/// With errors, the result is incomplete. File names in diagnostics are relative to `dir`.
pub fn load_root(dir: &Path, sources: &SourceMap, inputs: &Inputs) -> (Loaded, Diagnostics) {
    if let Some(stored) = sources.stored() {
        return load_with(dir, sources, inputs, &mut StoredModules(stored.clone()));
    }
    let mut installed = Installed::new(dir, inputs.data_dir());
    load_with(dir, sources, inputs, &mut installed)
}

/// Same, with modules resolved by `packages`.
pub fn load_with(
    dir: &Path,
    sources: &SourceMap,
    inputs: &Inputs,
    packages: &mut dyn ModuleResolver,
) -> (Loaded, Diagnostics) {
    let mut diags = Diagnostics::new();
    let Some((mut root, calls)) = read_module(dir, "", sources, &mut diags) else {
        let detail = format!(
            "Module directory {} does not exist or cannot be read.",
            dir.display()
        );
        diags.push(Diagnostic::error("Failed to read module directory", detail));
        return (Loaded::default(), diags);
    };
    // Before values are read, because texts of sensitive variables are not quoted.
    secret::bind(&mut root, &mut diags);
    // Test files are not stored.
    let tests = match inputs.partial && root.stored.is_none() {
        true => test_modules::read(dir, sources, &mut diags),
        false => Vec::new(),
    };
    // Collected first, because module sources and provider instances may use the values.
    let mut input_errors = Diagnostics::new();
    let values = collect(&root, dir, inputs, sources, &mut input_errors);
    let root_variables = root.variables.clone();
    let given: Given<'_> = &|name: &str| values.fitting_value(&root_variables, name);
    root.dir = dir.to_path_buf();
    root.dir_text = ".".to_owned();
    root.workspace = inputs.workspace.clone();
    with_environment(&mut root, inputs, sources, &mut diags);
    let encrypted = root_settings(&mut root, inputs.partial, given, &mut diags);
    let mut loader = Loader {
        sources,
        packages,
        root: dir.to_path_buf(),
        base: Vec::new(),
        dirs: vec![dir.to_path_buf()],
    };
    loader.children(&mut root, calls, "", given, &mut diags);
    let modules = test_modules::modules(&mut loader, &root, &tests, given, &mut diags);
    // Missing modules would give follow-up errors, so this needs a complete tree.
    if !diags.has_errors() {
        check_providers(&root, inputs.partial, (&tests, &modules), &mut diags);
    }
    // Errors in input values are noise while the configuration itself is wrong.
    if !diags.has_errors() {
        diags.append(input_errors);
    }
    if !diags.has_errors() {
        group::check(&root, &mut diags);
        check::arguments(&root, &mut diags);
        for module in modules.values() {
            check::arguments(module, &mut diags);
        }
    }
    // Separate, so that errors of test files do not stop validation of the configuration.
    let mut faults = Diagnostics::new();
    tests.iter().for_each(|file| file.check(&mut faults));
    let loaded = Loaded {
        root: Arc::new(root),
        values,
        encrypted,
        tested: TestModules {
            modules: modules.into_values().collect(),
            errors: faults,
        },
    };
    (loaded, diags)
}

/// Evaluates what only a root has, or what later steps need: backend, encryption, constants and
/// provider instances. Validation needs no state, so with `partial` it skips the first two.
fn root_settings(
    root: &mut Module,
    partial: bool,
    given: Given<'_>,
    diags: &mut Diagnostics,
) -> Vec<Encrypted> {
    if !partial {
        backend(root, given, diags);
    }
    constants(root, given, None, diags);
    provider_instances(root, given, diags);
    group::evaluate(root, partial, given, diags);
    match &root.encryption {
        // The state is encrypted as the files on disk say, also for a stored configuration.
        Some(encryption) if !partial && root.stored.is_none() => {
            keys::check(encryption, &Statics::new(root, given), diags)
        }
        _ => Vec::new(),
    }
}

fn check_providers(
    root: &Module,
    partial: bool,
    (tests, modules): (&[TestFile], &BTreeMap<String, Arc<Module>>),
    diags: &mut Diagnostics,
) {
    check::providers(root, partial, diags);
    for module in modules.values() {
        check::providers(module, true, diags);
    }
    for file in tests {
        test_modules::providers(root, modules, file, diags);
    }
}

pub(super) fn read_module(
    dir: &Path,
    prefix: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<(Module, Vec<CallBlock>)> {
    let mut found = Diagnostics::new();
    let files = files::read(dir, prefix, sources, &mut found)?;
    let mut versions = Diagnostics::new();
    for file in &files {
        language::check_versions(file, &mut versions);
    }
    let (mut module, calls) = assemble(&files, prefix.is_empty(), &mut found);
    module.stored = sources.stored().cloned();
    if versions.has_errors() {
        // A module for another language version may use unknown syntax, so its other errors are
        // dropped.
        diags.append(versions);
    } else {
        diags.append(found);
    }
    Some((module, calls))
}

pub(super) struct Loader<'a> {
    sources: &'a SourceMap,
    packages: &'a mut dyn ModuleResolver,
    root: PathBuf,
    /// Prefix of call names while a module is loaded as its own root.
    base: Vec<String>,
    /// Directories of the chain of modules from the root to the current one.
    dirs: Vec<PathBuf>,
}

impl Loader<'_> {
    /// Loads a module that no other calls as its own root. `given` has values for its variables,
    /// which precede defaults; `key` is the prefix of its calls in the manifest.
    pub(super) fn load_as_root(
        &mut self,
        source: &str,
        key: Vec<String>,
        span: Span,
        given: Given<'_>,
        diags: &mut Diagnostics,
    ) -> Option<Module> {
        let dir = files::join(self.dirs.first()?, source);
        let shown = files::join(Path::new(""), source)
            .to_string_lossy()
            .into_owned();
        let Some((mut module, calls)) = read_module(&dir, &shown, self.sources, diags) else {
            let detail = format!(
                "The directory {shown} could not be read: it does not exist or is not a directory."
            );
            diags.error(span, "Unreadable module directory", detail);
            return None;
        };
        module.dir = dir.clone();
        module.dir_text = shown.clone();
        reject_imports(&module, diags);
        let defaults: BTreeMap<Arc<str>, Variable> = module.variables.clone();
        let inner: Given<'_> = &|name: &str| {
            let default = || defaults.get(name).and_then(|v| v.default.clone());
            Ok(given(name)?.or_else(default))
        };
        provider_instances(&mut module, inner, diags);
        // The cycle check starts anew: this module is a root with its own call chain.
        let dirs = std::mem::replace(&mut self.dirs, vec![dir]);
        let base = std::mem::replace(&mut self.base, key);
        self.children(&mut module, calls, &shown, inner, diags);
        (self.dirs, self.base) = (dirs, base);
        Some(module)
    }

    fn children(
        &mut self,
        parent: &mut Module,
        calls: Vec<CallBlock>,
        prefix: &str,
        given: Given<'_>,
        diags: &mut Diagnostics,
    ) {
        let mut placed = Vec::new();
        for mut block in calls {
            let source = source(&mut block, &Statics::new(parent, given), diags);
            // All sources are evaluated before any child loads, so that their errors come first.
            placed.push((block, source));
        }
        // Like OpenTofu, errors of the root module hide those of the modules it calls.
        let wrong = self.dirs.len() == 1 && diags.has_errors();
        for (mut block, source) in placed {
            if let Some((source, version)) = source.filter(|_| !wrong) {
                let wanted = (&source, version.as_ref());
                self.child(parent, &mut block, wanted, prefix, given, diags);
            }
            parent.calls.insert(block.call.name.clone(), block.call);
        }
    }

    /// Directory of a call's module, as a path and as shown.
    fn call_directory(
        &mut self,
        parent: &Module,
        block: &CallBlock,
        (source, version): (&ModuleSource, Option<&VersionConstraint>),
        prefix: &str,
        diags: &mut Diagnostics,
    ) -> Option<(PathBuf, String)> {
        let names = parent.path.0.iter().chain([&block.call.name]);
        let names = names.map(|name| name.to_string());
        let asked = ModuleRequest {
            key: self
                .base
                .iter()
                .cloned()
                .chain(names)
                .collect::<Vec<_>>()
                .join("."),
            name: &block.call.name,
            source,
            version,
            from: prefix,
            span: block.call.span,
            source_span: block.call.source_span,
        };
        let shown = self.packages.module_directory(&asked, diags)?;
        // Links may lead out of the configuration, to an absolute path.
        let dir = match shown.starts_with('/') {
            true => PathBuf::from(&shown),
            false => files::join(&self.root, &shown),
        };
        Some((dir, shown))
    }

    /// Loads the module of a call and all modules below it.
    fn child(
        &mut self,
        parent: &Module,
        block: &mut CallBlock,
        wanted: (&ModuleSource, Option<&VersionConstraint>),
        prefix: &str,
        given: Given<'_>,
        diags: &mut Diagnostics,
    ) {
        let span = block.call.source_span;
        // Also limits chains of distinct directories.
        if self.dirs.len() > MAX_MODULE_DEPTH {
            without_end(span, diags);
            return;
        }
        let Some((dir, shown)) = self.call_directory(parent, block, wanted, prefix, diags) else {
            return;
        };
        // A directory that is already in the chain would load forever.
        if self.dirs.contains(&dir) {
            without_end(span, diags);
            return;
        }
        let Some((mut module, calls)) = read_module(&dir, &shown, self.sources, diags) else {
            let detail = format!(
                "The directory {shown} could not be read for module \"{}\".",
                block.call.name
            );
            diags.error(span, "Unreadable module directory", detail);
            return;
        };
        let names = parent.path.0.iter().chain([&block.call.name]);
        module.path = ModulePath(names.cloned().collect());
        module.workspace = parent.workspace.clone();
        module.dir = dir.clone();
        module.dir_text = match shown.is_empty() {
            true => ".".to_owned(),
            false => shown.clone(),
        };
        reject_root_blocks(&mut module, diags);
        let mut found = Diagnostics::new();
        block.call.arguments = arguments(block, &module.variables, &mut found);
        // Reported later by `check::arguments`, once all modules are loaded.
        block.call.argument_errors = found;
        let values = CallValues {
            call: &block.call,
            variables: module.variables.clone(),
            statics: Statics::new(parent, given),
        };
        let inner: Given<'_> = &|name: &str| values.value(name);
        constants(&module, inner, Some(block.call.span), diags);
        provider_instances(&mut module, inner, diags);
        self.dirs.push(dir);
        self.children(&mut module, calls, &shown, inner, diags);
        self.dirs.pop();
        block.call.module = Some(Arc::new(module));
    }
}

/// Reports blocks that only a root may have, and removes the backend.
fn reject_root_blocks(module: &mut Module, diags: &mut Diagnostics) {
    // OpenTofu ignores cloud blocks of child modules silently.
    if let Some((kind, span)) = module.backend.take().filter(|(kind, _)| &**kind != "cloud") {
        let detail =
            format!("A {kind} backend is valid only in the root module. This one is ignored.");
        diags.warning(span, "Backend configuration ignored", detail);
    }
    reject_imports(module, diags);
}

fn reject_imports(module: &Module, diags: &mut Diagnostics) {
    if let Some(import) = module.imports.first() {
        let detail = "Import blocks are only allowed in the root module.";
        diags.error(import.span, "Invalid import configuration", detail);
    }
}

/// Values of a called module's variables while loading: arguments of the call, or defaults.
struct CallValues<'a> {
    call: &'a ModuleCall,
    variables: BTreeMap<Arc<str>, Variable>,
    /// Scope of the caller.
    statics: Statics<'a>,
}

impl CallValues<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Diagnostics> {
        let Some(variable) = self.variables.get(name) else {
            return Ok(None);
        };
        let Some(argument) = self.call.arguments.get(name) else {
            if variable.default.is_some() {
                return Ok(variable.default.clone());
            }
            let detail = format!("The module requires a value for var.{name}.");
            let fault = Diagnostic::error("Missing required variable in module call", detail);
            return Err(fault.at(self.call.span).into());
        };
        let value = self.statics.value(&argument.expr)?;
        match variable.convert(&value) {
            // Null selects the default of a variable that is not nullable.
            Ok(value) if value.is_null() && !variable.nullable => Ok(variable.default.clone()),
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let detail = format!("The given value is not suitable for var.{name}: {error}.");
                let fault = Diagnostic::error("Invalid value for input variable", detail);
                Err(fault.at(argument.expr.span).into())
            }
        }
    }
}

fn without_end(span: Span, diags: &mut Diagnostics) {
    let detail = "The module calls itself, directly or through other modules, or module calls \
        are nested too deeply.";
    diags.error(span, "Endless module calls", detail);
}
