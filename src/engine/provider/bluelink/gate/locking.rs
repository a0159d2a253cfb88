//! Waits for resource locks. A wait is reported as a call with its blocker, and ends with the lock,
//! a timeout, or the end of its call. A wait that would deadlock is refused at once.

use super::book::{Asking, Gate};
use super::locks::{Asked, Asker, Name, Place};
use crate::engine::calls::Standing;
use crate::engine::mutex::lock;
use crate::engine::provider::bluelink::neighbours::refused;
use crate::engine::words::{EventKind, seconds};
use proto::bluelink::pluginservicev1::AcquireResourceLockRequest;
use proto::bluelink::sharedtypesv1::ErrorResponse;
use std::pin::pin;
use std::sync::Arc;
use tokio::time::sleep;

/// Position in a queue; left when dropped.
struct InLine<'g> {
    gate: &'g Gate,
    name: Name,
    ticket: u64,
}

impl InLine<'_> {
    /// Leaves the queue; false if it was not in it any more.
    fn leave(&self) -> bool {
        lock(&self.gate.book).locks.leave(&self.name, self.ticket)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Gate {
    /// Locks a resource for the plugin with this id, until its call ends.
    pub(in super::super) async fn acquire(
        &self,
        id: &str,
        said: AcquireResourceLockRequest,
    ) -> Result<(), ErrorResponse> {
        if said.resource_name.is_empty() {
            return Err(refused("the request names no resource to lock".into()));
        }
        let what = format!("lock {:?} for plugins", said.resource_name);
        // The token keeps the requesting call from ending before the lock is granted or refused.
        let (asking, _until_done) = self.asking(id, said.context.as_ref(), &what)?;
        let standing = asking.lane.standing("AcquireResourceLock", asking.text());
        let asker = asker(&asking, said.acquired_by);
        // Plugins may know the resource by a name from a link.
        let name = (said.instance_id, self.address(said.resource_name));
        let locked = self.acquired(&asking, asker, name, &standing).await;
        standing.answered(locked.as_ref().err().map(|e| e.message.as_str()));
        locked
    }

    /// Locks a resource for a call of the host, until that call ends; `by` names the part of the
    /// call that holds it.
    pub(in super::super) async fn hold(
        &self,
        asking: &Arc<Asking>,
        resource: &str,
        by: &str,
    ) -> Result<(), ErrorResponse> {
        let standing = asking.lane.standing("AcquireResourceLock", asking.text());
        let asker = asker(asking, by.to_owned());
        let name = (self.settings.instance_id.clone(), resource.to_owned());
        let locked = self.acquired(asking, asker, name, &standing).await;
        standing.answered(locked.as_ref().err().map(|e| e.message.as_str()));
        locked
    }

    async fn acquired(
        &self,
        asking: &Asking,
        asker: Asker,
        name: Name,
        standing: &Standing,
    ) -> Result<(), ErrorResponse> {
        let asked = lock(&self.book).locks.ask(&name, asker);
        match asked {
            Asked::Granted => Ok(()),
            Asked::Circle { text, others } => {
                let text = format!("the lock on {:?} is refused: {text}", name.1);
                // In a block, because the book must not stay locked while warnings are written.
                let others: Vec<Arc<Asking>> = {
                    let book = lock(&self.book);
                    others.iter().filter_map(|n| book.call(*n)).collect()
                };
                let told = asking.lane.secrets().hide(&text).into_owned();
                asking.lane.say(EventKind::Notice { text: told });
                // Every operation of the circle gets the warning, not only the refused one.
                for one in others.iter().map(|other| &**other).chain([asking]) {
                    one.ledger.warn(text.clone()).await;
                }
                Err(refused(format!(
                    "{text}. To avoid this, acquire locks in the same order everywhere, or run one operation at a time (--parallelism=1)"
                )))
            }
            Asked::Waits(place) => self.granted(asking, name, place, standing).await,
        }
    }

    async fn granted(
        &self,
        asking: &Asking,
        name: Name,
        mut place: Place,
        standing: &Standing,
    ) -> Result<(), ErrorResponse> {
        // Leaves the queue on every way out, including a dropped future.
        let in_line = InLine {
            gate: self,
            name,
            ticket: place.ticket,
        };
        let within = self.settings.lock_within;
        let mut deadline = pin!(sleep(within));
        // Ends at the deadline at the latest.
        let why = loop {
            let waits = place.waits.borrow_and_update().clone();
            standing.waits(waits.text.clone(), waits.blocker, within);
            tokio::select! {
                biased; // a granted lock takes precedence
                granted = &mut place.granted => {
                    return granted.map_err(|_| refused("the lock no longer exists".into()));
                }
                () = asking.over.cancelled() => break "its call has ended".to_owned(),
                () = asking.cancel.cancelled() => break "the deploy was cancelled".to_owned(),
                () = &mut deadline => {
                    break format!("it was not released within {} ({})", seconds(within), waits.text);
                }
                Ok(()) = place.waits.changed() => {}
            }
        };
        // The lock may have been granted at the same moment; then it counts as acquired.
        if !in_line.leave() && place.granted.try_recv().is_ok() {
            return Ok(());
        }
        let name = &in_line.name.1;
        Err(refused(format!(
            "failed to acquire the lock on {name:?}: {why}"
        )))
    }
}

fn asker(asking: &Arc<Asking>, by: String) -> Asker {
    let lane = asking.lane.clone();
    Asker {
        number: asking.number,
        text: asking.text(),
        plugin: asking.plugin().clone(),
        call: asking.call(),
        by,
        tell: Arc::new(move |mut told| {
            lane.secrets().hide_in(&mut told.name);
            lane.say(EventKind::ResourceLock(told));
        }),
    }
}
