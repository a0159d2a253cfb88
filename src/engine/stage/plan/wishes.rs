//! What is asked of the planning walk besides the configuration.

use crate::engine::graph::Step;
use crate::engine::stage::narrow::Narrow;
use crate::engine::words::StageMode;
use lang::addr::AbsInstance;

/// What is asked of the planning walk besides the configuration.
pub struct Wishes {
    pub mode: StageMode,
    pub refresh: bool,
    pub replace: Vec<AbsInstance>,
    /// What targets and excludes leave; `None` where all of it is staged.
    pub narrow: Option<Narrow>,
    pub parallelism: usize,
}

impl Wishes {
    /// Whether a node is worked out; where it is not, what the state has stays.
    pub fn works_out(&self, step: Step) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.works_out(step))
    }

    /// Whether an instance is to be planned.
    pub fn wants(&self, instance: &AbsInstance) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.plans(instance))
    }

    /// Whether an object that is there no longer by the configuration goes: an instance's only one,
    /// or a left-over one.
    pub(super) fn clears(&self, instance: &AbsInstance, deposed: bool) -> bool {
        self.narrow.as_ref().is_none_or(|n| match self.mode {
            StageMode::Destroy => n.destroys(instance),
            _ if deposed => n.clears(instance),
            _ => n.plans(instance),
        })
    }

    /// Whether all of the state is to be destroyed, or this instance of it.
    pub(super) fn destroys(&self, instance: &AbsInstance) -> bool {
        self.mode == StageMode::Destroy && self.narrow.as_ref().is_none_or(|n| n.destroys(instance))
    }
}
