//! Modules and checks that test files add to a validated configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::check::{source_of, source_or_implied};
use super::files;
use super::load::Loader;
use super::model::Module;
use super::statics::{Given, Statics};
use super::test_file::{Run, TestFile, is_local};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::SourceMap;
use dependency::ProviderAddress;

/// Test files' part of a validated configuration.
#[derive(Clone, Debug, Default)]
pub struct TestModules {
    /// Local modules under test other than the root, each once.
    pub modules: Vec<Arc<Module>>,
    /// Errors in test files, which do not stop other checks.
    pub errors: Diagnostics,
}

/// Directory of test files, besides the configuration's own.
const FOLDER: &str = "tests";

/// Reads the test files of a root.
pub(super) fn read(dir: &Path, sources: &SourceMap, diags: &mut Diagnostics) -> Vec<TestFile> {
    let mut found = Vec::new();
    match files::tests(&dir.join(FOLDER)) {
        Ok(names) => found.extend(names.into_iter().map(|name| format!("{FOLDER}/{name}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            let detail = format!("Test directory {FOLDER} could not be read: {error}.");
            diags.push(Diagnostic::error("Failed to read test directory", detail));
        }
    }
    found.extend(files::tests(dir).unwrap_or_default());
    found
        .into_iter()
        .filter_map(|name| {
            let body = files::read_body(&dir.join(&name), &name, false, sources, diags)?;
            Some(TestFile::read(name, &body, diags))
        })
        .collect()
}

/// Loads the modules under test. Remote modules are skipped, because their authors test them.
pub(super) fn modules(
    loader: &mut Loader<'_>,
    root: &Module,
    tests: &[TestFile],
    given: Given<'_>,
    diags: &mut Diagnostics,
) -> BTreeMap<String, Arc<Module>> {
    let mut out = BTreeMap::new();
    let mut seen = Vec::new();
    let runs = tests
        .iter()
        .flat_map(|file| file.runs.iter().map(move |run| (file, run)));
    for (file, run) in runs {
        let Some(wanted) = &run.module else { continue };
        // A module under test is loaded once, with the variables of its first run.
        if !is_local(&wanted.source) || seen.contains(&&wanted.source) {
            continue;
        }
        seen.push(&wanted.source);
        let statics = Statics::new(root, given);
        let inner = |name: &str| match run.variables.get(name) {
            Some(expr) => statics.value(expr).map(Some),
            None => Ok(None),
        };
        let key = key(&file.name, &run.name);
        if let Some(module) = loader.load_as_root(&wanted.source, key, wanted.span, &inner, diags) {
            out.insert(wanted.source.clone(), Arc::new(module));
        }
    }
    out
}

/// Manifest key of a run's module: the test file's path split into parts (`tests/a.tftest.hcl`
/// gives `test`, `tests`, `a`), then the run's name.
fn key(file: &str, run: &str) -> Vec<String> {
    let file = file.strip_suffix(".tftest.hcl").unwrap_or(file);
    let parts = ["test"].into_iter().chain(file.split('/')).chain([run]);
    parts.map(str::to_owned).collect()
}

/// Checks that a provider block of a test file means the same provider in every run that uses it.
pub(super) fn providers(
    root: &Module,
    modules: &BTreeMap<String, Arc<Module>>,
    file: &TestFile,
    diags: &mut Diagnostics,
) {
    let of = |run: &Run| match &run.module {
        None => Some(root),
        Some(wanted) => modules.get(&wanted.source).map(|module| &**module),
    };
    let mut meant: BTreeMap<Arc<str>, ProviderAddress> = BTreeMap::new();
    let mut passed = Vec::new();
    for run in &file.runs {
        let Some(module) = of(run) else { continue };
        let has_block = |name: &str| file.providers.iter().any(|p| *p.name == *name);
        for (inner, outer) in &run.providers {
            let wanted = source_or_implied(module, &inner.name);
            // The first run that uses the block decides about its provider.
            let given = meant.get(&outer.name).unwrap_or(&wanted).clone();
            if has_block(&outer.name) {
                meant.entry(outer.name.clone()).or_insert(wanted.clone());
            }
            if run.module.is_none() {
                passed.push((outer, given, wanted));
            }
        }
        // Without `providers`, blocks of the file are passed by name.
        if run.providers.is_empty() {
            let blocks = module.providers.iter().map(|p| &p.name);
            for name in module.required_providers.keys().chain(blocks) {
                if has_block(name) {
                    meant
                        .entry(name.clone())
                        .or_insert_with(|| type_of(module, name));
                }
            }
        }
    }
    let mismatch = |name: &str, given: &ProviderAddress, wanted: &ProviderAddress| {
        let detail = format!(
            "{name:?} in {} means provider {given} because of another run, but the root module \
            requires {wanted} here.",
            file.name
        );
        Diagnostic::error("Provider type mismatch", detail)
    };
    for (outer, given, wanted) in passed {
        if !given.is_same_source(&wanted) {
            diags.push(mismatch(&outer.name, &given, &wanted).at(outer.span));
        }
    }
    let by_name = |run: &Run| run.module.is_none() && run.providers.is_empty();
    if !file.runs.iter().any(by_name) {
        return;
    }
    for block in file.providers.iter().filter(|p| declares(root, p)) {
        let wanted = type_of(root, &block.name);
        let given = meant.get(&block.name).unwrap_or(&wanted);
        if !given.is_same_source(&wanted) {
            diags.push(mismatch(&block.name, given, &wanted).at(block.span));
        }
    }
}

fn type_of(module: &Module, name: &str) -> ProviderAddress {
    source_of(module, name).unwrap_or_else(|| source_or_implied(module, name))
}

/// Returns true if a module has a configuration with the name of the block.
fn declares(module: &Module, block: &super::model::ProviderConfig) -> bool {
    let required = module.required_providers.get(&block.name);
    let by_requirement = required.is_some_and(|entry| match &block.alias {
        None => true,
        Some(alias) => entry.aliases.iter().any(|(name, _)| name == alias),
    });
    let by_block =
        |p: &super::model::ProviderConfig| p.name == block.name && p.alias == block.alias;
    by_requirement || module.providers.iter().any(by_block)
}
