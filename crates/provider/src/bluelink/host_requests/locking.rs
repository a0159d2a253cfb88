//! Waits for resource locks. A wait is reported as a call with its blocker, and ends with the lock,
//! a timeout, or the end of its call. A wait that would deadlock is refused at once.

use super::active_calls::{ActiveCall, ActiveCalls};
use super::locks::{LockReply, LockRequester, Name, QueuePlace};
use crate::bluelink::cross_plugin_calls::refused;
use calls::HostRequest;
use model::mutex::lock;
use model::{EventKind, seconds};
use proto::bluelink::pluginservicev1::AcquireResourceLockRequest;
use proto::bluelink::sharedtypesv1::ErrorResponse;
use std::pin::pin;
use std::sync::Arc;
use tokio::time::sleep;

/// Position in a queue; left when dropped.
struct InLine<'g> {
    active_calls: &'g ActiveCalls,
    name: Name,
    ticket: u64,
}

impl InLine<'_> {
    /// Leaves the queue; false if it was not in it any more.
    fn leave_queue(&self) -> bool {
        lock(&self.active_calls.book)
            .locks
            .cancel_request(&self.name, self.ticket)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.leave_queue();
    }
}

impl ActiveCalls {
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
        let (asking, _until_done) = self.active_call(id, said.context.as_ref(), &what)?;
        let standing = asking
            .lane
            .begin_host_request("AcquireResourceLock", asking.text());
        let asker = requester(&asking, said.acquired_by);
        // Plugins may know the resource by a name from a link.
        let name = (said.instance_id, self.address(said.resource_name));
        let locked = self.wait_for_lock(&asking, asker, name, &standing).await;
        standing.report_answer(locked.as_ref().err().map(|e| e.message.as_str()));
        locked
    }

    /// Locks a resource for a call of the host, until that call ends; `by` names the part of the
    /// call that holds it.
    pub(in super::super) async fn hold_lock(
        &self,
        asking: &Arc<ActiveCall>,
        resource: &str,
        by: &str,
    ) -> Result<(), ErrorResponse> {
        let standing = asking
            .lane
            .begin_host_request("AcquireResourceLock", asking.text());
        let asker = requester(asking, by.to_owned());
        let name = (self.settings.instance_id.clone(), resource.to_owned());
        let locked = self.wait_for_lock(asking, asker, name, &standing).await;
        standing.report_answer(locked.as_ref().err().map(|e| e.message.as_str()));
        locked
    }

    async fn wait_for_lock(
        &self,
        asking: &ActiveCall,
        asker: LockRequester,
        name: Name,
        standing: &HostRequest,
    ) -> Result<(), ErrorResponse> {
        let asked = lock(&self.book).locks.request(&name, asker);
        match asked {
            LockReply::Granted => Ok(()),
            LockReply::Circle { text, others } => {
                let text = format!("the lock on {:?} is refused: {text}", name.1);
                // In a block, because the book must not stay locked while warnings are written.
                let others: Vec<Arc<ActiveCall>> = {
                    let book = lock(&self.book);
                    others.iter().filter_map(|n| book.call(*n)).collect()
                };
                let told = asking.lane.secrets().redact(&text).into_owned();
                asking.lane.emit(EventKind::Notice { text: told });
                // Every operation of the circle gets the warning, not only the refused one.
                for one in others.iter().map(|other| &**other).chain([asking]) {
                    one.side_effects.warn(text.clone()).await;
                }
                Err(refused(format!(
                    "{text}. To avoid this, acquire locks in the same order everywhere, or run one operation at a time (--parallelism=1)"
                )))
            }
            LockReply::Queued(place) => self.granted(asking, name, place, standing).await,
        }
    }

    async fn granted(
        &self,
        asking: &ActiveCall,
        name: Name,
        mut place: QueuePlace,
        standing: &HostRequest,
    ) -> Result<(), ErrorResponse> {
        // Leaves the queue on every way out, including a dropped future.
        let in_line = InLine {
            active_calls: self,
            name,
            ticket: place.ticket,
        };
        let within = self.settings.lock_within;
        let mut deadline = pin!(sleep(within));
        // Ends at the deadline at the latest.
        let why = loop {
            let waits = place.waits.borrow_and_update().clone();
            standing.report_wait(waits.text.clone(), waits.blocker, within);
            tokio::select! {
                biased; // a granted lock takes precedence
                granted = &mut place.granted => {
                    return granted.map_err(|_| refused("the lock no longer exists".into()));
                }
                () = asking.ended.cancelled() => break "its call has ended".to_owned(),
                () = asking.cancel.cancelled() => break "the deploy was cancelled".to_owned(),
                () = &mut deadline => {
                    break format!("it was not released within {} ({})", seconds(within), waits.text);
                }
                Ok(()) = place.waits.changed() => {}
            }
        };
        // The lock may have been granted at the same moment; then it counts as acquired.
        if !in_line.leave_queue() && place.granted.try_recv().is_ok() {
            return Ok(());
        }
        let name = &in_line.name.1;
        Err(refused(format!(
            "failed to acquire the lock on {name:?}: {why}"
        )))
    }
}

fn requester(asking: &Arc<ActiveCall>, by: String) -> LockRequester {
    let lane = asking.lane.clone();
    LockRequester {
        number: asking.number,
        text: asking.text(),
        plugin: asking.plugin().clone(),
        call: asking.call(),
        by,
        on_change: Arc::new(move |mut told| {
            lane.secrets().redact_in_place(&mut told.name);
            lane.emit(EventKind::ResourceLock(told));
        }),
    }
}
