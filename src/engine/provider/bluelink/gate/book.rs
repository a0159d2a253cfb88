//! The calls that are under way and may ask something of us. A call is entered before it is made,
//! and is over once what was done for it is. Owns the book, and with it the locks.

use super::locks::Table;
use crate::engine::calls::{CallContext, Lane, Ledger, current};
use crate::engine::mutex::lock;
use crate::engine::provider::bluelink::neighbours::refused;
use crate::engine::provider::bluelink::settings::BluelinkSettings;
use crate::engine::words::{CallId, PluginId};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{ErrorResponse, ProviderContext};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Under which the context of each call has its number: plugins pass the context on.
pub(in super::super) const CALL: &str = "flightdeck.call";

/// The gate of one host.
pub(in super::super) struct Gate {
    pub(super) book: Mutex<Book>,
    /// Addresses of resources by the names that plugins are told with links.
    names: Mutex<BTreeMap<String, String>>,
    pub(in super::super) settings: Arc<BluelinkSettings>,
}

/// What is under way.
#[derive(Default)]
pub(super) struct Book {
    last: u64,
    calls: BTreeMap<u64, Arc<Asking>>,
    pub(super) locks: Table,
}

impl Book {
    /// The call with this number, while it is under way.
    pub(super) fn call(&self, number: u64) -> Option<Arc<Asking>> {
        self.calls.get(&number).cloned()
    }
}

/// A call that is under way and may ask something of us.
pub(in super::super) struct Asking {
    pub(in super::super) number: u64,
    /// The one on whose behalf this one was made, where it was.
    parent: Option<u64>,
    /// The plugin that was called: `bluelink/aws`.
    pub(super) id: String,
    /// Its lane.
    pub(super) lane: Arc<Lane>,
    /// The address of the operation, and what was asked for on the way from there to here.
    pub(super) chain: Vec<String>,
    /// On the board.
    call: OnceLock<CallId>,
    pub(super) ledger: Arc<dyn Ledger>,
    /// Ends what only waits.
    pub(super) cancel: CancellationToken,
    /// Once cancelled, nothing more is done for it.
    pub(super) over: CancellationToken,
    pub(super) work: TaskTracker,
}

impl Asking {
    /// `aws_lambda_function.x > aws/iam/role reader`.
    pub(super) fn text(&self) -> String {
        self.chain.join(" > ")
    }

    pub(super) fn plugin(&self) -> &PluginId {
        self.lane.plugin()
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.call.get().copied()
    }

    /// The work of the running call is its work.
    pub(super) fn is_current(&self) {
        if let Some(call) = current() {
            self.call.get_or_init(|| call);
        }
    }
}

/// A call in the book; out of it when dropped, and its locks with it.
pub(in super::super) struct Entry {
    gate: Arc<Gate>,
    pub(in super::super) asking: Arc<Asking>,
}

impl Entry {
    /// The call was answered, or will not be: nothing more is begun for it, and what was begun is
    /// waited for. That has deadlines of its own.
    pub(in super::super) async fn over(self) {
        {
            let _book = lock(&self.gate.book);
            self.asking.over.cancel();
        }
        self.asking.work.close();
        self.asking.work.wait().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut book = lock(&self.gate.book);
        self.asking.over.cancel();
        book.calls.remove(&self.asking.number);
        book.locks.over(self.asking.number);
    }
}

impl Gate {
    pub(in super::super) fn new(settings: Arc<BluelinkSettings>) -> Self {
        Self {
            book: Mutex::default(),
            names: Mutex::default(),
            settings,
        }
    }

    /// Plugins are told of the resource at this address by this name as well.
    pub(in super::super) fn is_called(&self, name: &str, address: &str) {
        lock(&self.names).insert(name.to_owned(), address.to_owned());
    }

    /// The one address of a resource that a plugin names.
    pub(super) fn address(&self, name: String) -> String {
        let known = lock(&self.names).get(&name).cloned();
        known.unwrap_or(name)
    }

    /// Enters a call of the plugin with this id that is about to be made for an operation; `None`
    /// where nothing is written down for it.
    pub(in super::super) fn enter(
        self: &Arc<Self>,
        id: &str,
        lane: &Arc<Lane>,
        ctx: &CallContext,
    ) -> Option<Entry> {
        let ledger = ctx.ledger.clone()?;
        let chain = vec![ctx.resource.as_deref().unwrap_or_default().to_owned()];
        let entry = self.entered((id, lane), None, chain, ledger, &ctx.cancel);
        entry.asking.is_current();
        Some(entry)
    }

    /// Enters a call that is about to be made for another one: for `what`, to the plugin with this
    /// id.
    pub(super) fn enter_for(
        self: &Arc<Self>,
        asking: &Asking,
        (id, lane): (&str, &Arc<Lane>),
        what: String,
    ) -> Entry {
        let mut chain = asking.chain.clone();
        chain.push(what);
        let (parent, ledger) = (Some(asking.number), asking.ledger.clone());
        self.entered((id, lane), parent, chain, ledger, &asking.cancel)
    }

    fn entered(
        self: &Arc<Self>,
        (id, lane): (&str, &Arc<Lane>),
        parent: Option<u64>,
        chain: Vec<String>,
        ledger: Arc<dyn Ledger>,
        cancel: &CancellationToken,
    ) -> Entry {
        let mut book = lock(&self.book);
        book.last += 1;
        let asking = Arc::new(Asking {
            number: book.last,
            parent,
            id: id.to_owned(),
            lane: lane.clone(),
            chain,
            call: OnceLock::new(),
            ledger,
            cancel: cancel.clone(),
            over: CancellationToken::new(),
            work: TaskTracker::new(),
        });
        book.calls.insert(asking.number, asking.clone());
        book.locks.begun(asking.number, asking.parent);
        drop(book);
        Entry {
            gate: self.clone(),
            asking,
        }
    }

    /// The call on whose behalf the plugin with this id asks to have something done (`what`, in
    /// words), by the context that it was given. It is not over before the token is dropped.
    pub(super) fn asking(
        &self,
        id: &str,
        context: Option<&ProviderContext>,
        what: &str,
    ) -> Result<(Arc<Asking>, TaskTrackerToken), ErrorResponse> {
        let book = lock(&self.book);
        let own = |a: &&Arc<Asking>| a.id == id && !a.over.is_cancelled();
        let all: Vec<&Arc<Asking>> = book.calls.values().filter(own).collect();
        let named = context.and_then(number);
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
            Some(asking) => Ok((asking.clone(), asking.work.token())),
            None => Err(refused(format!(
                "flightdeck cannot {what}: {id} has no running call that deploys or destroys a resource"
            ))),
        }
    }
}

/// The number of the call that a context was given to.
fn number(context: &ProviderContext) -> Option<u64> {
    match context.context_variables.get(CALL)?.value.as_ref()? {
        Scalar::StringValue(text) => text.parse().ok(),
        _ => None,
    }
}
