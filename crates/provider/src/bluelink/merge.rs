//! Merges values set by the provider into the planned values. Pure.

use super::convert::{decode, is_empty};
use super::decode_error::DecodeError;
use super::paths::{Step, get, is_computed, parse, set_at};
use super::retain::retain_provider_fields;
use super::schema::Definition;
use calls::ProviderDiagnostic;
use cty::Value;
use model::Severity;
use proto::bluelink::schema::MappingNode;
use std::collections::{BTreeMap, HashMap};

/// Spec of an object during a deploy: configured values and those that the provider has set so far.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) node: MappingNode,
    /// Warnings about values that the provider set outside of its schema.
    pub(super) warnings: Vec<ProviderDiagnostic>,
    /// Previous values of fields that the provider has set to null.
    cleared: Vec<(Vec<Step>, MappingNode)>,
}

impl Spec {
    pub(super) fn new(node: MappingNode) -> Self {
        Self {
            node,
            warnings: Vec::new(),
            cleared: Vec::new(),
        }
    }

    /// Returns the spec of an update. Earlier computed values remain until the provider sets new
    /// ones.
    pub(super) fn for_update(of: &Definition, mut node: MappingNode, prior: &MappingNode) -> Self {
        retain_provider_fields(&of.node, &mut node, prior);
        Self::new(node)
    }

    /// Restores values that the provider has set to null: before an object is stable, null means
    /// not known yet.
    pub(super) fn restore_cleared(&mut self) {
        // In reverse, so that of several previous values the latest is restored.
        for (steps, before) in self.cleared.drain(..).rev() {
            if get(&self.node, &steps).is_none_or(is_empty) {
                set_at(&mut self.node, &steps, before);
            }
        }
    }

    /// Adds values that the provider has set.
    pub(super) fn merge(&mut self, of: &Definition, set: HashMap<String, MappingNode>) {
        // Sorted by path, so that warnings have a stable order.
        for (path, value) in set.into_iter().collect::<BTreeMap<_, _>>() {
            let steps = parse(&path).filter(|steps| !steps.is_empty());
            let is_its_own = steps
                .as_deref()
                .and_then(|steps| is_computed(&of.node, steps));
            match (steps, is_its_own) {
                // The id of an object must not be lost.
                (Some(steps), Some(true))
                    if is_empty(&value)
                        && matches!(&steps[..], [Step::Name(name)] if *name == of.id_field) => {}
                (Some(steps), Some(true)) => {
                    if is_empty(&value)
                        && let Some(before) = get(&self.node, &steps).cloned()
                    {
                        self.cleared.push((steps.clone(), before));
                    }
                    set_at(&mut self.node, &steps, value);
                }
                // The configuration owns this field; accepting the value would cause drift.
                (_, Some(_)) => self.warn(&path, "which only the configuration may set"),
                _ => self.warn(&path, "which is not in its schema"),
            }
        }
    }

    fn warn(&mut self, path: &str, why: &str) {
        let detail =
            format!("The value at the path {path} is discarded; this is a bug in the plugin.");
        self.warnings.push(ProviderDiagnostic {
            severity: Severity::Warning,
            ..ProviderDiagnostic::error(format!("The plugin set {path}, {why}"), detail)
        });
    }

    /// Returns the object in the type of its schema.
    ///
    /// # Errors
    /// A value set by the provider has another kind than its schema.
    pub(super) fn object(&self, of: &Definition, planned: &Value) -> Result<Value, DecodeError> {
        decode(Some(&self.node), &of.node, planned, super::paths::ROOT)
    }
}
