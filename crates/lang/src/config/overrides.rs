//! Adds the blocks of override files to a module's `Draft`: each one changes a declaration of a
//! normal file.

use std::sync::Arc;

use super::assemble::mode_of;
use super::declare::{last_label, provider_key};
use super::draft::{Draft, Slot};
use super::link::LINK;
use super::{call, resource, values};
use crate::addr::Resource as ResourceName;
use crate::body::{Attribute, Block, Body, BodySchema};
use crate::diag::Diagnostics;

impl Draft {
    pub(super) fn overrides(&mut self, block: Block, diags: &mut Diagnostics) {
        let name = last_label(&block);
        match &*block.type_name {
            "variable" => {
                values::no_override_of_conditions(&block.body, &["validation"], diags);
                match self.variables.get_mut(&name) {
                    Some(slot) => slot.overrides.push(block),
                    None => missing("variable", &block, diags),
                }
            }
            "output" => {
                values::no_override_of_conditions(&block.body, &["precondition"], diags);
                call::check_override(&block.body, diags);
                match self.outputs.get_mut(&name) {
                    Some(slot) => slot.overrides.push(block),
                    None => missing("output", &block, diags),
                }
            }
            "module" => {
                call::check_override(&block.body, diags);
                match self.calls.get_mut(&name) {
                    Some(slot) => {
                        warn_ineffective(&slot.block.body, &block.body, &["enabled"], diags);
                        slot.overrides.push(block);
                    }
                    None => missing("module call", &block, diags),
                }
            }
            "resource" | "data" | "ephemeral" | LINK => self.override_resource(name, block, diags),
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

    fn override_resource(&mut self, name: Arc<str>, block: Block, diags: &mut Diagnostics) {
        let mode = mode_of(&block);
        resource::check_override(&block.body, mode, diags);
        let key = ResourceName {
            mode,
            kind: block.labels[0].text.clone(),
            name,
        };
        match self.resources.get_mut(&key) {
            Some(slot) => {
                let ignored = ["enabled", "replace_triggered_by"];
                warn_ineffective(&slot.block.body, &block.body, &ignored, diags);
                slot.overrides.push(block);
            }
            None => missing(
                &format!("{} \"{}\"", block.type_name, key.kind),
                &block,
                diags,
            ),
        }
    }

    fn override_provider(&mut self, block: Block, diags: &mut Diagnostics) {
        let key = provider_key(&block);
        match self.providers.get_mut(&key) {
            Some(slot) => slot.overrides.push(block),
            // The default configuration exists without a block, so an override alone is valid.
            None if key.1.is_empty() => {
                self.provider_order.push(key.clone());
                self.providers.insert(key, Slot::from(block));
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

/// Warns of arguments that OpenTofu ignores in an override: these `lifecycle` arguments, and a
/// `for_each` beside the `count` of the other block.
fn warn_ineffective(base: &Body, over: &Body, lifecycle: &[&str], diags: &mut Diagnostics) {
    let mut ignored: Vec<Attribute> = Vec::new();
    let (content, _, _) = over.partial_content(&BodySchema::new().block("lifecycle", &[]));
    let schema = BodySchema::new().optional(lifecycle);
    for block in &content.blocks {
        let (content, _, _) = block.body.partial_content(&schema);
        ignored.extend(content.attributes.into_values());
    }
    // The count of the other block wins, so this for_each has no effect.
    if base.has_attribute("count") && !over.has_attribute("count") {
        let (content, _, _) = over.partial_content(&BodySchema::new().optional(&["for_each"]));
        ignored.extend(content.attributes.into_values());
    }
    for attribute in ignored {
        let detail = format!(
            "An override file cannot change \"{}\" here, so the value from the normal files \
            applies. Set the argument there.",
            attribute.name
        );
        diags.warning(attribute.name_span, "Override has no effect", detail);
    }
}

fn missing(what: &str, block: &Block, diags: &mut Diagnostics) {
    let name = last_label(block);
    let detail = format!(
        "There is no {what} named \"{name}\" in the normal files. An override file can only \
        change declarations of normal files."
    );
    diags.error(
        block.def_span,
        format!("Missing {what} to override"),
        detail,
    );
}
