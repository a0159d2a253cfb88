//! `group` blocks of `.flightdeck.hcl` files: resources whose instances are updated in batches.
//! OpenTofu has no such blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use crate::addr::ConfigResource;
use crate::source::Span;
use crate::syntax::Expr;

/// A `group` block.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// The resource whose instances are the members.
    pub instance: GroupResource,
    /// Resources with the same keys, which survive a rolling update.
    pub dedicated: Vec<GroupResource>,
    /// Resources that all members share.
    pub global: Vec<GroupResource>,
    /// The `update` block.
    pub update: Option<GroupUpdate>,
    /// Arguments of the `reconcile` block.
    pub reconcile: Option<GroupSettings>,
    /// The block's header.
    pub span: Span,
}

/// A resource that a group names.
#[derive(Clone, Debug)]
pub struct GroupResource {
    /// Its address.
    pub address: ConfigResource,
    /// The reference in the block.
    pub span: Span,
}

/// An `update` block.
#[derive(Clone, Debug)]
pub struct GroupUpdate {
    /// Its arguments.
    pub settings: GroupSettings,
    /// Runs before a member is changed or destroyed.
    pub drain: Option<GroupHook>,
    /// Decides when a changed member is ready.
    pub health: Option<GroupHook>,
}

/// Arguments whose values are known when the configuration is loaded.
#[derive(Clone, Debug)]
pub struct GroupSettings {
    /// Values by name, of the arguments that are given.
    pub values: BTreeMap<Arc<str>, (Value, Span)>,
    pub(in crate::config) expressions: BTreeMap<Arc<str>, Expr>,
    /// The block's header.
    pub span: Span,
}

impl GroupSettings {
    /// Returns true if each argument has a value; while variables have none, some have not.
    pub fn is_complete(&self) -> bool {
        self.values.len() == self.expressions.len()
    }
}

/// A `drain` or `health` block.
#[derive(Clone, Debug)]
pub struct GroupHook {
    /// Arguments such as `timeout`.
    pub settings: GroupSettings,
    /// Arguments that are evaluated for each member: `command`, `http`, `tcp`, `ready`. They may
    /// use `member`, `self` and `group`.
    pub expressions: BTreeMap<Arc<str>, Expr>,
    /// Objects `var`, `local`, `path` and `terraform` with the values that the expressions use.
    pub names: BTreeMap<Arc<str>, Value>,
}
