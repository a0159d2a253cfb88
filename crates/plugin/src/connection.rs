//! Connection to a launched process, with a token that is cancelled when the process ends. Created
//! by the launch, ended by the supervisor, cloned by callers.

use super::lifecycle::Link;
use std::any::Any;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Connection to a plugin that is ready for calls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connection {
    link: Arc<dyn Link>,
    /// Number of the process, counted from 1 over all launches of this plugin. Incidents name it.
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

    /// Returns the dialect's link to the process, or `None` if it belongs to another dialect.
    #[must_use]
    pub fn link<L: Link>(&self) -> Option<&L> {
        (&*self.link as &dyn Any).downcast_ref()
    }

    pub(super) fn raw_link(&self) -> &dyn Link {
        &*self.link
    }

    /// Returns true while calls reach the process: it has not ended, closed its connection or
    /// deregistered.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.ended.is_cancelled() && !self.link.lost_token().is_cancelled()
    }

    /// Returns a token that is cancelled when the process has ended, was stopped or crashed.
    #[must_use]
    pub fn end_token(&self) -> &CancellationToken {
        &self.ended
    }
}
