//! Position of a waiting call in the line; dropping it leaves the line.

use super::Lane;
use super::slot_queue::{Granted, SlotGuard};
use crate::Method;
use model::mutex::lock;
use model::*;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Position in the line. If dropped without a slot, the call is reported as finished.
pub(super) struct Ticket {
    pub(super) lane: Arc<Lane>,
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<Arc<str>>,
    pub(super) queued_at: Instant,
    pub(super) wait_reported: bool,
    pub(super) receiver: Option<oneshot::Receiver<Granted>>,
    /// Error text, if the line did not move for too long.
    pub(super) stalled: Option<String>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(mut receiver) = self.receiver.take() else {
            return;
        };
        let granted = {
            let mut line = lock(&self.lane.line);
            // Under the lock: the slot is granted either before this or not at all.
            line.remove(self.call);
            receiver.close();
            // A slot granted in the meantime is released to the next call.
            receiver.try_recv().ok()
        };
        if self.wait_reported {
            self.report();
        }
        // After the lock is released, because releasing a slot takes it again.
        drop(granted.map(|(place, lane)| SlotGuard { lane, place }));
    }
}

impl Ticket {
    fn report(&mut self) {
        let (outcome, error) = match self.stalled.take() {
            Some(text) => (CallOutcome::Deadline, text),
            None => {
                let text = "cancelled while waiting for a slot";
                (CallOutcome::Cancelled, text.to_owned())
            }
        };
        self.lane
            .shared
            .sink
            .emit(EventKind::CallFinished(CallFinished {
                call: self.call,
                plugin: self.lane.plugin.clone(),
                method: self.method.into(),
                resource: self.resource.take(),
                resource_type: None,
                action: None,
                took_ms: self.queued_at.elapsed().as_millis() as u64,
                outcome,
                error: Some(error),
                again: None,
                covers: false,
                measured: None,
            }));
    }
}
