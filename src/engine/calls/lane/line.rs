//! Who holds slots and who waits for one, first come, first served; and what those who wait are
//! told. The slots of one process are a bank. Processes that serve the same have one line in
//! common, and one that is replaced keeps what is held of its bank, while the line goes to the bank
//! of the other.

use super::Lane;
use super::ticket::Ticket;
use crate::engine::calls::{CallContext, Method, ProviderError};
use crate::engine::mutex::lock;
use crate::engine::words::*;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// How many waiters are told again what they wait for when the one they waited for is done: those
/// at the head of the line.
const TOLD_AGAIN: usize = 64;
/// Who has waited for less is not told what for: nobody could read it.
pub(in crate::engine::calls) const UNTOLD: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Line {
    banks: Vec<Bank>,
    /// Numbers of banks are given once.
    last: u64,
    waiting: VecDeque<Waiter>,
    /// Is told when somebody begins to wait.
    presses: Arc<Notify>,
}

/// The slots of one process.
struct Bank {
    number: u64,
    lane: Weak<Lane>,
    /// By slot.
    holders: Vec<Option<Holder>>,
    /// Whether its slots are given to anybody any more.
    open: bool,
    /// When one of them became free last.
    moved: Instant,
}

impl Bank {
    fn held(&self) -> usize {
        self.holders.iter().flatten().count()
    }
}

/// By which of the processes that have a line in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::calls) enum Whose {
    Any,
    This,
}

/// One slot of one bank.
pub(super) type Place = (u64, usize);

/// A slot that somebody has, and whose it is.
pub(super) type Granted = (Place, Arc<Lane>);

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
    /// The call that it was last told it waits for; `None` for one who is not told, or not yet.
    told: Option<CallId>,
    /// Whose slot it must be, where it may not be any.
    only: Option<Weak<Lane>>,
    grant: oneshot::Sender<Granted>,
}

impl Line {
    /// One more bank, whose slots are given from now on; the answer is its number.
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

    /// What is held of a bank is held on, and nobody else gets of it.
    pub(super) fn close(&mut self, number: u64) {
        if let Some(bank) = self.banks.iter_mut().find(|b| b.number == number) {
            bank.open = false;
        }
        self.banks.retain(|b| b.open || b.held() > 0);
    }

    /// One who waits does it no more.
    pub(super) fn leave(&mut self, call: CallId) {
        self.waiting.retain(|w| w.call != call);
    }

    /// Who is told when somebody begins to wait.
    pub(super) fn press(&mut self, told: &Arc<Notify>) {
        self.presses = told.clone();
    }

    /// Whether a slot is held or waited for.
    pub(super) fn is_used(&self) -> bool {
        !self.waiting.is_empty() || self.banks.iter().any(|b| b.held() > 0)
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The call that has held its slot longest, of those that somebody gets; the first slot's among
    /// equals.
    fn longest(&self) -> Option<&Holder> {
        self.holders().min_by_key(|h| h.since)
    }

    fn holders(&self) -> impl Iterator<Item = &Holder> {
        let open = self.banks.iter().filter(|b| b.open);
        open.flat_map(|b| b.holders.iter().flatten())
    }

    /// A slot of the process that has the fewest calls, the first one's among equals; or of this
    /// very one.
    fn free(&self, only: Option<&Weak<Lane>>) -> Option<Granted> {
        let open = self.banks.iter().filter(|b| b.open);
        let bank = open
            .filter(|b| only.is_none_or(|lane| lane.ptr_eq(&b.lane)))
            .filter(|b| b.held() < b.holders.len())
            .min_by_key(|b| b.held())?;
        let slot = bank.holders.iter().position(Option::is_none)?;
        Some(((bank.number, slot), bank.lane.upgrade()?))
    }

    fn put(&mut self, (number, slot): Place, holder: Option<Holder>) {
        if let Some(bank) = self.banks.iter_mut().find(|b| b.number == number) {
            if holder.is_none() {
                bank.moved = Instant::now();
            }
            bank.holders[slot] = holder;
        }
        self.banks.retain(|b| b.open || b.held() > 0);
    }

    /// When a slot became free last that such a waiter could have had, in its order.
    fn moved(&self, only: Option<&Weak<Lane>>) -> Option<Instant> {
        let its = |b: &&Bank| only.is_none_or(|lane| lane.ptr_eq(&b.lane));
        self.banks.iter().filter(its).map(|b| b.moved).max()
    }

    /// Gives free slots to those who wait, in their order.
    fn serve(&mut self) {
        let mut at = 0;
        while at < self.waiting.len() {
            let Some((place, lane)) = self.free(self.waiting[at].only.as_ref()) else {
                if self.free(None).is_none() {
                    return;
                }
                // What is free is not of the process that this one waits for.
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
            self.put(place, Some(holder));
            if waiter.grant.send((place, lane)).is_err() {
                self.put(place, None);
            }
        }
    }
}

impl Lane {
    /// A slot, once all who came earlier have had theirs.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        (told, whose): (bool, Whose),
    ) -> Result<SlotGuard, ProviderError> {
        let cancelled = || ProviderError::Cancelled {
            plugin: self.plugin.clone(),
            method,
            sent: false,
        };
        if ctx.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let only = (whose == Whose::This).then(|| Arc::downgrade(self));
        let receiver = match self.slot_or_place(call, method, ctx, only.clone()) {
            Ok(slot) => return Ok(slot),
            Err(place) => place,
        };
        let queued = Instant::now();
        let mut ticket = Ticket {
            lane: self.clone(),
            call,
            method,
            resource: ctx.resource.clone(),
            queued,
            told,
            receiver: Some(receiver),
            stood: None,
        };
        let Some(receiver) = ticket.receiver.as_mut() else {
            return Err(cancelled());
        };
        let tell = async {
            if told {
                sleep_until(queued + UNTOLD).await;
                self.begin_to_tell(call);
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            granted = receiver => match granted {
                Ok((place, lane)) => {
                    ticket.receiver = None;
                    Ok(SlotGuard { lane, place })
                }
                Err(_) => Err(cancelled()),
            },
            () = ctx.cancel.cancelled() => Err(cancelled()),
            never = tell => match never {},
            after = self.stands(queued, only.as_ref()) => {
                let by = self.longest_in_words();
                let error = ProviderError::NoTurn { plugin: self.plugin.clone(), method, after, by };
                ticket.stood = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Tells one who waits for whom, now and whenever that changes.
    fn begin_to_tell(&self, call: CallId) {
        let mut line = lock(&self.line);
        let longest = line.longest().cloned();
        if let Some(waiter) = line.waiting.iter_mut().find(|w| w.call == call) {
            waiter.told = Some(longest.as_ref().map_or(0, |h| h.call));
            // Under the lane's lock, so that no reader sees "waits" after "started".
            self.tell(waiter, longest.as_ref());
        }
    }

    /// Ends when no slot that such a waiter could have had has become free for too long, and with
    /// how long that is.
    async fn stands(&self, queued: Instant, only: Option<&Weak<Lane>>) -> Duration {
        let after = self.shared.line();
        let mut since = queued;
        // Each turn is a slot that somebody before it was given: a line has an end.
        loop {
            sleep_until(since + after).await;
            let moved = lock(&self.line).moved(only).unwrap_or(queued);
            if moved <= since {
                return after;
            }
            since = moved;
        }
    }

    fn longest_in_words(&self) -> String {
        let line = lock(&self.line);
        line.longest().map_or_else(String::new, |holder| {
            let held = holder.since.elapsed();
            format!(" (held longest: {holder}, for {})", seconds(held))
        })
    }

    /// A slot where one is free, else a place in the line.
    fn slot_or_place(
        self: &Arc<Self>,
        call: CallId,
        method: Method,
        ctx: &CallContext,
        only: Option<Weak<Lane>>,
    ) -> Result<SlotGuard, oneshot::Receiver<Granted>> {
        let mut line = lock(&self.line);
        // What is free is for none of those who wait: a slot that is given back goes to the head of
        // the line.
        if let Some((place, lane)) = line.free(only.as_ref()) {
            let holder = Holder {
                call,
                method,
                resource: ctx.resource.clone(),
                since: Instant::now(),
            };
            line.put(place, Some(holder));
            return Ok(SlotGuard { lane, place });
        }
        let (grant, receiver) = oneshot::channel();
        line.waiting.push_back(Waiter {
            call,
            method,
            resource: ctx.resource.clone(),
            told: None,
            only,
            grant,
        });
        line.presses.notify_one();
        Err(receiver)
    }

    fn tell(&self, waiter: &Waiter, blocker: Option<&Holder>) {
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

    /// Gives a slot back, which goes to the first who still waits, and tells those at the head of
    /// the line whom they wait for now.
    fn release(&self, place: Place) {
        let mut guard = lock(&self.line);
        guard.put(place, None);
        self.serve(&mut guard);
    }

    /// Gives what is free to those who wait, and tells the others.
    pub(super) fn serve(&self, line: &mut Line) {
        line.serve();
        let Some(longest) = line.longest().filter(|_| line.is_waited_for()).cloned() else {
            return;
        };
        let held: Vec<CallId> = line.holders().map(|h| h.call).collect();
        for waiter in line.waiting.iter_mut().take(TOLD_AGAIN) {
            if waiter.told.is_some_and(|told| !held.contains(&told)) {
                waiter.told = Some(longest.call);
                self.tell(waiter, Some(&longest));
            }
        }
    }
}

/// A held slot; given back when dropped.
pub(super) struct SlotGuard {
    pub(super) lane: Arc<Lane>,
    pub(super) place: Place,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.lane.release(self.place);
    }
}

/// All slots of a lane; given back when dropped.
pub struct Drained {
    pub(super) _slots: Vec<SlotGuard>,
}
