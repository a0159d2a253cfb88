//! What a deploy leaves: what was planned, with what the provider says it has set. Pure.

use super::convert::{decode, is_empty};
use super::paths::{Step, get, is_computed, parse, put};
use super::retain::retain;
use super::schema::Definition;
use super::unfit::Unfit;
use crate::engine::calls::ProviderDiagnostic;
use crate::engine::words::Severity;
use cty::Value;
use proto::bluelink::schema::MappingNode;
use std::collections::{BTreeMap, HashMap};

/// The spec of an object as it comes about: what was asked for, and what the provider has set so
/// far.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) node: MappingNode,
    /// What the provider says it has set and its schema does not have so.
    pub(super) warnings: Vec<ProviderDiagnostic>,
    /// The earlier values of fields that the provider has set to null.
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

    /// The spec of an update: what the provider has set before stays until it sets it anew.
    pub(super) fn after(of: &Definition, mut node: MappingNode, prior: &MappingNode) -> Self {
        retain(&of.node, &mut node, prior);
        Self::new(node)
    }

    /// Brings back what the provider has set to null: before the object is stable, null means that
    /// the value is not known yet.
    pub(super) fn unfinished(&mut self) {
        for (steps, before) in self.cleared.drain(..).rev() {
            if get(&self.node, &steps).is_none_or(is_empty) {
                put(&mut self.node, &steps, before);
            }
        }
    }

    /// Puts in what the provider has set.
    pub(super) fn merge(&mut self, of: &Definition, set: HashMap<String, MappingNode>) {
        // In their order, so that what warnings there are come alike in every run.
        for (path, value) in set.into_iter().collect::<BTreeMap<_, _>>() {
            let steps = parse(&path).filter(|steps| !steps.is_empty());
            let is_its_own = steps
                .as_deref()
                .and_then(|steps| is_computed(&of.node, steps));
            match (steps, is_its_own) {
                // An object does not lose the id by which it is known.
                (Some(steps), Some(true))
                    if is_empty(&value)
                        && matches!(&steps[..], [Step::Name(name)] if *name == of.id_field) => {}
                (Some(steps), Some(true)) => {
                    if is_empty(&value)
                        && let Some(before) = get(&self.node, &steps).cloned()
                    {
                        self.cleared.push((steps.clone(), before));
                    }
                    put(&mut self.node, &steps, value);
                }
                (_, Some(_)) => self.warn(&path, "which only the configuration may set"),
                _ => self.warn(&path, "which is not in its schema"),
            }
        }
    }

    fn warn(&mut self, path: &str, why: &str) {
        let detail =
            format!("The value is discarded; this is a bug in the plugin. The path is {path}.");
        self.warnings.push(ProviderDiagnostic {
            severity: Severity::Warning,
            ..ProviderDiagnostic::error(format!("The plugin set {path}, {why}"), detail)
        });
    }

    /// The object, of the type of its schema.
    ///
    /// # Errors
    /// The provider has set something of another kind than its schema has it.
    pub(super) fn object(&self, of: &Definition, planned: &Value) -> Result<Value, Unfit> {
        decode(Some(&self.node), &of.node, planned, super::paths::ROOT)
    }
}
