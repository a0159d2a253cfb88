//! Resources with their lifecycle and provisioners.

use std::fmt;
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
    /// Enclosing `check` block; only this block may refer to the resource.
    pub check: Option<Arc<str>>,
    /// Ends of a `link` block, which is a resource of its own type.
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

/// Ends of a `link` block, each a reference to an instance of a managed resource. The body has them
/// as arguments too.
#[derive(Clone, Debug)]
pub struct LinkEnds {
    /// `from`.
    pub from: Expr,
    /// `to`.
    pub to: Expr,
    /// True if the block itself selects a provider configuration.
    pub provider_given: bool,
}

/// Value of `ignore_changes`.
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

/// `lifecycle` block; empty if not given.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// `create_before_destroy`, a constant.
    pub create_before_destroy: Option<bool>,
    /// `prevent_destroy`, an expression.
    pub prevent_destroy: Option<Expr>,
    /// `destroy = false`: forget instead of destroying. Must be constant; like the reference, an
    /// invalid value is reported for each planned instance, not when the block is read.
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
    /// Returns true if objects are forgotten instead of destroyed.
    pub fn forgets(&self) -> bool {
        matches!(self.destroy, Some(Ok(false)))
    }
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    pub kind: ProvisionerKind,
    /// Arguments of the provisioner.
    pub body: Body,
    /// `when = destroy`.
    pub on_destroy: bool,
    /// `on_failure = continue`.
    pub continue_on_failure: bool,
    /// `connection` block; its arguments override those of the resource.
    pub connection: Option<Body>,
    /// The block's header.
    pub span: Span,
}

/// Kind of a provisioner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProvisionerKind {
    File,
    LocalExec,
    RemoteExec,
    /// Not supported.
    Other(Arc<str>),
}

impl ProvisionerKind {
    /// Returns the label of the block.
    pub fn name(&self) -> &str {
        match self {
            Self::File => "file",
            Self::LocalExec => "local-exec",
            Self::RemoteExec => "remote-exec",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for ProvisionerKind {
    fn from(name: &str) -> Self {
        match name {
            "file" => Self::File,
            "local-exec" => Self::LocalExec,
            "remote-exec" => Self::RemoteExec,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for ProvisionerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
