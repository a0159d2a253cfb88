//! State of the plan walk, and the evaluation of one node according to its kind.

use super::links::LinksByEnd;
use super::options::PlanOptions;
use crate::engine::graph::Step;
use crate::engine::stage::cell::Cell;
use crate::engine::stage::needs::{self};
use crate::engine::stage::nodes::Node;
use crate::engine::stage::prior::PriorState;
use crate::engine::stage::walk::Walk;
use lang::addr::{ConfigResource, Mode};
use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

/// State of the plan walk.
pub struct PlanWalk {
    pub walk: Walk,
    pub prior: PriorState,
    pub options: PlanOptions,
    /// Resources that are created before the old object is destroyed: declared so, or needed by
    /// such a resource.
    pub create_first: HashSet<ConfigResource>,
    /// Links of the state by their ends.
    pub by_end: LinksByEnd,
    /// Cache of direct dependencies.
    pub need_cache: needs::Known,
    /// Called after each instance with its address.
    pub progress: Box<dyn Fn(&dyn Display) + Send + Sync>,
}

impl PlanWalk {
    /// Returns the lookup of direct dependencies.
    pub fn needs_computation(&self) -> needs::Needing<'_> {
        needs::Needing {
            context: &self.walk.context,
            cache: &self.need_cache,
        }
    }

    /// Evaluates one node.
    pub async fn run(self: &Arc<Self>, step: Step) -> Cell {
        let node = &self.walk.nodes.nodes[step];
        if let Some(cell) = self.walk.evaluate_common(node).await {
            return cell;
        }
        match node {
            Node::Resource(resource) if resource.resource.mode == Mode::Ephemeral => {
                self.walk
                    .open(step, resource, &|instance| self.open_time(step, instance))
                    .await
            }
            Node::Resource(resource) => self.resource(step, resource).await,
            Node::Orphan(resource) => self.orphans(resource).await,
            _ => Cell::default(),
        }
    }
}
