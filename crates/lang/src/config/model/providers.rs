//! Which providers a module needs, how they are configured and named.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use crate::body::Body;
use crate::source::Span;
use crate::syntax::ast::Expr;

/// What `required_providers` says of one local name.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The source as written, or the local name where there is none: `hashicorp/aws`,
    /// `terraform.io/builtin/terraform`.
    pub source: Arc<str>,
    /// Whether a source was written.
    pub explicit: bool,
    /// Whether nothing was written at all: the module uses the name, and requires nothing.
    pub implied: bool,
    /// Version constraints as written.
    pub versions: Vec<(Arc<str>, Span)>,
    /// `configuration_aliases`: the aliases that a caller must pass.
    pub aliases: Vec<(Arc<str>, Span)>,
    /// Its place.
    pub span: Span,
}

/// What a module tells a provider beside each of its resources: a `provider_meta` block.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// The local name.
    pub name: Arc<str>,
    /// What is told: constants alone.
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
    /// The instances that `for_each` makes, by their keys; known once the module is loaded. `None`
    /// where there is none.
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
    /// Which of its instances.
    pub key: Option<Arc<Expr>>,
    /// Its place.
    pub span: Span,
}
