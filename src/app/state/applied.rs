//! Deploys of the stage on the screen: a stage is applied once, and what a deploy did not complete
//! needs another stage.

use super::State;
use crate::app::format::count;
use model::ChangeView;
use model::view::DeployView;

impl State {
    /// Returns the deploy of the stage on the screen, running or ended.
    pub fn deploy_of_stage(&self) -> Option<&DeployView> {
        let stage = self.view.stage.as_ref()?.stage;
        self.view.deploy.as_ref().filter(|d| d.stage == stage)
    }

    /// Returns the ended deploy of the stage on the screen.
    pub fn applied(&self) -> Option<&DeployView> {
        self.deploy_of_stage().filter(|d| d.summary.is_some())
    }

    /// Returns true if the deploy of the stage excludes a change, because it was deselected.
    pub fn is_outside(&self, deploy: &DeployView, c: &ChangeView) -> bool {
        let deselected = c.is_selectable() && self.view.left.contains(&c.address);
        deselected && deploy.operation(&c.address).is_none()
    }

    /// Describes the changes of the stage that remain after its deploy. Empty if none do.
    pub fn left_after(&self, deploy: &DeployView) -> Vec<String> {
        let unfinished = deploy.operations.iter().filter(|o| o.is_incomplete());
        let all = self.view.stage.iter().flat_map(|s| &s.changes);
        let outside = all.filter(|c| self.is_outside(deploy, c)).count();
        let unfinished = unfinished.count();
        let mut left = Vec::new();
        if unfinished > 0 {
            left.push(format!("{} not completed", count(unfinished, "change")));
        }
        if outside > 0 {
            left.push(format!("{} not selected", count(outside, "change")));
        }
        left
    }
}
