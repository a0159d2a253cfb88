//! Table of provider configurations of all modules: blocks, requirements without a block, and
//! configurations passed by a calling module, each replaced by the caller's.

use super::{Configuration, insert_nonempty};
use dependency::VersionConstraint;
use lang::addr::ModulePath;
use lang::config::{Module, ProviderRef};
use lang::syntax::ast::{Expr, ExprKind, Step, StepKind};
use model::full_address;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workspace::provider_addr::{address_of, implied_local_name, provider_name};

/// Row of the table.
struct Row {
    json: Map<String, Json>,
    address: Arc<str>,
    /// Key of the caller's configuration that this one refers to.
    parent: Option<String>,
}

/// Rows by module and local name.
pub(super) struct Providers(BTreeMap<String, Row>);

/// Returns the table key of a configuration in a module.
pub(super) fn key(module: &ModulePath, local: &str) -> String {
    if module.is_root() {
        local.to_owned()
    } else {
        format!("{module}:{local}")
    }
}

impl Providers {
    pub(super) fn of(configuration: &Configuration<'_>) -> Self {
        let mut table = Self(BTreeMap::new());
        table.add(configuration, configuration.declared, configuration.root);
        table
    }

    /// Returns the rows that are not passed from a caller.
    pub(super) fn json(&self) -> Map<String, Json> {
        let own = self.0.iter().filter(|(_, row)| row.parent.is_none());
        own.map(|(key, row)| (key.clone(), row.json.clone().into()))
            .collect()
    }

    /// Returns the key of the row behind a configuration that a resource uses.
    pub(super) fn source_of(&self, key: &str) -> String {
        let parent = self.0.get(key).and_then(|row| row.parent.as_ref());
        parent
            .filter(|parent| self.0.contains_key(*parent))
            .map_or_else(|| key.to_owned(), Clone::clone)
    }

    /// Adds the rows of a module and of its calls. `declared` is the same module before its
    /// provider requirements were completed.
    fn add(&mut self, configuration: &Configuration<'_>, declared: &Module, module: &Module) {
        let needed = requirements(declared, module);
        for block in &module.providers {
            let local = match &block.alias {
                Some(alias) => format!("{}.{alias}", block.name),
                None => block.name.to_string(),
            };
            let address = address_of(module, &block.name);
            let mut row = row(&block.name, &address, module, &needed);
            if let Some(alias) = &block.alias {
                insert_nonempty(&mut row.json, "alias", alias.as_ref());
            }
            if let Some(schema) = configuration.schemas.get(&address) {
                let said = configuration.body(&block.body, &schema.provider.block);
                insert_nonempty(&mut row.json, "expressions", said);
            }
            row.sort_members();
            self.0.insert(key(&module.path, &local), row);
        }
        for (name, required) in &declared.required_providers {
            let address = address_of(module, name);
            for (alias, _) in &required.aliases {
                let local = match alias.as_ref() {
                    "" => name.to_string(),
                    alias => format!("{name}.{alias}"),
                };
                let row = || row(name, &address, module, &needed);
                self.0
                    .entry(key(&module.path, &local))
                    // A block with this name has a row already.
                    .or_insert_with(row)
                    .sort_members();
            }
            self.add_inherited(name, name, &address, module, &needed);
        }
        // Resources may use providers that the module does not require explicitly.
        for address in needed.keys() {
            // The local name of such a provider is the type in its address.
            let kind = address.rsplit('/').next().unwrap_or(address);
            self.add_inherited(kind, kind, address, module, &needed);
        }
        for (name, call) in &module.calls {
            let (Some(child), Some(plain)) = (
                &call.module,
                declared.calls.get(name).and_then(|c| c.module.as_ref()),
            ) else {
                continue;
            };
            // Passed configurations come before the child's own rows, because `inherited` keeps a
            // row that exists.
            self.add_passed(call.providers.iter().flatten(), module, child);
            self.add(configuration, plain, child);
        }
    }

    /// Adds a row without a block, which may be inherited from the caller.
    fn add_inherited(
        &mut self,
        local: &str,
        name: &str,
        address: &Arc<str>,
        module: &Module,
        needed: &Requirements,
    ) {
        let own = key(&module.path, local);
        if self.0.contains_key(&own) {
            return;
        }
        let mut row = row(name, address, module, needed);
        row.parent = module
            .path
            .parent()
            .and_then(|(caller, _)| self.source(key(&caller, local), address));
        row.sort_members();
        self.0.insert(own, row);
    }

    /// Adds the configurations that a call passes.
    fn add_passed<'p>(
        &mut self,
        all: impl Iterator<Item = &'p (ProviderRef, ProviderRef)>,
        caller: &Module,
        child: &Module,
    ) {
        for (inner, outer) in all {
            let own = key(&child.path, &compact(inner));
            let address = address_of(child, &inner.name);
            let mut row = row(&compact(inner), &address, child, &Requirements::new());
            row.parent = self.source(key(&caller.path, &compact(outer)), &address);
            row.sort_members();
            self.0.insert(own, row);
        }
    }

    /// Follows references from row to row and returns the last.
    fn source(&self, start: String, address: &str) -> Option<String> {
        let mut found = None;
        let mut next = Some(start);
        while let Some(key) = next.take() {
            // The same local name may belong to another provider in the caller.
            let Some(row) = self.0.get(&key).filter(|row| *row.address == *address) else {
                break;
            };
            next = row.parent.clone();
            found = Some(key);
        }
        found
    }
}

impl Row {
    /// Sorts the members into the order of the representation.
    fn sort_members(&mut self) {
        const ORDER: [&str; 6] = [
            "name",
            "full_name",
            "alias",
            "version_constraint",
            "module_address",
            "expressions",
        ];
        let mut all = std::mem::take(&mut self.json);
        for name in ORDER {
            if let Some(value) = all.shift_remove(name) {
                self.json.insert(name.to_owned(), value);
            }
        }
    }
}

fn compact(reference: &ProviderRef) -> String {
    match &reference.alias {
        Some(alias) => format!("{}.{alias}", reference.name),
        None => reference.name.to_string(),
    }
}

/// Version constraints by provider address.
type Requirements = BTreeMap<Arc<str>, Vec<Arc<str>>>;

/// Returns the providers that a module itself requires.
fn requirements(declared: &Module, module: &Module) -> Requirements {
    let mut out = Requirements::new();
    for (name, required) in &declared.required_providers {
        let texts = required.versions.iter().map(|(text, _)| text.clone());
        out.entry(address_of(module, name))
            .or_default()
            .extend(texts);
    }
    let used = module.resources.values().map(provider_name);
    let imported = module.imports.iter();
    let imported = imported.filter_map(|i| match &i.provider {
        Some(provider) => Some(provider.name.to_string()),
        None => Some(implied_local_name(&kind_of(&i.to)?).to_owned()),
    });
    let imported: Vec<String> = imported.collect();
    for name in used
        .chain(imported.iter().map(String::as_str))
        .collect::<BTreeSet<&str>>()
    {
        out.entry(address_of(module, name)).or_default();
    }
    for block in &module.providers {
        let texts = block.version.iter().map(|(text, _)| text.clone());
        out.entry(address_of(module, &block.name))
            .or_default()
            .extend(texts);
    }
    out
}

/// Returns the resource type of an import's target.
fn kind_of(to: &Expr) -> Option<Arc<str>> {
    let mut names = Vec::new();
    attributes(to, &mut names);
    let mut rest = &names[..];
    // Skips the module path: `module.NAME` pairs before the resource.
    while let [module, _, inside @ ..] = rest
        && &**module == "module"
    {
        rest = inside;
    }
    rest.first().cloned()
}

/// Collects the names of a reference whose keys may be expressions.
fn attributes(expr: &Expr, names: &mut Vec<Arc<str>>) {
    let attribute = |step: &Step| match &step.kind {
        StepKind::Attr(name) => Some(name.clone()),
        StepKind::Index(_) => None,
    };
    match &expr.kind {
        ExprKind::Traversal(t) => {
            names.push(t.root.clone());
            names.extend(t.steps.iter().filter_map(attribute));
        }
        ExprKind::RelativeTraversal { source, steps } => {
            attributes(source, names);
            names.extend(steps.iter().filter_map(attribute));
        }
        ExprKind::Index { source, .. } => attributes(source, names),
        _ => {}
    }
}

fn row(name: &str, address: &Arc<str>, module: &Module, needed: &Requirements) -> Row {
    let mut json = Map::new();
    insert_nonempty(&mut json, "name", name);
    insert_nonempty(&mut json, "full_name", full_address(address));
    let texts = needed.get(address).into_iter().flatten();
    let constraint = VersionConstraint::all_of_provider(texts.map(|text| &**text));
    let constraint = constraint.unwrap_or_default().canonical();
    insert_nonempty(&mut json, "version_constraint", constraint);
    insert_nonempty(&mut json, "module_address", module.path.to_string());
    Row {
        json,
        address: address.clone(),
        parent: None,
    }
}
