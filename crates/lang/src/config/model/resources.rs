//! Resources with their lifecycle and provisioners.

use std::sync::Arc;

use super::providers::ProviderRef;
use super::values::Condition;
use crate::addr::Resource as ResourceName;
use crate::body::Body;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Expr, Traversal};

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Mode, type and name.
    pub name: ResourceName,
    /// The `check` block around it, which alone may refer to it.
    pub check: Option<Arc<str>>,
    /// What a `link` block links, which is a resource of a type of its own.
    pub link: Option<LinkEnds>,
    /// The provider's own arguments: everything but meta-arguments.
    pub body: Body,
    /// `count`.
    pub count: Option<Expr>,
    /// `for_each`.
    pub for_each: Option<Expr>,
    /// `provider`.
    pub provider: Option<ProviderRef>,
    /// `depends_on`.
    pub depends_on: Vec<Traversal>,
    /// `lifecycle`.
    pub lifecycle: Lifecycle,
    /// Provisioners, in order.
    pub provisioners: Vec<Provisioner>,
    /// The resource's `connection` block, for its provisioners.
    pub connection: Option<Body>,
    /// The block's header, from the keyword to the last label.
    pub span: Span,
    /// The label that names the type.
    pub kind_span: Span,
}

/// The two ends of a `link` block, each the name of one instance of a managed resource. They are
/// among the arguments of its body as well.
#[derive(Clone, Debug)]
pub struct LinkEnds {
    /// `from`.
    pub from: Expr,
    /// `to`.
    pub to: Expr,
    /// Whether the block itself says which provider configuration it uses.
    pub provider_given: bool,
}

/// What `ignore_changes` says.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// Nothing.
    #[default]
    None,
    /// `all`.
    All,
    /// Paths relative to the resource: the root is the attribute's name.
    Paths(Vec<Traversal>),
}

/// A `lifecycle` block; empty where there is none.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// `create_before_destroy`, a constant.
    pub create_before_destroy: Option<bool>,
    /// `prevent_destroy`, an expression.
    pub prevent_destroy: Option<Expr>,
    /// `destroy = false`: forget instead of destroying. A constant; what else stands there is told
    /// with each instance that is planned, as the reference does, and not when it is read.
    pub destroy: Option<Result<bool, Diagnostic>>,
    /// `enabled`, an expression.
    pub enabled: Option<Expr>,
    /// `ignore_changes`.
    pub ignore_changes: IgnoreChanges,
    /// `replace_triggered_by`.
    pub replace_triggered_by: Vec<Expr>,
    /// Checked before the plan.
    pub preconditions: Vec<Condition>,
    /// Checked after plan and apply; may use `self`.
    pub postconditions: Vec<Condition>,
}

impl Lifecycle {
    /// Whether objects are forgotten instead of destroyed.
    pub fn forgets(&self) -> bool {
        matches!(self.destroy, Some(Ok(false)))
    }
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// `local-exec`, `remote-exec`, `file`.
    pub kind: Arc<str>,
    /// Its own arguments.
    pub body: Body,
    /// `when = destroy`.
    pub on_destroy: bool,
    /// `on_failure = continue`.
    pub go_on_after_failure: bool,
    /// Its `connection` block, upon that of its resource.
    pub connection: Option<Body>,
    /// The block's header.
    pub span: Span,
}
