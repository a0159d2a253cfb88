//! Kind of a call: method, resource type and action. Latencies are measured for each kind, because
//! only calls of one kind are comparable.

use super::context::CallContext;
use super::method::Method;
use model::{Action, CallStat};
use std::sync::Arc;

/// Kind of a call; calls of one kind have comparable latencies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub method: Method,
    /// Empty without a resource.
    pub resource_type: Arc<str>,
    /// Action of an apply; `None` for other methods.
    pub action: Option<Action>,
}

impl Kind {
    /// Returns the kind of an apply to a resource type.
    pub fn apply(resource_type: &str, action: Action) -> Self {
        Self {
            method: Method::Apply,
            resource_type: resource_type.into(),
            action: Some(action),
        }
    }

    /// Returns the kind of a call from its context.
    pub(super) fn of_call(method: Method, ctx: &CallContext) -> Self {
        let resource_type = match &ctx.resource_type {
            Some(resource_type) => resource_type.clone(),
            None => of_address(ctx.resource.as_deref().unwrap_or_default()),
        };
        Self {
            method,
            resource_type,
            action: ctx.action,
        }
    }

    pub(super) fn from_stat(stat: &CallStat) -> Option<Self> {
        Some(Self {
            method: Method::parse(&stat.method)?,
            resource_type: stat.resource_type.as_str().into(),
            action: stat.action,
        })
    }
}

/// Returns the resource type of an address, which may have a deposed key; empty if it has none.
fn of_address(address: &str) -> Arc<str> {
    // The parser does not accept the suffix of a deposed object.
    let address = address.split(" (deposed ").next().unwrap_or_default();
    let parsed = address.parse::<lang::addr::AbsInstance>();
    parsed.map_or_else(|_| "".into(), |a| a.resource.kind.as_ref().into())
}
