//! Renders graphs in DOT, of a configuration or of a stage in a file.

use super::command::Operations;
use super::reading::nodes;
use super::stale_check::Purpose;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::stage::dot_graph::Drawing;
use crate::stage::nodes::Nodes;
use crate::stage::prior::PriorState;
use crate::stage::steps;
use model::*;
use std::collections::BTreeSet;

impl Operations {
    /// Renders a graph in DOT.
    pub async fn render_graph(
        &self,
        what: DrawnGraph,
        request: StageRequest,
    ) -> Result<String, EngineError> {
        let command = self.begin().await;
        let drawn = match what {
            DrawnGraph::Plan => {
                let nodes = self.nodes_of(&request).await;
                nodes.map(|nodes| Drawing::of_plan(&nodes))
            }
            DrawnGraph::NoChanges => {
                let nodes = self.nodes_of(&request).await;
                nodes.map(|nodes| Drawing::without_changes(&nodes))
            }
            DrawnGraph::Destruction => self.draw_destruction(&request).await,
            DrawnGraph::Deploy(text) => self.draw_deploy(text).await,
        };
        if command.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        Ok(drawn?.text())
    }

    async fn nodes_of(&self, request: &StageRequest) -> Result<Nodes, EngineError> {
        let loaded = self.read_with(request, true).await?;
        let state = self.state().await?;
        let (root, schemas, sought) = self.providers(&loaded, &state, &self.current()).await?;
        let mut prior = PriorState::new(&state);
        prior.translate(&sought.resolved);
        Ok(nodes(&root, &schemas, &prior))
    }

    async fn draw_destruction(&self, request: &StageRequest) -> Result<Drawing, EngineError> {
        let loaded = self.read_with(request, true).await?;
        let state = self.state().await?;
        Ok(Drawing::of_destruction(
            &loaded.root,
            &PriorState::new(&state),
        ))
    }

    async fn draw_deploy(&self, text: String) -> Result<Drawing, EngineError> {
        let file = self.read_plan_file(text).await?;
        let id = file.id();
        let staged = self.restored(file.record(id)?, Purpose::Display).await?;
        let state = self.state().await?;
        let mut prior = PriorState::new(&state);
        prior.translate(&staged.resolved_providers);
        let nodes = nodes(&staged.root, &staged.schemas, &prior);
        let stage = &staged.stage;
        let all: BTreeSet<usize> = (0..stage.changes.len())
            .filter(|&i| {
                steps::has_effect(&stage.changes[i])
                    && !stage.deselected.contains(&stage.changes[i].id())
            })
            .collect();
        let outputs: Vec<_> = stage.outputs.iter().collect();
        let ends = steps::ends(&nodes, &stage.request, &outputs);
        match steps::build_by_resource(&nodes, &stage.changes, &all, &ends) {
            Ok(steps) => Ok(Drawing::of_deploy(&nodes, &steps, &stage.changes)),
            Err(cycle) => {
                let told = convert_all([&cycle], &staged.loaded.sources, self.pool.secrets());
                Err(EngineError::Diagnostics(told))
            }
        }
    }
}
