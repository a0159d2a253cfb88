//! Who holds a lane's slots and who waits for one, first come, first served; and what those who wait
//! are told.

use super::Lane;
use crate::engine::calls::{CallContext, Method, ProviderError};
use crate::engine::mutex::lock;
use crate::engine::words::*;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How many waiters are told again what they wait for when the one they waited for is done: those
/// at the head of the line.
const TOLD_AGAIN: usize = 64;

#[derive(Default)]
pub(super) struct Line {
    /// By slot.
    holders: Vec<Option<Holder>>,
    waiting: VecDeque<Waiter>,
}

#[derive(Clone)]
struct Holder {
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<String>,
    since: Instant,
}

struct Waiter {
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<String>,
    /// The call that it was last told it waits for; `None` for one who is not told.
    told: Option<CallId>,
    grant: oneshot::Sender<usize>,
}

impl Line {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            holders: vec![None; slots as usize],
            waiting: VecDeque::new(),
        }
    }

    /// The call that has held its slot longest; the first slot's among equals.
    fn longest(&self) -> Option<&Holder> {
        self.holders.iter().flatten().min_by_key(|h| h.since)
    }
}

impl Lane {
    /// A slot, once all who came earlier have had theirs.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        told: bool,
    ) -> Result<SlotGuard, ProviderError> {
        let cancelled = || ProviderError::Cancelled {
            plugin: self.plugin.clone(),
            method,
            sent: false,
        };
        if ctx.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let receiver = match self.slot_or_place(call, method, ctx, told) {
            Ok(slot) => return Ok(slot),
            Err(place) => place,
        };
        let mut ticket = Ticket {
            lane: self.clone(),
            call,
            method,
            resource: ctx.resource.clone(),
            queued: Instant::now(),
            told,
            receiver: Some(receiver),
        };
        let Some(receiver) = ticket.receiver.as_mut() else {
            return Err(cancelled());
        };
        tokio::select! {
            biased;
            granted = receiver => match granted {
                Ok(slot) => {
                    ticket.receiver = None;
                    Ok(SlotGuard { lane: self.clone(), slot })
                }
                Err(_) => Err(cancelled()),
            },
            () = ctx.cancel.cancelled() => Err(cancelled()),
        }
    }

    /// A slot where one is free, else a place in the line.
    fn slot_or_place(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        told: bool,
    ) -> Result<SlotGuard, oneshot::Receiver<usize>> {
        let mut line = lock(&self.line);
        // Free slots and waiters never exist together: a slot that is given back goes to the head
        // of the line.
        if let Some(slot) = line.holders.iter().position(Option::is_none) {
            line.holders[slot] = Some(Holder {
                call,
                method,
                resource: ctx.resource.clone(),
                since: Instant::now(),
            });
            return Ok(SlotGuard {
                lane: self.clone(),
                slot,
            });
        }
        let (grant, receiver) = oneshot::channel();
        let blocker = told.then(|| line.longest().map_or(0, |h| h.call));
        line.waiting.push_back(Waiter {
            call,
            method,
            resource: ctx.resource.clone(),
            told: blocker,
            grant,
        });
        if let Some(waiter) = line.waiting.back().filter(|_| told) {
            // Under the lane's lock, so that no reader sees "waits" after "started".
            self.tell(waiter, line.longest());
        }
        Err(receiver)
    }

    fn tell(&self, waiter: &Waiter, blocker: Option<&Holder>) {
        let waits_for = match blocker {
            None => format!("slot of {}", self.plugin),
            Some(Holder {
                method,
                resource: Some(resource),
                ..
            }) => format!("slot of {}, held by {resource} ({method})", self.plugin),
            Some(Holder {
                method,
                resource: None,
                ..
            }) => format!("slot of {}, held by {method}", self.plugin),
        };
        self.shared.sink.emit(EventKind::CallQueued(CallQueued {
            call: waiter.call,
            plugin: self.plugin.clone(),
            method: waiter.method.name().to_owned(),
            resource: waiter.resource.clone(),
            waits_for,
            blocker: blocker.map(|b| b.call),
            deadline_ms: None,
        }));
    }

    /// Hands a slot to the first who still waits for it, and tells those at the head of the line
    /// whom they wait for now.
    fn release(&self, slot: usize) {
        let mut guard = lock(&self.line);
        let line = &mut *guard;
        line.holders[slot] = None;
        while let Some(Waiter {
            call,
            method,
            resource,
            grant,
            ..
        }) = line.waiting.pop_front()
        {
            line.holders[slot] = Some(Holder {
                call,
                method,
                resource,
                since: Instant::now(),
            });
            if grant.send(slot).is_ok() {
                break;
            }
            line.holders[slot] = None;
        }
        let Some(longest) = line.longest().cloned() else {
            return;
        };
        for waiter in line.waiting.iter_mut().take(TOLD_AGAIN) {
            if waiter
                .told
                .is_some_and(|told| !line.holders.iter().flatten().any(|h| h.call == told))
            {
                waiter.told = Some(longest.call);
                self.tell(waiter, Some(&longest));
            }
        }
    }
}

/// A held slot; given back when dropped.
pub(super) struct SlotGuard {
    pub(super) lane: Arc<Lane>,
    pub(super) slot: usize,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.lane.release(self.slot);
    }
}

/// All slots of a lane; given back when dropped.
pub struct Drained {
    pub(super) _slots: Vec<SlotGuard>,
}

/// A place in the line. Dropped without a slot, the call is over and reported so.
struct Ticket {
    pub(super) lane: Arc<Lane>,
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<String>,
    pub(super) queued: Instant,
    told: bool,
    receiver: Option<oneshot::Receiver<usize>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(mut receiver) = self.receiver.take() else {
            return;
        };
        let granted = {
            let mut line = lock(&self.lane.line);
            line.waiting.retain(|w| w.call != self.call);
            receiver.close();
            // Granted in the meantime: it goes on to the next.
            receiver.try_recv().ok()
        };
        if self.told {
            self.report();
        }
        if let Some(slot) = granted {
            self.lane.release(slot);
        }
    }
}

impl Ticket {
    pub(super) fn report(&mut self) {
        self.lane
            .shared
            .sink
            .emit(EventKind::CallFinished(CallFinished {
                call: self.call,
                plugin: self.lane.plugin.clone(),
                method: self.method.name().to_owned(),
                resource: self.resource.take(),
                resource_type: None,
                action: None,
                took_ms: self.queued.elapsed().as_millis() as u64,
                outcome: CallOutcome::Cancelled,
                error: Some("cancelled while it waited for its turn".to_owned()),
                again: None,
                measured: None,
            }));
    }
}
