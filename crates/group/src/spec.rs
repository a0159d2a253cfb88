//! InfraKit's group specification: parsing with diagnostics, and rendering of a member to
//! `.tf.json` documents.

mod declared;
mod instance;
#[cfg(test)]
mod life_tests;
mod parse;
mod reader;
mod render;
#[cfg(test)]
mod tests;
mod variables;

pub use declared::DeclaredInstance;
pub use parse::parse;
pub use render::{Document, NewMember};

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::declared::ReconcilePolicy;
use crate::policy::{HealthPolicy, Order, Threshold, UpdatePolicy};
use crate::scope::Scope;
use crate::{Allocation, ConfigHash};

/// A group specification.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSpec {
    /// Id of the group.
    pub id: String,
    /// Desired members.
    pub allocation: Allocation,
    /// Hash of the sections `Instance` and `Flavor`.
    pub hash: ConfigHash,
    /// Resources, of all scopes.
    pub resources: Vec<SpecResource>,
    /// Index of the instance among the resources.
    instance: usize,
    /// Tags of the flavor.
    pub tags: BTreeMap<String, String>,
    /// Script that a new instance runs.
    pub init: Option<String>,
    /// Required health of new members.
    pub threshold: Option<Threshold>,
    /// True if members are not drained in a rolling update.
    pub skip_drain: bool,
    /// Policy of the reconcile loop, which InfraKit's specifications do not have.
    pub reconcile: ReconcilePolicy,
}

/// A resource of a specification.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecResource {
    /// Resource type.
    pub kind: String,
    /// Name in the specification.
    pub name: String,
    /// Scope.
    pub scope: Scope,
    /// Arguments, without `@scope`.
    pub body: Map<String, Value>,
}

impl GroupSpec {
    /// The resource that is the instance.
    pub fn instance(&self) -> &SpecResource {
        &self.resources[self.instance]
    }

    /// Returns true if the other specification treats the same members in the same way.
    pub fn has_settings_of(&self, other: &GroupSpec) -> bool {
        self.threshold == other.threshold
            && self.skip_drain == other.skip_drain
            && self.reconcile == other.reconcile
    }

    /// Ids of the dedicated scopes.
    pub fn dedicated_scopes(&self) -> BTreeSet<&str> {
        dedicated_scopes(&self.resources)
    }

    /// Policy of rolling updates, as InfraKit performs them: one member at a time, in the order of
    /// keys. Without `Updating` there is no wait for health.
    pub fn update_policy(&self) -> UpdatePolicy {
        UpdatePolicy {
            order: Order::Key,
            health: self.threshold.map(|threshold| HealthPolicy {
                threshold,
                ..HealthPolicy::default()
            }),
            ..UpdatePolicy::default()
        }
    }
}

fn dedicated_scopes(resources: &[SpecResource]) -> BTreeSet<&str> {
    let scopes = resources
        .iter()
        .filter_map(|resource| match &resource.scope {
            Scope::Dedicated(id) => Some(id.as_str()),
            _ => None,
        });
    scopes.collect()
}
