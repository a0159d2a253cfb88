//! Adds the blocks of normal files to a module's `Draft` and reports duplicate names. `overrides`
//! adds the blocks of override files.

use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::assemble::mode_of;
use super::draft::{Draft, Slot, Slots};
use super::link::LINK;
use super::values;
use crate::addr::Resource as ResourceName;
use crate::body::{Block, BodySchema};
use crate::diag::Diagnostics;

impl Draft {
    fn declare_once<K: Ord + Clone>(
        slots: &mut Slots<K>,
        duplicates: &mut Vec<Block>,
        key: K,
        block: Block,
        words: impl FnOnce() -> (String, String),
        diags: &mut Diagnostics,
    ) {
        match slots.entry(key) {
            // The duplicate is parsed later, for the errors inside it.
            Entry::Occupied(_) => {
                let (summary, detail) = words();
                diags.error(block.def_span, summary, detail);
                duplicates.push(block);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Slot::from(block));
            }
        }
    }

    pub(super) fn declare(&mut self, block: Block, diags: &mut Diagnostics) {
        let name = last_label(&block);
        let again = |what: &str| {
            (
                format!("Duplicate {what}"),
                format!("\"{name}\" was already declared. Names must be unique within a module."),
            )
        };
        let duplicates = &mut self.duplicates;
        match &*block.type_name {
            "variable" => {
                Self::declare_once(
                    &mut self.variables,
                    duplicates,
                    name.clone(),
                    block,
                    || again("variable declaration"),
                    diags,
                );
            }
            "output" => Self::declare_once(
                &mut self.outputs,
                duplicates,
                name.clone(),
                block,
                || again("output definition"),
                diags,
            ),
            "module" => Self::declare_once(
                &mut self.calls,
                duplicates,
                name.clone(),
                block,
                || again("module call"),
                diags,
            ),
            "resource" | "data" | "ephemeral" | LINK => {
                self.declare_resource(name.clone(), block, diags);
            }
            "provider" => self.declare_provider(block, diags),
            "locals" => self.declare_locals(&block, diags),
            "moved" => self.moved.push(block),
            "removed" => self.removed.push(block),
            "import" => self.imports.push(block),
            "check" => self.checks.push(block),
            _ => {}
        }
    }

    fn declare_resource(&mut self, name: Arc<str>, block: Block, diags: &mut Diagnostics) {
        let kind = block.labels[0].text.clone();
        let word = &*block.type_name.clone();
        let key = ResourceName {
            mode: mode_of(&block),
            kind: kind.clone(),
            name: name.clone(),
        };
        let words = || {
            let summary = format!("Duplicate {word} \"{kind}\" configuration");
            (
                summary,
                format!(
                    "A {kind} {word} named \"{name}\" was already declared. Names must be unique per type in each module."
                ),
            )
        };
        Self::declare_once(
            &mut self.resources,
            &mut self.duplicates,
            key,
            block,
            words,
            diags,
        );
    }

    fn declare_provider(&mut self, block: Block, diags: &mut Diagnostics) {
        let key = provider_key(&block);
        let words = || {
            let detail = match &*key.1 {
                "" => format!(
                    "A default configuration for \"{}\" was already given. Set \"alias\" for \
                    additional configurations.",
                    key.0
                ),
                alias => format!(
                    "A configuration for \"{}\" with alias \"{alias}\" was already given.",
                    key.0
                ),
            };
            ("Duplicate provider configuration".to_owned(), detail)
        };
        self.provider_order.push(key.clone());
        Self::declare_once(
            &mut self.providers,
            &mut self.duplicates,
            key.clone(),
            block,
            words,
            diags,
        );
    }

    fn declare_locals(&mut self, block: &Block, diags: &mut Diagnostics) {
        for (name, local) in values::locals(&block.body, diags) {
            if self.locals.contains_key(&name) {
                let detail = format!(
                    "A local value named \"{name}\" was already defined. Names must be unique within a module."
                );
                diags.error(local.span, "Duplicate local value definition", detail);
            }
            // The later one wins, so that references to the name are still checked.
            self.locals.insert(name, local);
        }
    }
}

/// Local name and alias (empty for the default configuration) of a provider block.
pub(super) fn provider_key(block: &Block) -> (Arc<str>, Arc<str>) {
    let (content, _, _) = block
        .body
        .partial_content(&BodySchema::new().optional(&["alias"]));
    // Reading the block reports errors of the alias.
    let mut ignored = Diagnostics::new();
    let alias = content
        .attribute("alias")
        .and_then(|a| super::constant::text(a, &mut ignored))
        .unwrap_or_default();
    (block.labels[0].text.clone(), alias.into())
}

/// Name of the object that a labelled block declares: its last label.
pub(super) fn last_label(block: &Block) -> Arc<str> {
    block
        .labels
        .last()
        .map(|l| l.text.clone())
        .unwrap_or_default()
}
