//! Who holds the lock on which resource, who waits for it, and who would wait for ever. A lock is
//! its call's until that is over, and then the next one's in line. Pure: what is to be told is told
//! to whoever watches.

use crate::engine::words::{CallId, PluginId, ResourceLock, UnixMs, now_ms};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// A resource of an instance, by the names that plugins have for both.
pub(super) type Name = (String, String);

/// Who asks for a lock.
#[derive(Clone)]
pub(super) struct Asker {
    /// The number of the call.
    pub(super) number: u64,
    /// The same in words.
    pub(super) text: String,
    pub(super) plugin: PluginId,
    /// On the board.
    pub(super) call: Option<CallId>,
    /// Which part of the call it is, where the plugin says: a link.
    pub(super) by: String,
    /// Told of each change of a lock that it holds.
    pub(super) tell: Arc<dyn Fn(ResourceLock) + Send + Sync>,
}

impl Asker {
    fn name(&self) -> String {
        match self.by.is_empty() {
            true => self.text.clone(),
            false => format!("{} ({})", self.text, self.by),
        }
    }
}

/// What one waits for, in words, and whose call that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) text: String,
    pub(super) blocker: Option<CallId>,
}

/// A place in the line for a lock.
pub(super) struct Place {
    pub(super) ticket: u64,
    pub(super) granted: oneshot::Receiver<()>,
    pub(super) waits: watch::Receiver<Waits>,
}

/// The answer to one who asks for a lock.
pub(super) enum Asked {
    Granted,
    Waits(Place),
    /// It would wait for ever. The others of the circle, by their numbers.
    Circle {
        text: String,
        others: Vec<u64>,
    },
}

struct Held {
    lock: u64,
    holder: Asker,
    /// The calls that have it: the holder, and those made for it that asked too.
    calls: BTreeSet<u64>,
    since: UnixMs,
    line: VecDeque<Waiter>,
}

struct Waiter {
    ticket: u64,
    asker: Asker,
    grant: oneshot::Sender<()>,
    waits: watch::Sender<Waits>,
}

/// All locks.
#[derive(Default)]
pub(super) struct Table {
    last: u64,
    held: BTreeMap<Name, Held>,
    /// The calls that are under way, with those on whose behalf they were made.
    calls: BTreeMap<u64, Option<u64>>,
}

/// A step of a circle: who ends only after whom, and why.
struct Hop<'t> {
    to: u64,
    why: String,
    /// The waiter, where it is one.
    waiter: Option<&'t Waiter>,
}

impl Table {
    /// A call is under way.
    pub(super) fn begun(&mut self, number: u64, parent: Option<u64>) {
        self.calls.insert(number, parent);
    }

    /// Whether a call is another, or was made on its behalf.
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

    /// Asks for a lock.
    pub(super) fn ask(&mut self, name: &Name, asker: Asker) -> Asked {
        let Some(held) = self.held.get(name) else {
            self.give(name.clone(), asker, VecDeque::new());
            return Asked::Granted;
        };
        let on_behalf = held.calls.iter().any(|h| self.is_within(asker.number, *h));
        let same = asker.by.is_empty() || held.holder.by.is_empty() || asker.by == held.holder.by;
        if on_behalf && same {
            if let Some(held) = self.held.get_mut(name) {
                held.calls.insert(asker.number);
            }
            return Asked::Granted;
        }
        if let Some(circle) = self.circle(name, &asker) {
            return circle;
        }
        self.last += 1;
        let ticket = self.last;
        let (grant, granted) = oneshot::channel();
        let Some(held) = self.held.get_mut(name) else {
            return Asked::Granted;
        };
        let (waits, watched) = watch::channel(held.waits(name));
        held.line.push_back(Waiter {
            ticket,
            asker,
            grant,
            waits,
        });
        held.tell(name, true);
        Asked::Waits(Place {
            ticket,
            granted,
            waits: watched,
        })
    }

    fn give(&mut self, name: Name, holder: Asker, line: VecDeque<Waiter>) {
        self.last += 1;
        let held = Held {
            lock: self.last,
            calls: [holder.number].into(),
            holder,
            since: now_ms(),
            line,
        };
        for waiter in &held.line {
            waiter.waits.send_replace(held.waits(&name));
        }
        held.tell(&name, true);
        self.held.insert(name, held);
    }

    /// One does not wait any more; whether it still did.
    pub(super) fn leave(&mut self, name: &Name, ticket: u64) -> bool {
        let Some(held) = self.held.get_mut(name) else {
            return false;
        };
        let before = held.line.len();
        held.line.retain(|w| w.ticket != ticket);
        let left = held.line.len() < before;
        if left {
            held.tell(name, true);
        }
        left
    }

    /// A call is over: its locks go to those who wait for them.
    pub(super) fn over(&mut self, number: u64) {
        self.calls.remove(&number);
        let its: Vec<Name> = self
            .held
            .iter_mut()
            .filter_map(|(name, held)| {
                (held.calls.remove(&number) && held.calls.is_empty()).then(|| name.clone())
            })
            .collect();
        for name in its {
            let Some(mut held) = self.held.remove(&name) else {
                continue;
            };
            let mut line = std::mem::take(&mut held.line);
            held.tell(&name, false);
            // Bounded by those in line.
            while let Some(next) = line.pop_front() {
                if next.grant.send(()).is_ok() {
                    self.give(name, next.asker, line);
                    break;
                }
            }
        }
    }

    /// Who ends only after whom, beginning with those in the way of a lock.
    fn in_the_way<'t>(&'t self, name: &Name, ahead_of: Option<u64>) -> Vec<Hop<'t>> {
        let Some(held) = self.held.get(name) else {
            return Vec::new();
        };
        let lock = format!("the lock on {:?}", name.1);
        let holder = held.calls.iter().map(|number| Hop {
            to: *number,
            why: format!("{lock}, held by {}", held.holder.name()),
            waiter: None,
        });
        let ahead = held.line.iter();
        let ahead = ahead.take_while(|w| Some(w.ticket) != ahead_of);
        let ahead = ahead.map(|w| Hop {
            to: w.asker.number,
            why: format!("{lock}, which goes to {} first", w.asker.name()),
            waiter: None,
        });
        holder.chain(ahead).collect()
    }

    /// What a call waits for before it can end.
    fn before<'t>(&'t self, number: u64) -> Vec<Hop<'t>> {
        let mut hops = Vec::new();
        for (name, held) in &self.held {
            for waiter in held.line.iter().filter(|w| w.asker.number == number) {
                for hop in self.in_the_way(name, Some(waiter.ticket)) {
                    hops.push(Hop {
                        waiter: Some(waiter),
                        ..hop
                    });
                }
            }
        }
        let made = self.calls.iter().filter(|(_, p)| **p == Some(number));
        hops.extend(made.map(|(child, _)| Hop {
            to: *child,
            why: "a call made on its behalf".to_owned(),
            waiter: None,
        }));
        hops
    }

    /// Why the asker would wait for ever, where it would. Those who wait for it are told.
    fn circle(&self, name: &Name, asker: &Asker) -> Option<Asked> {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let found = self.in_the_way(name, None).into_iter().find_map(|hop| {
            path.push(hop);
            if self.leads_to(asker.number, &mut path, &mut seen) {
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
                "{text}; {} requested the lock on {:?} and was refused to prevent a deadlock",
                asker.name(),
                name.1
            );
            waiter.waits.send_modify(|waits| waits.text = text);
        }
        let others = path.iter().filter_map(|hop| hop.waiter);
        Some(Asked::Circle {
            text: format!(
                "{} would deadlock: it would wait for {}",
                asker.name(),
                steps.join(", which waits for ")
            ),
            others: others.map(|w| w.asker.number).collect(),
        })
    }

    /// Whether what the path leads to ends only after this call; the path is the way there then.
    fn leads_to<'t>(
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
        // Each call is looked at once.
        if !seen.insert(at) {
            return false;
        }
        for hop in self.before(at) {
            path.push(hop);
            if self.leads_to(number, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }
}

impl Held {
    fn waits(&self, name: &Name) -> Waits {
        Waits {
            text: format!("lock on {:?}, held by {}", name.1, self.holder.name()),
            blocker: self.holder.call,
        }
    }

    fn tell(&self, name: &Name, held: bool) {
        (self.holder.tell)(ResourceLock {
            lock: self.lock,
            name: name.1.clone(),
            holder: self.holder.name(),
            plugin: self.holder.plugin.clone(),
            call: self.holder.call,
            since: self.since,
            waiters: self.line.iter().map(|w| w.asker.name()).collect(),
            held,
        });
    }
}
