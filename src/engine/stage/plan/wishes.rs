//! Plan options: mode, refresh, forced replacements, limits from targets and excludes, parallelism.

use crate::engine::graph::Step;
use crate::engine::stage::narrow::Narrow;
use crate::engine::words::StageMode;
use lang::addr::AbsInstance;

/// Options of a plan, in addition to the configuration.
pub struct Wishes {
    pub mode: StageMode,
    pub refresh: bool,
    pub replace: Vec<AbsInstance>,
    /// Limits from targets and excludes; `None` if everything is staged.
    pub narrow: Option<Narrow>,
    pub parallelism: usize,
}

impl Wishes {
    /// Returns true if a node is evaluated; other nodes keep their state.
    pub fn works_out(&self, step: Step) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.works_out(step))
    }

    /// Returns true if an instance is planned.
    pub fn wants(&self, instance: &AbsInstance) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.plans(instance))
    }

    /// Returns true if an undeclared or deposed object is removed.
    pub(super) fn clears(&self, instance: &AbsInstance, deposed: bool) -> bool {
        self.narrow.as_ref().is_none_or(|n| match self.mode {
            StageMode::Destroy => n.destroys(instance),
            _ if deposed => n.clears(instance),
            _ => n.plans(instance),
        })
    }

    /// Returns true if the stage destroys this instance.
    pub(super) fn destroys(&self, instance: &AbsInstance) -> bool {
        self.mode == StageMode::Destroy && self.narrow.as_ref().is_none_or(|n| n.destroys(instance))
    }
}
