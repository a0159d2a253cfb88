//! Line: queue of calls that wait for a slot. It grants slots in order of arrival, and tells each
//! waiting call which call blocks it. Processes of one configuration share a line; the slots of one
//! process are a bank. When a process is replaced, running calls keep the slots of its bank and new
//! calls get slots of the new bank.

use super::Lane;
use super::ticket::Ticket;
use crate::{CallContext, Method, ProviderError};
use model::mutex::lock;
use model::*;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// Maximum number of waiting calls, from the head of the line, that get an update when their
/// blocker has finished.
const MAX_REPORTS: usize = 64;
/// Minimum wait before a call is reported as waiting; shorter waits are too short to read.
pub(crate) const REPORT_AFTER: Duration = Duration::from_millis(10);

/// Waiting calls, and the slots of all processes that share this line.
#[derive(Default)]
pub(super) struct Line {
    banks: Vec<Bank>,
    /// Number of the last bank; numbers are not reused.
    last: u64,
    waiting: VecDeque<Waiter>,
    /// Notified when a call starts to wait.
    on_wait: Arc<Notify>,
}

/// Slots of one process.
struct Bank {
    number: u64,
    lane: Weak<Lane>,
    /// Holders by slot.
    holders: Vec<Option<Holder>>,
    /// False once its slots are no longer granted.
    open: bool,
    /// Time at which one of its slots was last released.
    moved: Instant,
}

impl Bank {
    fn held_slots(&self) -> usize {
        self.holders.iter().flatten().count()
    }
}

/// Processes, among those of a shared line, whose slots a call may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotsOf {
    Any,
    This,
}

/// One slot of one bank.
pub(super) type Slot = (u64, usize);

/// Granted slot, with the lane it belongs to.
pub(super) type Granted = (Slot, Arc<Lane>);

#[derive(Clone)]
struct Holder {
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<Arc<str>>,
    since: Instant,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.resource {
            Some(resource) => write!(f, "{resource} ({})", self.method),
            None => write!(f, "{}", self.method),
        }
    }
}

struct Waiter {
    pub(super) call: CallId,
    pub(super) method: Method,
    pub(super) resource: Option<Arc<str>>,
    /// Call last reported as its blocker; `None` if nothing was reported.
    reported_blocker: Option<CallId>,
    /// Lane whose slot it needs; `None` accepts any.
    required_lane: Option<Weak<Lane>>,
    grant: oneshot::Sender<Granted>,
}

impl Line {
    /// Adds a bank and starts to grant its slots; returns its number.
    pub(super) fn open(&mut self, lane: Weak<Lane>, slots: u32) -> u64 {
        self.last += 1;
        self.banks.push(Bank {
            number: self.last,
            lane,
            holders: vec![None; slots as usize],
            open: true,
            moved: Instant::now(),
        });
        self.last
    }

    /// Stops granting slots of a bank; held ones stay held until they are released.
    pub(super) fn close(&mut self, number: u64) {
        if let Some(bank) = self.banks.iter_mut().find(|b| b.number == number) {
            bank.open = false;
        }
        self.banks.retain(|b| b.open || b.held_slots() > 0);
    }

    /// Removes a call from the line.
    pub(super) fn remove(&mut self, call: CallId) {
        self.waiting.retain(|w| w.call != call);
    }

    /// Sets the receiver that is notified when a call starts to wait.
    pub(super) fn press(&mut self, told: &Arc<Notify>) {
        self.on_wait = told.clone();
    }

    /// Returns true if a slot is held or waited for.
    pub(super) fn is_used(&self) -> bool {
        !self.waiting.is_empty() || self.banks.iter().any(|b| b.held_slots() > 0)
    }

    pub(super) fn has_waiters(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the call that has held a slot of an open bank longest; the lowest slot on a tie.
    fn longest(&self) -> Option<&Holder> {
        self.holders().min_by_key(|h| h.since)
    }

    fn holders(&self) -> impl Iterator<Item = &Holder> {
        let open = self.banks.iter().filter(|b| b.open);
        open.flat_map(|b| b.holders.iter().flatten())
    }

    /// Returns a free slot of the process with the fewest calls (the first on a tie), or of the
    /// given process.
    fn free(&self, only: Option<&Weak<Lane>>) -> Option<Granted> {
        let open = self.banks.iter().filter(|b| b.open);
        let bank = open
            .filter(|b| only.is_none_or(|lane| lane.ptr_eq(&b.lane)))
            .filter(|b| b.held_slots() < b.holders.len())
            .min_by_key(|b| b.held_slots())?;
        let slot = bank.holders.iter().position(Option::is_none)?;
        // A weak reference, so that the line does not keep lanes of ended processes alive.
        Some(((bank.number, slot), bank.lane.upgrade()?))
    }

    fn set_holder(&mut self, (number, slot): Slot, holder: Option<Holder>) {
        if let Some(bank) = self.banks.iter_mut().find(|b| b.number == number) {
            // Only a release shows progress of the line.
            if holder.is_none() {
                bank.moved = Instant::now();
            }
            bank.holders[slot] = holder;
        }
        // A closed bank is dropped with its last held slot.
        self.banks.retain(|b| b.open || b.held_slots() > 0);
    }

    /// Returns the time at which a slot that such a waiting call could use was last released.
    fn last_release(&self, only: Option<&Weak<Lane>>) -> Option<Instant> {
        let its = |b: &&Bank| only.is_none_or(|lane| lane.ptr_eq(&b.lane));
        self.banks.iter().filter(its).map(|b| b.moved).max()
    }

    /// Grants free slots to waiting calls, in order.
    fn serve(&mut self) {
        let mut at = 0;
        while at < self.waiting.len() {
            let Some((place, lane)) = self.free(self.waiting[at].required_lane.as_ref()) else {
                if self.free(None).is_none() {
                    return;
                }
                // The free slots belong to other processes than the one this call needs.
                at += 1;
                continue;
            };
            let Some(waiter) = self.waiting.remove(at) else {
                return;
            };
            let holder = Holder {
                call: waiter.call,
                method: waiter.method,
                resource: waiter.resource,
                since: Instant::now(),
            };
            self.set_holder(place, Some(holder));
            // The receiver is gone if the call was cancelled; the slot is then free for the next
            // one.
            if waiter.grant.send((place, lane)).is_err() {
                self.set_holder(place, None);
            }
        }
    }
}

impl Lane {
    /// Waits for a slot, in order of arrival.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        (told, whose): (bool, SlotsOf),
    ) -> Result<SlotGuard, ProviderError> {
        let cancelled = || ProviderError::Cancelled {
            plugin: self.plugin.clone(),
            method,
            sent: false,
        };
        // Checked first: a cancelled call must not take a free slot.
        if ctx.cancel.is_cancelled() {
            return Err(cancelled());
        }
        // Some calls depend on the state of one process, such as those for ephemeral resources.
        let only = (whose == SlotsOf::This).then(|| Arc::downgrade(self));
        let receiver = match self.take_slot_or_queue(call, method, ctx, only.clone()) {
            Ok(slot) => return Ok(slot),
            Err(place) => place,
        };
        let queued = Instant::now();
        let mut ticket = Ticket {
            lane: self.clone(),
            call,
            method,
            resource: ctx.resource.clone(),
            queued_at: queued,
            wait_reported: told,
            receiver: Some(receiver),
            stalled: None,
        };
        let Some(receiver) = ticket.receiver.as_mut() else {
            return Err(cancelled());
        };
        let tell = async {
            if told {
                sleep_until(queued + REPORT_AFTER).await;
                self.report_blocker(call);
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            granted = receiver => match granted {
                Ok((place, lane)) => {
                    // The ticket has its slot and must not report the call as finished on drop.
                    ticket.receiver = None;
                    Ok(SlotGuard { lane, place })
                }
                Err(_) => Err(cancelled()),
            },
            () = ctx.cancel.cancelled() => Err(cancelled()),
            never = tell => match never {},
            after = self.wait_until_stalled(queued, only.as_ref()) => {
                let by = self.longest_holder_text();
                let error = ProviderError::NoSlot { plugin: self.plugin.clone(), method, after, by };
                // The ticket reports the end of the call on drop, with this error.
                ticket.stalled = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Reports the blocker of a waiting call, now and on each later change.
    fn report_blocker(&self, call: CallId) {
        let mut line = lock(&self.line);
        let longest = line.longest().cloned();
        if let Some(waiter) = line.waiting.iter_mut().find(|w| w.call == call) {
            waiter.reported_blocker = Some(longest.as_ref().map_or(0, |h| h.call));
            // Emitted under the line's lock, so that no reader sees "waits" after "started".
            self.report_wait(waiter, longest.as_ref());
        }
    }

    /// Completes, with the limit, when no slot that such a call could use was released for too
    /// long.
    async fn wait_until_stalled(&self, queued: Instant, only: Option<&Weak<Lane>>) -> Duration {
        let after = self.shared.line();
        let mut since = queued;
        // Each iteration is a released slot, so the loop ends with the line or the limit.
        loop {
            sleep_until(since + after).await;
            let moved = lock(&self.line).last_release(only).unwrap_or(queued);
            if moved <= since {
                return after;
            }
            since = moved;
        }
    }

    fn longest_holder_text(&self) -> String {
        let line = lock(&self.line);
        line.longest().map_or_else(String::new, |holder| {
            let held = holder.since.elapsed();
            format!(" (held longest: {holder}, for {})", seconds(held))
        })
    }

    /// Takes a free slot, or a position in the line.
    fn take_slot_or_queue(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        only: Option<Weak<Lane>>,
    ) -> Result<SlotGuard, oneshot::Receiver<Granted>> {
        let mut line = lock(&self.line);
        // A free slot can be taken at once: released slots are granted to the head of the line
        // first, so no waiting call could use it.
        if let Some((place, lane)) = line.free(only.as_ref()) {
            let holder = Holder {
                call,
                method,
                resource: ctx.resource.clone(),
                since: Instant::now(),
            };
            line.set_holder(place, Some(holder));
            return Ok(SlotGuard { lane, place });
        }
        let (grant, receiver) = oneshot::channel();
        line.waiting.push_back(Waiter {
            call,
            method,
            resource: ctx.resource.clone(),
            reported_blocker: None,
            required_lane: only,
            grant,
        });
        // The pool may start another process for this line.
        line.on_wait.notify_one();
        Err(receiver)
    }

    fn report_wait(&self, waiter: &Waiter, blocker: Option<&Holder>) {
        let waits_for = match blocker {
            None => format!("slot of {}", self.plugin),
            Some(holder) => format!("slot of {}, held by {holder}", self.plugin),
        };
        self.shared.sink.emit(EventKind::CallQueued(CallQueued {
            call: waiter.call,
            plugin: self.plugin.clone(),
            method: waiter.method.into(),
            resource: waiter.resource.clone(),
            waits_for,
            blocker: blocker.map(|b| b.call),
            deadline_ms: None,
        }));
    }

    /// Releases a slot, which is granted to the first matching waiting call.
    fn release(&self, place: Slot) {
        let mut guard = lock(&self.line);
        guard.set_holder(place, None);
        self.serve(&mut guard);
    }

    /// Grants free slots, and reports new blockers to the head of the line.
    pub(super) fn serve(&self, line: &mut Line) {
        line.serve();
        let Some(longest) = line.longest().filter(|_| line.has_waiters()).cloned() else {
            return;
        };
        let held: Vec<CallId> = line.holders().map(|h| h.call).collect();
        // Limited, because a long line would cause many events per released slot.
        for waiter in line.waiting.iter_mut().take(MAX_REPORTS) {
            // Calls whose blocker still holds its slot need no update.
            if waiter
                .reported_blocker
                .is_some_and(|told| !held.contains(&told))
            {
                waiter.reported_blocker = Some(longest.call);
                self.report_wait(waiter, Some(&longest));
            }
        }
    }
}

/// Held slot; released on drop.
pub(super) struct SlotGuard {
    pub(super) lane: Arc<Lane>,
    pub(super) place: Slot,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.lane.release(self.place);
    }
}

/// All slots of a lane; released on drop.
pub struct Drained {
    pub(super) _slots: Vec<SlotGuard>,
}
