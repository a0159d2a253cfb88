//! A block of an override file changes what the normal files declare.

use std::sync::Arc;

use super::assemble::mode_of;
use super::declare::{last_label, provider_key};
use super::draft::{Draft, Slot};
use super::link::LINK;
use super::{call, resource, values};
use crate::addr::Resource as ResourceName;
use crate::body::{Block, Body};
use crate::diag::Diagnostics;

impl Draft {
    pub(super) fn overrides(&mut self, block: Block, diags: &mut Diagnostics) {
        let name = last_label(&block);
        match &*block.type_name {
            "variable" => {
                values::no_override_of_conditions(&block.body, &["validation"], diags);
                match self.variables.get_mut(&name) {
                    Some(slot) => merge_into(slot, &block),
                    None => missing("variable", &block, diags),
                }
            }
            "output" => {
                values::no_override_of_conditions(&block.body, &["precondition"], diags);
                call::check_override(&block.body, diags);
                match self.outputs.get_mut(&name) {
                    Some(slot) => merge_into(slot, &block),
                    None => missing("output", &block, diags),
                }
            }
            "module" => {
                call::check_override(&block.body, diags);
                match self.calls.get_mut(&name) {
                    Some(slot) => {
                        slot.block.body = call::merge(&slot.block.body, &block.body);
                        slot.over = Some(block.def_span);
                    }
                    None => missing("module call", &block, diags),
                }
            }
            "resource" | "data" | "ephemeral" | LINK => self.override_resource(name, &block, diags),
            "provider" => self.override_provider(block, diags),
            "locals" => self.override_locals(&block, diags),
            kind => {
                let detail = format!(
                    "\"{kind}\" blocks can appear only in normal files, not in override files."
                );
                diags.error(
                    block.def_span,
                    format!("Cannot override '{kind}' blocks"),
                    detail,
                );
            }
        }
    }

    fn override_resource(&mut self, name: Arc<str>, block: &Block, diags: &mut Diagnostics) {
        let mode = mode_of(block);
        resource::check_override(&block.body, mode, diags);
        let key = ResourceName {
            mode,
            kind: block.labels[0].text.clone(),
            name,
        };
        match self.resources.get_mut(&key) {
            Some(slot) => {
                slot.block.body = resource::merge(&slot.block.body, &block.body);
                slot.over = Some(block.def_span);
            }
            None => missing(
                &format!("{} \"{}\"", block.type_name, key.kind),
                block,
                diags,
            ),
        }
    }

    fn override_provider(&mut self, block: Block, diags: &mut Diagnostics) {
        let key = provider_key(&block);
        match self.providers.get_mut(&key) {
            Some(slot) => {
                slot.block.body = Body::overridden(slot.block.body.clone(), block.body.clone());
                slot.over = Some(block.def_span);
            }
            // The default configuration is there without being declared: there is one to override.
            None if key.1.is_empty() => {
                self.provider_order.push(key.clone());
                self.providers.insert(
                    key,
                    Slot {
                        block,
                        base: None,
                        over: None,
                    },
                );
            }
            None => missing("provider configuration", &block, diags),
        }
    }

    fn override_locals(&mut self, block: &Block, diags: &mut Diagnostics) {
        for (name, local) in values::locals(&block.body, diags) {
            if let Some(own) = self.locals.get_mut(&name) {
                *own = local;
            } else {
                let detail = format!(
                    "There is no local value named \"{name}\" in the normal files to override."
                );
                diags.error(
                    local.span,
                    "Missing base local value definition to override",
                    detail,
                );
            }
        }
    }
}

fn merge_into(slot: &mut Slot, over: &Block) {
    slot.base.get_or_insert_with(|| slot.block.body.clone());
    slot.block.body = Body::merged(slot.block.body.clone(), over.body.clone());
    slot.over = Some(over.def_span);
}

fn missing(what: &str, block: &Block, diags: &mut Diagnostics) {
    let name = last_label(block);
    let detail = format!(
        "There is no {what} named \"{name}\" in the normal files: an override file can only change what they declare."
    );
    diags.error(
        block.def_span,
        format!("Missing {what} to override"),
        detail,
    );
}
