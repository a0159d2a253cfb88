//! `moved`, `removed` and `import` blocks.

use super::providers::ProviderRef;
use super::resources::Provisioner;
use crate::addr::Target;
use crate::source::Span;
use crate::syntax::ast::Expr;

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Old address, relative to the module.
    pub from: Target,
    /// New address, relative to the module.
    pub to: Target,
    /// Source position of `from`.
    pub from_span: Span,
    /// Source position of `to`.
    pub to_span: Span,
    /// The block's header.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// Object that is no longer declared, relative to the module.
    pub from: Target,
    /// Source position of `from`.
    pub from_span: Span,
    /// `lifecycle { destroy }`; false (forget) where it is not given.
    pub destroy: bool,
    /// Destroy-time provisioners.
    pub provisioners: Vec<Provisioner>,
    /// The block's header.
    pub span: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// Target address; its instance keys may be expressions.
    pub to: Expr,
    /// The object's id.
    pub id: Option<Expr>,
    /// The object's identity.
    pub identity: Option<Expr>,
    /// `for_each`.
    pub for_each: Option<Expr>,
    /// `provider`.
    pub provider: Option<ProviderRef>,
    /// The block's header.
    pub span: Span,
}
