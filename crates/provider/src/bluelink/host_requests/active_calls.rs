//! Registry (book) of the running calls during which a plugin may send requests to its host. A call
//! is registered before it is sent, and ends after the work requested on its behalf. The gate owns
//! the book and the resource locks.

use super::locks::Table;
use crate::bluelink::cross_plugin_calls::refused;
use crate::bluelink::settings::BluelinkSettings;
use calls::{CallContext, Lane, SideEffectRecord, current};
use model::mutex::lock;
use model::{CallId, PluginId};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{ErrorResponse, ProviderContext};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Context variable with the number of the call. Plugins return the context with their requests.
pub(in super::super) const CALL: &str = "flightdeck.call";

/// Entry point for the requests of plugins to their host.
pub(in super::super) struct ActiveCalls {
    pub(super) book: Mutex<Book>,
    /// Addresses of resources by the names that plugins know from links.
    names: Mutex<BTreeMap<String, String>>,
    pub(in super::super) settings: Arc<BluelinkSettings>,
}

/// Running calls that may send requests, and the resource locks.
#[derive(Default)]
pub(super) struct Book {
    last: u64,
    calls: BTreeMap<u64, Arc<ActiveCall>>,
    pub(super) locks: Table,
}

impl Book {
    /// Returns the running call with this number.
    pub(super) fn call(&self, number: u64) -> Option<Arc<ActiveCall>> {
        self.calls.get(&number).cloned()
    }
}

/// Running call that may send requests.
pub(in super::super) struct ActiveCall {
    pub(in super::super) number: u64,
    /// Call on whose behalf this one was made.
    parent: Option<u64>,
    /// Id of the called plugin: `bluelink/aws`.
    pub(super) id: String,
    /// Call line of the plugin.
    pub(super) lane: Arc<Lane>,
    /// Address of the operation, followed by the requests that led to this call.
    pub(super) chain: Vec<String>,
    /// The same call in the events.
    call: OnceLock<CallId>,
    pub(super) side_effects: Arc<dyn SideEffectRecord>,
    /// Cancels waits.
    pub(super) cancel: CancellationToken,
    /// Cancelled when the call has ended; no further work is accepted for it.
    pub(super) ended: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl ActiveCall {
    /// Returns the chain: `aws_lambda_function.x > aws/iam/role reader`.
    pub(super) fn text(&self) -> String {
        self.chain.join(" > ")
    }

    pub(super) fn plugin(&self) -> &PluginId {
        self.lane.plugin()
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.call.get().copied()
    }

    /// Links this entry with the current call in the events.
    pub(super) fn set_current(&self) {
        if let Some(call) = current() {
            self.call.get_or_init(|| call);
        }
    }
}

/// Registered call; dropping it removes the entry and releases its locks.
pub(in super::super) struct Entry {
    active_calls: Arc<ActiveCalls>,
    pub(in super::super) call: Arc<ActiveCall>,
}

impl Entry {
    /// Ends the call: accepts no further work and waits for the work already started, which has its
    /// own timeouts.
    pub(in super::super) async fn end(self) {
        // Under the lock, so that no request is accepted after the cancellation.
        {
            let _book = lock(&self.active_calls.book);
            self.call.ended.cancel();
        }
        self.call.tasks.close();
        self.call.tasks.wait().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // One critical section: a request must not find a call whose locks are gone.
        let mut book = lock(&self.active_calls.book);
        self.call.ended.cancel();
        book.calls.remove(&self.call.number);
        book.locks.call_ended(self.call.number);
    }
}

impl ActiveCalls {
    pub(in super::super) fn new(settings: Arc<BluelinkSettings>) -> Self {
        Self {
            book: Mutex::default(),
            names: Mutex::default(),
            settings,
        }
    }

    /// Adds another name of the resource at this address.
    pub(in super::super) fn register_name(&self, name: &str, address: &str) {
        lock(&self.names).insert(name.to_owned(), address.to_owned());
    }

    /// Returns the address of a resource that a plugin names.
    pub(super) fn address(&self, name: String) -> String {
        let known = lock(&self.names).get(&name).cloned();
        known.unwrap_or(name)
    }

    /// Registers a call for an operation; `None` without a ledger, because requests could not be
    /// recorded.
    pub(in super::super) fn enter(
        self: &Arc<Self>,
        id: &str,
        lane: &Arc<Lane>,
        ctx: &CallContext,
    ) -> Option<Entry> {
        let ledger = ctx.side_effects.clone()?;
        let chain = vec![ctx.resource.as_deref().unwrap_or_default().to_owned()];
        let entry = self.entered((id, lane), None, chain, ledger, &ctx.cancel);
        entry.call.set_current();
        Some(entry)
    }

    /// Registers a call on behalf of another one: for `what`, to the plugin with this id.
    pub(super) fn enter_nested(
        self: &Arc<Self>,
        asking: &ActiveCall,
        (id, lane): (&str, &Arc<Lane>),
        what: String,
    ) -> Entry {
        let mut chain = asking.chain.clone();
        chain.push(what);
        let (parent, ledger) = (Some(asking.number), asking.side_effects.clone());
        self.entered((id, lane), parent, chain, ledger, &asking.cancel)
    }

    fn entered(
        self: &Arc<Self>,
        (id, lane): (&str, &Arc<Lane>),
        parent: Option<u64>,
        chain: Vec<String>,
        ledger: Arc<dyn SideEffectRecord>,
        cancel: &CancellationToken,
    ) -> Entry {
        let mut book = lock(&self.book);
        book.last += 1;
        let asking = Arc::new(ActiveCall {
            number: book.last,
            parent,
            id: id.to_owned(),
            lane: lane.clone(),
            chain,
            call: OnceLock::new(),
            side_effects: ledger,
            cancel: cancel.clone(),
            ended: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        book.calls.insert(asking.number, asking.clone());
        book.locks.call_started(asking.number, asking.parent);
        drop(book);
        Entry {
            active_calls: self.clone(),
            call: asking,
        }
    }

    /// Finds the call to which a plugin's request belongs, from the returned context. `what`
    /// describes the request for errors. The call does not end while the token exists.
    pub(super) fn active_call(
        &self,
        id: &str,
        context: Option<&ProviderContext>,
        what: &str,
    ) -> Result<(Arc<ActiveCall>, TaskTrackerToken), ErrorResponse> {
        // Held until the token is taken: otherwise the call could end in between.
        let book = lock(&self.book);
        // A plugin can act only on behalf of its own calls.
        let own = |a: &&Arc<ActiveCall>| a.id == id && !a.ended.is_cancelled();
        let all: Vec<&Arc<ActiveCall>> = book.calls.values().filter(own).collect();
        let named = context.and_then(number);
        // Without a number the call must be unambiguous, or the work would be recorded elsewhere.
        let asking = match (named, &all[..]) {
            (Some(number), all) => all.iter().find(|a| a.number == number).copied(),
            (None, [one]) => Some(*one),
            (None, []) => None,
            (None, several) => {
                return Err(refused(format!(
                    "flightdeck cannot {what}: {} calls of {id} are running, and the request does not name one of them; the plugin must pass on the context of its call",
                    several.len()
                )));
            }
        };
        match asking {
            Some(asking) => Ok((asking.clone(), asking.tasks.token())),
            None => Err(refused(format!(
                "flightdeck cannot {what}: {id} has no running call that deploys or destroys a resource"
            ))),
        }
    }
}

/// Returns the number of the call in a context.
fn number(context: &ProviderContext) -> Option<u64> {
    match context.context_variables.get(CALL)?.value.as_ref()? {
        Scalar::StringValue(text) => text.parse().ok(),
        _ => None,
    }
}
