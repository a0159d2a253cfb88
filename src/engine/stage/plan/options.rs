//! Plan options: mode, refresh, forced replacements, limits from targets and excludes, parallelism.

use crate::stage::narrow::StageScope;
use graph::Step;
use lang::addr::AbsInstance;
use model::StageMode;

/// Options of a plan, in addition to the configuration.
pub struct PlanOptions {
    pub mode: StageMode,
    pub refresh: bool,
    pub replace: Vec<AbsInstance>,
    /// Limits from targets and excludes; `None` if everything is staged.
    pub scope: Option<StageScope>,
    pub parallelism: usize,
}

impl PlanOptions {
    /// Returns true if a node is evaluated; other nodes keep their state.
    pub fn evaluates(&self, step: Step) -> bool {
        self.scope.as_ref().is_none_or(|n| n.evaluates(step))
    }

    /// Returns true if an instance is planned.
    pub fn plans(&self, instance: &AbsInstance) -> bool {
        self.scope.as_ref().is_none_or(|n| n.plans(instance))
    }

    /// Returns true if an undeclared or deposed object is removed.
    pub(super) fn removes(&self, instance: &AbsInstance, deposed: bool) -> bool {
        self.scope.as_ref().is_none_or(|n| match self.mode {
            StageMode::Destroy => n.destroys(instance),
            _ if deposed => n.destroys_deposed(instance),
            _ => n.plans(instance),
        })
    }

    /// Returns true if the stage destroys this instance.
    pub(super) fn destroys(&self, instance: &AbsInstance) -> bool {
        self.mode == StageMode::Destroy && self.scope.as_ref().is_none_or(|n| n.destroys(instance))
    }
}
