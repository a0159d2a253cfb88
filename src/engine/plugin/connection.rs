//! What a launch ends in when it goes well: the way to call the process, and word of its end. Made
//! by the launch, ended by the supervisor, held by whoever calls.

use super::life::Link;
use std::any::Any;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A plugin that can be called. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connection {
    link: Arc<dyn Link>,
    /// Which process of this plugin it is, counted from 1 over all launches. An incident names it.
    pub generation: u64,
    pub pid: Option<u32>,
    ended: CancellationToken,
}

impl Connection {
    pub(super) fn new(link: Box<dyn Link>, generation: u64, pid: Option<u32>) -> Self {
        Self {
            link: link.into(),
            generation,
            pid,
            ended: CancellationToken::new(),
        }
    }

    /// The way to the process as its dialect made it; `None` where it is another dialect's.
    #[must_use]
    pub fn link<L: Link>(&self) -> Option<&L> {
        (&*self.link as &dyn Any).downcast_ref()
    }

    pub(super) fn way(&self) -> &dyn Link {
        &*self.link
    }

    /// Whether calls still reach the process: it has not ended, closed its connection or
    /// deregistered.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.ended.is_cancelled() && !self.link.lost().is_cancelled()
    }

    /// Cancelled when the process has ended, was stopped or crashed.
    #[must_use]
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}
