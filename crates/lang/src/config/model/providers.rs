//! Required providers, provider configurations and references to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use crate::body::Body;
use crate::source::Span;
use crate::syntax::ast::Expr;

/// Entry of `required_providers` for one local name.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// Source as written, or the local name if not given: `hashicorp/aws`,
    /// `terraform.io/builtin/terraform`.
    pub source: Arc<str>,
    /// True if a source is written.
    pub explicit: bool,
    /// True if the module uses the name without an entry in `required_providers`.
    pub implied: bool,
    /// Version constraints as written.
    pub versions: Vec<(Arc<str>, Span)>,
    /// `configuration_aliases`: the aliases that a caller must pass.
    pub aliases: Vec<(Arc<str>, Span)>,
    /// Its source position.
    pub span: Span,
}

/// `provider_meta` block: data that a module sends to a provider with each of its resources.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// The local name.
    pub name: Arc<str>,
    /// Content; constants only.
    pub body: Body,
    /// The provider's name in the block's header.
    pub span: Span,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// The local name.
    pub name: Arc<str>,
    /// Its alias.
    pub alias: Option<Arc<str>>,
    /// `for_each`: one configuration for each of its keys.
    pub for_each: Option<Expr>,
    /// Instances of `for_each` by key, known once the module is loaded. `None` without `for_each`.
    pub instances: Option<BTreeMap<Arc<str>, Value>>,
    /// The provider's own arguments.
    pub body: Body,
    /// The block's header.
    pub span: Span,
    /// `version` argument, deprecated.
    pub version: Option<(Arc<str>, Span)>,
}

/// A reference to a provider configuration: `aws`, `aws.west` or `aws.by_region[each.key]`.
#[derive(Clone, Debug)]
pub struct ProviderRef {
    /// The local name.
    pub name: Arc<str>,
    /// The alias.
    pub alias: Option<Arc<str>>,
    /// Instance key.
    pub key: Option<Arc<Expr>>,
    /// Its source position.
    pub span: Span,
}
