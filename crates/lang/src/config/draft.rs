//! Draft of a module: all blocks of one directory by kind and name, before they are parsed. Each
//! name has one slot with its block and the override blocks that change it. `assemble` fills the
//! draft and parses the module from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assemble::mode_of;
use super::call::CallBlock;
use super::model::{Local, Module};
use super::overridden::Part;
use super::values::Named;
use super::{call, link, providers, refactor, resource, values};
use crate::addr::{Resource as ResourceName, Target};
use crate::body::{Block, Body};
use crate::diag::Diagnostics;

/// Declaration with the override blocks that change it, in order.
pub(super) struct Slot {
    pub(super) block: Block,
    pub(super) overrides: Vec<Block>,
}

impl From<Block> for Slot {
    fn from(block: Block) -> Self {
        let overrides = Vec::new();
        Self { block, overrides }
    }
}

pub(super) type Slots<K> = BTreeMap<K, Slot>;

/// All declarations of one directory. Later kinds may need earlier ones.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) variables: Slots<Arc<str>>,
    pub(super) outputs: Slots<Arc<str>>,
    pub(super) calls: Slots<Arc<str>>,
    pub(super) resources: Slots<ResourceName>,
    pub(super) providers: Slots<(Arc<str>, Arc<str>)>,
    pub(super) provider_order: Vec<(Arc<str>, Arc<str>)>,
    pub(super) locals: Named<Local>,
    pub(super) checks: Vec<Block>,
    pub(super) moved: Vec<Block>,
    pub(super) removed: Vec<Block>,
    pub(super) imports: Vec<Block>,
    /// Duplicate blocks, parsed only for their errors.
    pub(super) duplicates: Vec<Block>,
}

impl Draft {
    pub(super) fn finish(self, module: &mut Module, diags: &mut Diagnostics) -> Vec<CallBlock> {
        for (name, slot) in &self.variables {
            let variable = slot.variable(diags);
            module.variables.insert(name.clone(), variable);
        }
        module.locals = self.locals;
        for (name, slot) in &self.outputs {
            let output = slot.read(&merged, &values::output, diags);
            module.outputs.insert(name.clone(), output);
        }
        let read = |(name, slot): (ResourceName, Slot)| {
            let read = |block: &Block, _, diags: &mut Diagnostics| {
                resource::resource(block, name.mode, false, diags)
            };
            let resource = slot.read(&resource::merge, &read, diags);
            (name, resource)
        };
        module.resources = self.resources.into_iter().map(read).collect();
        link::providers(&mut module.resources, diags);
        for key in self.provider_order {
            // A duplicate has the key of a block that was already read.
            if let Some(slot) = self.providers.get(&key)
                && !module
                    .providers
                    .iter()
                    .any(|p| p.name == key.0 && p.alias.as_deref().unwrap_or("") == &*key.1)
            {
                let read =
                    |block: &Block, _, diags: &mut Diagnostics| providers::provider(block, diags);
                let merge = |base: &Body, over: &Body| Body::overridden(base.clone(), over.clone());
                module.providers.extend(slot.read(&merge, &read, diags));
            }
        }
        let calls = self
            .calls
            .values()
            .map(|slot| slot.read(&call::merge, &call::call, diags))
            .collect();
        // The values are dropped, but errors inside duplicates are reported too.
        for block in &self.duplicates {
            match &*block.type_name {
                "variable" => drop(values::variable(block, None, diags)),
                "output" => drop(values::output(block, Part::Whole, diags)),
                "module" => drop(call::call(block, Part::Whole, diags)),
                "provider" => drop(providers::provider(block, diags)),
                _ => drop(resource::resource(block, mode_of(block), false, diags)),
            }
        }
        module.moved = self
            .moved
            .iter()
            .filter_map(|b| refactor::moved(b, diags))
            .collect();
        module.removed = self
            .removed
            .iter()
            .filter_map(|b| refactor::removed(b, diags))
            .collect();
        imports(module, &self.imports, diags);
        // Data sources of checks share names with resources, so those must be complete.
        checks(module, &self.checks, diags);
        calls
    }
}

fn merged(base: &Body, over: &Body) -> Body {
    Body::merged(base.clone(), over.clone())
}

pub(super) fn imports(module: &mut Module, blocks: &[Block], diags: &mut Diagnostics) {
    let mut seen: Vec<Target> = Vec::new();
    for block in blocks {
        let Some((import, resolved)) = refactor::import(block, diags) else {
            continue;
        };
        // Only addresses without expressions can be compared before evaluation.
        if let Some(target) = resolved {
            if seen.contains(&target) {
                let detail = format!(
                    "An import block for \"{target}\" was already declared. A resource can have only one import block."
                );
                diags.error(
                    import.span,
                    format!("Duplicate import configuration for \"{target}\""),
                    detail,
                );
            }
            seen.push(target);
        }
        module.imports.push(import);
    }
}

pub(super) fn checks(module: &mut Module, blocks: &[Block], diags: &mut Diagnostics) {
    for block in blocks {
        let (check, data) = refactor::check(block, diags);
        if let Some(data) = &data
            && module.resources.contains_key(&data.name)
        {
            let detail = format!(
                "\"{}\" was already declared. Names must be unique per type in each module, check blocks included.",
                data.name
            );
            diags.error(
                data.span,
                format!("Duplicate data \"{}\" configuration", data.name.kind),
                detail,
            );
            continue;
        }
        if module.checks.contains_key(&check.name) {
            let detail = format!(
                "A check block named \"{}\" was already declared. Names must be unique within each module.",
                check.name
            );
            diags.error(
                check.span,
                format!("Duplicate check \"{}\" configuration", check.name),
                detail,
            );
            continue;
        }
        module
            .resources
            .extend(data.map(|data| (data.name.clone(), data)));
        module.checks.insert(check.name.clone(), check);
    }
}
