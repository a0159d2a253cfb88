//! What a deploy leaves: what was planned, with what the provider says it has set. Pure.

use super::convert::decode;
use super::paths::{is_computed, parse, put};
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
}

impl Spec {
    pub(super) fn new(node: MappingNode) -> Self {
        Self {
            node,
            warnings: Vec::new(),
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
                (Some(steps), Some(true)) => put(&mut self.node, &steps, value),
                (_, Some(_)) => self.warn(&path, "which its schema leaves to the configuration"),
                _ => self.warn(&path, "which its schema does not have"),
            }
        }
    }

    fn warn(&mut self, path: &str, why: &str) {
        let detail = format!("It is not kept; this is an error of the plugin. The path is {path}.");
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
