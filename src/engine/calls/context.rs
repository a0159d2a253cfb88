//! On whose behalf a call is made.

use super::{Ledger, Linked, Retrying};
use crate::engine::words::Action;
use cty::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// On whose behalf a call is made and how long it may take.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Address of the resource instance, for the board of calls.
    pub resource: Option<Arc<str>>,
    /// Its type, where the caller knows it without a look into the address.
    pub resource_type: Option<Arc<str>>,
    /// What an apply does: `create`, `update`, `destroy`.
    pub action: Option<Action>,
    /// What the module that has the resource tells the provider beside the resource: its
    /// `provider_meta`.
    pub meta: Option<Value>,
    /// The provider's configuration, where it goes with each call; whoever gave the provider out
    /// puts it here.
    pub configuration: Option<Arc<Value>>,
    /// Where it is written down what the plugin asks of others meanwhile; where there is none, that
    /// is refused.
    pub ledger: Option<Arc<dyn Ledger>>,
    /// The number under which the dialect knows the call, where its plugin is to name it when it
    /// asks something of us.
    pub asking: Option<u64>,
    /// `None` for the method's own deadline.
    pub deadline: Option<Duration>,
    /// Gives up waiting for a slot, and drops a running call unless it is an apply.
    pub cancel: CancellationToken,
    /// What links have to do with the resource.
    pub linked: Option<Arc<Linked>>,
    /// What is heard of attempts, where the call is made again.
    pub retrying: Retrying,
}

impl CallContext {
    /// For one resource instance, with the method's own deadlines.
    pub fn of(resource: impl Into<Arc<str>>, cancel: &CancellationToken) -> Self {
        Self {
            resource: Some(resource.into()),
            cancel: cancel.clone(),
            ..Self::default()
        }
    }

    /// For no resource in particular.
    pub fn general(cancel: &CancellationToken) -> Self {
        Self {
            cancel: cancel.clone(),
            ..Self::default()
        }
    }
}
