//! State of the plan walk, and the evaluation of one node according to its kind.

use super::checks::InstanceChecks;
use super::data::DataSources;
use super::force::ForcedReplacements;
use super::guards::DestroyGuards;
use super::links::{LinkContexts, LinksByEnd};
use super::options::PlanOptions;
use super::provision::ProvisionerCommands;
use super::read_object::ObjectReader;
use super::removal::Removals;
use crate::stage::cell::Cell;
use crate::stage::needs::{self};
use crate::stage::nodes::Node;
use crate::stage::prior::PriorState;
use crate::stage::values::Extent;
use crate::stage::walk::Walk;
use graph::Step;
use lang::addr::{ConfigResource, Mode};
use model::StageMode;
use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

/// Called after each instance with its address.
pub type Progress = dyn Fn(&dyn Display) + Send + Sync;

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
    pub progress: Box<Progress>,
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
        if let Some(cell) = self.walk.evaluate_common(node, &Extent::all()).await {
            return cell;
        }
        match node {
            Node::Resource(resource) if resource.resource.mode == Mode::Ephemeral => {
                self.walk
                    .open(step, (resource, &Extent::all()), &|instance| {
                        (self.progress)(instance);
                        self.data_sources().open_time(step, instance)
                    })
                    .await
            }
            Node::Resource(resource) => self.resource(step, resource).await,
            Node::Orphan(resource) => self.removals().orphans(resource).await,
            _ => Cell::default(),
        }
    }

    /// Plans the removal of a node's objects that a narrowed destroy includes, although the node
    /// itself is not evaluated.
    pub async fn plan_state_removals(&self, step: Step) -> Cell {
        match &self.walk.nodes.nodes[step] {
            _ if self.options.mode != StageMode::Destroy => Cell::default(),
            Node::Orphan(resource) => self.removals().orphans(resource).await,
            Node::Resource(resource) => self.selected_by_state(step, resource).await,
            _ => Cell::default(),
        }
    }

    fn links(&self) -> LinkContexts<'_> {
        LinkContexts {
            walk: &self.walk,
            prior: &self.prior,
            by_end: &self.by_end,
        }
    }

    pub(super) fn reader(&self) -> ObjectReader<'_> {
        ObjectReader {
            walk: &self.walk,
            options: &self.options,
            links: self.links(),
        }
    }

    pub(super) fn checks(&self) -> InstanceChecks<'_> {
        InstanceChecks {
            walk: &self.walk,
            mode: self.options.mode,
            links: self.links(),
        }
    }

    pub(super) fn data_sources(&self) -> DataSources<'_> {
        DataSources {
            walk: &self.walk,
            prior: &self.prior,
            options: &self.options,
            needs: self.needs_computation(),
            checks: self.checks(),
        }
    }

    pub(super) fn removals(&self) -> Removals<'_> {
        Removals {
            walk: &self.walk,
            prior: &self.prior,
            options: &self.options,
            reader: self.reader(),
            progress: &*self.progress,
        }
    }

    pub(super) fn forced(&self) -> ForcedReplacements<'_> {
        ForcedReplacements {
            walk: &self.walk,
            options: &self.options,
        }
    }

    pub(super) fn guards(&self) -> DestroyGuards<'_> {
        let context = &self.walk.context;
        DestroyGuards { context }
    }

    pub(super) fn provisioners(&self) -> ProvisionerCommands<'_> {
        let context = &self.walk.context;
        ProvisionerCommands { context }
    }
}
