//! Table of resource locks: holders, queues and detection of deadlocks. A call holds its locks
//! until it ends; then the next in line gets them. Pure; reports changes to callbacks.

use model::{CallId, PluginId, ResourceLock, UnixMs, now_ms};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Instance and resource, as plugins name them.
pub(super) type Name = (String, String);

/// Request for a lock.
#[derive(Clone)]
pub(super) struct LockRequester {
    /// Number of the call.
    pub(super) number: u64,
    /// Description of the call.
    pub(super) text: String,
    pub(super) plugin: PluginId,
    /// The same call in the events.
    pub(super) call: Option<CallId>,
    /// Part of the call that locks, such as a link; empty if the plugin does not say.
    pub(super) by: String,
    /// Receives each change of a lock that it holds.
    pub(super) on_change: Arc<dyn Fn(ResourceLock) + Send + Sync>,
}

impl LockRequester {
    fn name(&self) -> String {
        match self.by.is_empty() {
            true => self.text.clone(),
            false => format!("{} ({})", self.text, self.by),
        }
    }
}

/// Description of a wait, and the call that blocks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) text: String,
    pub(super) blocker: Option<CallId>,
}

/// Position in the queue for a lock.
pub(super) struct QueuePlace {
    pub(super) ticket: u64,
    pub(super) granted: oneshot::Receiver<()>,
    pub(super) waits: watch::Receiver<Waits>,
}

/// Answer to a request for a lock.
pub(super) enum LockReply {
    Granted,
    Queued(QueuePlace),
    /// The wait would deadlock. `others` are the numbers of the other calls involved.
    Circle {
        text: String,
        others: Vec<u64>,
    },
}

struct Held {
    lock: u64,
    holder: LockRequester,
    /// Calls that hold the lock: the holder, and calls on its behalf that requested it too.
    calls: BTreeSet<u64>,
    since: UnixMs,
    queue: VecDeque<Waiter>,
}

struct Waiter {
    ticket: u64,
    requester: LockRequester,
    grant: oneshot::Sender<()>,
    waits: watch::Sender<Waits>,
}

/// All resource locks, with their holders and queues.
#[derive(Default)]
pub(super) struct Table {
    last: u64,
    held: BTreeMap<Name, Held>,
    /// Running calls, with the call on whose behalf they were made.
    calls: BTreeMap<u64, Option<u64>>,
}

/// Step of a dependency path: a call that must end first, and the reason.
struct Hop<'t> {
    to: u64,
    why: String,
    /// Waiter of this step, if it is a wait.
    waiter: Option<&'t Waiter>,
}

impl Table {
    /// Registers a running call.
    pub(super) fn call_started(&mut self, number: u64, parent: Option<u64>) {
        self.calls.insert(number, parent);
    }

    /// Returns true if `number` is `other` or was made on its behalf.
    fn is_within(&self, number: u64, other: u64) -> bool {
        let mut at = Some(number);
        // Bounded by the depth of calls.
        while let Some(number) = at {
            if number == other {
                return true;
            }
            at = self.calls.get(&number).copied().flatten();
        }
        false
    }

    /// Requests a lock.
    pub(super) fn request(&mut self, name: &Name, asker: LockRequester) -> LockReply {
        let Some(held) = self.held.get(name) else {
            self.grant(name.clone(), asker, VecDeque::new());
            return LockReply::Granted;
        };
        // A nested call shares the lock of its parent: waiting for it would be a deadlock.
        // Different named parts of one call exclude each other.
        let on_behalf = held.calls.iter().any(|h| self.is_within(asker.number, *h));
        let same = asker.by.is_empty() || held.holder.by.is_empty() || asker.by == held.holder.by;
        if on_behalf && same {
            if let Some(held) = self.held.get_mut(name) {
                held.calls.insert(asker.number);
            }
            return LockReply::Granted;
        }
        // Checked at each new wait, before it joins the queue.
        if let Some(circle) = self.find_deadlock(name, &asker) {
            return circle;
        }
        self.last += 1;
        let ticket = self.last;
        let (grant, granted) = oneshot::channel();
        let Some(held) = self.held.get_mut(name) else {
            return LockReply::Granted;
        };
        let (waits, watched) = watch::channel(held.wait_state(name));
        held.queue.push_back(Waiter {
            ticket,
            requester: asker,
            grant,
            waits,
        });
        held.report_lock(name, true);
        LockReply::Queued(QueuePlace {
            ticket,
            granted,
            waits: watched,
        })
    }

    // Also used for a handover, so waiters learn the new holder.
    fn grant(&mut self, name: Name, holder: LockRequester, line: VecDeque<Waiter>) {
        self.last += 1;
        let held = Held {
            lock: self.last,
            calls: [holder.number].into(),
            holder,
            since: now_ms(),
            queue: line,
        };
        for waiter in &held.queue {
            waiter.waits.send_replace(held.wait_state(&name));
        }
        held.report_lock(&name, true);
        self.held.insert(name, held);
    }

    /// Removes a waiter; returns true if it was still waiting.
    pub(super) fn cancel_request(&mut self, name: &Name, ticket: u64) -> bool {
        let Some(held) = self.held.get_mut(name) else {
            return false;
        };
        let before = held.queue.len();
        held.queue.retain(|w| w.ticket != ticket);
        let left = held.queue.len() < before;
        if left {
            held.report_lock(name, true);
        }
        left
    }

    /// Ends a call: its locks go to the next in line.
    pub(super) fn call_ended(&mut self, number: u64) {
        self.calls.remove(&number);
        let its: Vec<Name> = self
            .held
            .iter_mut()
            // A lock is free once the last call that shares it has ended.
            .filter_map(|(name, held)| {
                (held.calls.remove(&number) && held.calls.is_empty()).then(|| name.clone())
            })
            .collect();
        for name in its {
            let Some(mut held) = self.held.remove(&name) else {
                continue;
            };
            let mut line = std::mem::take(&mut held.queue);
            held.report_lock(&name, false);
            // Bounded by the length of the queue. A waiter that has gone cannot receive, so the
            // next one is tried.
            while let Some(next) = line.pop_front() {
                if next.grant.send(()).is_ok() {
                    self.grant(name, next.requester, line);
                    break;
                }
            }
        }
    }

    /// Returns the calls that must end before a lock becomes free: its holders, and the waiters
    /// ahead of `ahead_of`.
    fn blocking_path<'t>(&'t self, name: &Name, ahead_of: Option<u64>) -> Vec<Hop<'t>> {
        let Some(held) = self.held.get(name) else {
            return Vec::new();
        };
        let lock = format!("the lock on {:?}", name.1);
        let holder = held.calls.iter().map(|number| Hop {
            to: *number,
            why: format!("{lock}, held by {}", held.holder.name()),
            waiter: None,
        });
        // Waiters ahead in the queue get the lock first.
        let ahead = held.queue.iter();
        let ahead = ahead.take_while(|w| Some(w.ticket) != ahead_of);
        let ahead = ahead.map(|w| Hop {
            to: w.requester.number,
            why: format!("{lock}, which goes to {} first", w.requester.name()),
            waiter: None,
        });
        holder.chain(ahead).collect()
    }

    /// Returns the calls that must end before this call can end.
    fn before<'t>(&'t self, number: u64) -> Vec<Hop<'t>> {
        let mut hops = Vec::new();
        for (name, held) in &self.held {
            for waiter in held.queue.iter().filter(|w| w.requester.number == number) {
                for hop in self.blocking_path(name, Some(waiter.ticket)) {
                    hops.push(Hop {
                        waiter: Some(waiter),
                        ..hop
                    });
                }
            }
        }
        // A call ends only after the calls made on its behalf.
        let made = self.calls.iter().filter(|(_, p)| **p == Some(number));
        hops.extend(made.map(|(child, _)| Hop {
            to: *child,
            why: "a call made on its behalf".to_owned(),
            waiter: None,
        }));
        hops
    }

    /// Detects a deadlock: the path on which the wait of `asker` leads back to it. Notifies the
    /// waiters on that path.
    fn find_deadlock(&self, name: &Name, asker: &LockRequester) -> Option<LockReply> {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let found = self.blocking_path(name, None).into_iter().find_map(|hop| {
            path.push(hop);
            // Depth-first; `path` holds the current way.
            if self.reaches(asker.number, &mut path, &mut seen) {
                return Some(());
            }
            path.pop();
            None
        });
        found?;
        let steps: Vec<&str> = path.iter().map(|hop| hop.why.as_str()).collect();
        for waiter in path.iter().filter_map(|hop| hop.waiter) {
            let text = waiter.waits.borrow().text.clone();
            let text = format!(
                "{text}; {} requested the lock on {:?} and was refused to prevent a deadlock; deploy again",
                asker.name(),
                name.1
            );
            waiter.waits.send_modify(|waits| waits.text = text);
        }
        let others = path.iter().filter_map(|hop| hop.waiter);
        Some(LockReply::Circle {
            text: format!(
                "{} would deadlock: it would wait for {}",
                asker.name(),
                steps.join(", which waits for ")
            ),
            others: others.map(|w| w.requester.number).collect(),
        })
    }

    /// Returns true if the end of `path` waits for the call `number`; then `path` is the way there.
    fn reaches<'t>(
        &'t self,
        number: u64,
        path: &mut Vec<Hop<'t>>,
        seen: &mut BTreeSet<u64>,
    ) -> bool {
        let Some(at) = path.last().map(|hop| hop.to) else {
            return false;
        };
        if at == number {
            return true;
        }
        // Visits each call once, which bounds the search.
        if !seen.insert(at) {
            return false;
        }
        for hop in self.before(at) {
            path.push(hop);
            if self.reaches(number, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }
}

impl Held {
    fn wait_state(&self, name: &Name) -> Waits {
        Waits {
            text: format!("lock on {:?}, held by {}", name.1, self.holder.name()),
            blocker: self.holder.call,
        }
    }

    fn report_lock(&self, name: &Name, held: bool) {
        (self.holder.on_change)(ResourceLock {
            lock: self.lock,
            name: name.1.clone(),
            holder: self.holder.name(),
            plugin: self.holder.plugin.clone(),
            call: self.holder.call,
            since: self.since,
            waiters: self.queue.iter().map(|w| w.requester.name()).collect(),
            held,
        });
    }
}
