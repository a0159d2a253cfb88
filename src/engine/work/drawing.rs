//! Renders graphs in DOT, of a configuration or of a stage in a file.

use super::reading::nodes;
use super::same::Purpose;
use super::verb::Work;
use crate::engine::error::EngineError;
use crate::engine::stage::drawing::Drawing;
use crate::engine::stage::nodes::Nodes;
use crate::engine::stage::prior::PriorState;
use crate::engine::stage::steps;
use crate::engine::told::tell_all;
use crate::engine::words::*;
use std::collections::BTreeSet;

impl Work {
    /// Renders a graph in DOT.
    pub async fn draw(
        &self,
        what: DrawnGraph,
        request: StageRequest,
    ) -> Result<String, EngineError> {
        let _turn = self.turn.lock().await;
        let switches = self.begin();
        let drawn = match what {
            DrawnGraph::Plan => {
                let nodes = self.nodes_of(&request).await;
                nodes.map(|nodes| Drawing::of_plan(&nodes))
            }
            DrawnGraph::NoChanges => {
                let nodes = self.nodes_of(&request).await;
                nodes.map(|nodes| Drawing::of_no_changes(&nodes))
            }
            DrawnGraph::Destruction => self.draw_destruction(&request).await,
            DrawnGraph::Deploy(text) => self.draw_deploy(text).await,
        };
        self.end();
        if switches.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        Ok(drawn?.text())
    }

    async fn nodes_of(&self, request: &StageRequest) -> Result<Nodes, EngineError> {
        let loaded = self.read_with(request, true).await?;
        let state = self.state().await?;
        let (root, schemas, sought) = self.providers(&loaded, &state, &self.current()).await?;
        let mut prior = PriorState::new(&state);
        prior.translate(&sought.found);
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
        let file = self.opened(text).await?;
        let id = file.id();
        let staged = self.restored(file.record(id)?, Purpose::Look).await?;
        let state = self.state().await?;
        let mut prior = PriorState::new(&state);
        prior.translate(&staged.meant);
        let nodes = nodes(&staged.root, &staged.schemas, &prior);
        let stage = &staged.stage;
        let all: BTreeSet<usize> = (0..stage.changes.len())
            .filter(|&i| {
                steps::acts(&stage.changes[i]) && !stage.left.contains(&stage.changes[i].id())
            })
            .collect();
        let outputs: Vec<_> = stage.outputs.iter().collect();
        let ends = steps::ends(&nodes, &stage.request, &outputs);
        match steps::build(&nodes, &stage.changes, &all, &ends) {
            Ok(steps) => Ok(Drawing::of_deploy(&nodes, &steps, &stage.changes)),
            Err(cycle) => {
                let told = tell_all([&cycle], &staged.loaded.sources, self.pool.secrets());
                Err(EngineError::Diagnostics(told))
            }
        }
    }
}
