//! Context of a call: its resource, limits and cancellation.

use super::{Linked, Retrying, SideEffectRecord};
use cty::Value;
use model::Action;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Context of a call: its resource, limits and cancellation.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Address of the resource instance, for events.
    pub resource: Option<Arc<str>>,
    /// Resource type, if the caller knows it; otherwise it is parsed from the address.
    pub resource_type: Option<Arc<str>>,
    /// Action of an apply: `create`, `update`, `destroy`.
    pub action: Option<Action>,
    /// `provider_meta` of the module that contains the resource.
    pub meta: Option<Value>,
    /// Provider configuration, for dialects that send it with each call; set by the pool's provider
    /// handle.
    pub configuration: Option<Arc<Value>>,
    /// Record of the side effects that the plugin requests during the call; without one, such
    /// requests are rejected.
    pub side_effects: Option<Arc<dyn SideEffectRecord>>,
    /// Number of the call in the dialect, which the plugin names in its own requests to the host.
    pub dialect_call: Option<u64>,
    /// Deadline; `None` is the method's own.
    pub deadline: Option<Duration>,
    /// Cancels the wait for a slot, and drops a running call unless it is an apply.
    pub cancel: CancellationToken,
    /// Links of the resource.
    pub linked: Option<Arc<Linked>>,
    /// Observer of retries.
    pub retrying: Retrying,
}

impl CallContext {
    /// Creates the context of one resource instance, with the methods' own deadlines.
    pub fn for_resource(resource: impl Into<Arc<str>>, cancel: &CancellationToken) -> Self {
        Self {
            resource: Some(resource.into()),
            cancel: cancel.clone(),
            ..Self::default()
        }
    }

    /// Creates a context without a resource.
    pub fn general(cancel: &CancellationToken) -> Self {
        Self {
            cancel: cancel.clone(),
            ..Self::default()
        }
    }
}
