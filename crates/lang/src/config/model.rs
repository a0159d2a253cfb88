//! The configuration as declared: one [`Module`] for each call in the tree, whatever its instances.
//! Expressions and bodies are kept as written; nothing is evaluated here. Made by the loader, read
//! by everybody.

use crate::addr::{ModulePath, Resource as ResourceName, Target};
use crate::body::Body;
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::ast::{Expr, Traversal};
use cty::{Type, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A module as declared, with the modules that it calls.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Where in the tree of calls; empty for the root.
    pub path: ModulePath,
    /// The directory it was read from.
    pub dir: PathBuf,
    /// The same as `path.module` shows it: relative to the working directory, `.` for the root.
    pub dir_text: String,
    /// `required_providers`, by local name.
    pub required_providers: BTreeMap<Arc<str>, RequiredProvider>,
    /// A `backend` block's type, or `cloud`.
    pub backend: Option<(Arc<str>, Span)>,
    /// The arguments of the `backend` block.
    pub backend_body: Option<Body>,
    /// The `encryption` block.
    pub encryption: Option<super::Encryption>,
    /// `provider_meta` blocks.
    pub provider_metas: Vec<ProviderMeta>,
    /// Provider configurations in the order of declaration.
    pub providers: Vec<ProviderConfig>,
    /// Input variables.
    pub variables: BTreeMap<Arc<str>, Variable>,
    /// Local values.
    pub locals: BTreeMap<Arc<str>, Local>,
    /// Managed, data and ephemeral resources.
    pub resources: BTreeMap<ResourceName, Resource>,
    /// Outputs.
    pub outputs: BTreeMap<Arc<str>, Output>,
    /// Module calls.
    pub calls: BTreeMap<Arc<str>, ModuleCall>,
    /// `moved` blocks.
    pub moved: Vec<Moved>,
    /// `removed` blocks.
    pub removed: Vec<Removed>,
    /// `import` blocks (root only).
    pub imports: Vec<Import>,
    /// `check` blocks.
    pub checks: BTreeMap<Arc<str>, Check>,
}

impl Module {
    /// The module at a path below this one.
    pub fn descendant(&self, path: &[Arc<str>]) -> Option<&Module> {
        match path.split_first() {
            None => Some(self),
            Some((first, rest)) => self.calls.get(first)?.module.as_ref()?.descendant(rest),
        }
    }

    /// This module and all below it, callers first.
    pub fn all(&self) -> Vec<&Module> {
        let mut out = vec![self];
        let mut next = 0;
        while let Some(module) = out.get(next).copied() {
            out.extend(module.calls.values().filter_map(|c| c.module.as_deref()));
            next += 1;
        }
        out
    }
}

/// What `required_providers` says of one local name.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The source as written, or the local name where there is none: `hashicorp/aws`,
    /// `terraform.io/builtin/terraform`.
    pub source: Arc<str>,
    /// Whether a source was written.
    pub explicit: bool,
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

/// The type of a variable: a type with optional attributes, and defaults for them at any depth.
#[derive(Clone, Debug)]
pub struct TypeConstraint {
    /// The type, with optional attributes.
    pub ty: Type,
    /// Defaults of optional attributes, where there are any.
    pub defaults: Option<Arc<Defaults>>,
}

/// Defaults of optional attributes, in the shape of the type.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// For an object: the default of each attribute that has one.
    pub values: BTreeMap<Arc<str>, Value>,
    /// For what is inside: attributes of an object by name, elements of a tuple by their number as
    /// text, `""` for the elements of a collection.
    pub children: BTreeMap<Arc<str>, Defaults>,
}

/// A condition with its message: validation, precondition, postcondition, assert.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What must be true.
    pub condition: Expr,
    /// What to say where it is not.
    pub message: Expr,
    /// The block.
    pub span: Span,
}

/// A `variable` block.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// Its type; `any` where there is none.
    pub ty: TypeConstraint,
    /// Whether a type was written.
    pub typed: bool,
    /// The default, converted to the type; `None` for a required variable.
    pub default: Option<Value>,
    /// The default's place.
    pub default_span: Option<Span>,
    /// Description.
    pub description: String,
    /// Its values are secret.
    pub sensitive: bool,
    /// It is kept nowhere.
    pub ephemeral: bool,
    /// `const`, where given: whether it may be used where values must be known while modules are
    /// loaded.
    pub constant: Option<bool>,
    /// Whether null is a value (the default is true).
    pub nullable: bool,
    /// Message where it is deprecated.
    pub deprecated: Option<String>,
    /// Validation blocks.
    pub validations: Vec<Condition>,
    /// The block's header.
    pub span: Span,
}

/// One local value.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its expression.
    pub expr: Expr,
    /// The whole attribute.
    pub span: Span,
}

/// An `output` block.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expr,
    /// Description.
    pub description: String,
    /// Declared sensitive.
    pub sensitive: bool,
    /// Declared ephemeral.
    pub ephemeral: bool,
    /// Message where it is deprecated.
    pub deprecated: Option<String>,
    /// What it depends on besides its references.
    pub depends_on: Vec<Traversal>,
    /// Checked before the value is evaluated.
    pub preconditions: Vec<Condition>,
    /// The block's header.
    pub span: Span,
}

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Mode, type and name.
    pub name: ResourceName,
    /// The `check` block around it, which alone may refer to it.
    pub check: Option<Arc<str>>,
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
    /// `destroy = false`: forget instead of destroying. A constant.
    pub destroy: Option<bool>,
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

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// Its name.
    pub name: Arc<str>,
    /// Where the module is, as written.
    pub source: String,
    /// The place of the source.
    pub source_span: Span,
    /// The module itself; `None` where it could not be loaded (a diagnostic says why).
    pub module: Option<Arc<Module>>,
    /// Values for its variables.
    pub arguments: BTreeMap<Arc<str>, Argument>,
    /// Arguments that are missing or that the module has no variable for.
    pub argument_errors: Diagnostics,
    /// `count`.
    pub count: Option<Expr>,
    /// `for_each`.
    pub for_each: Option<Expr>,
    /// `lifecycle { enabled }`.
    pub enabled: Option<Expr>,
    /// `depends_on`.
    pub depends_on: Vec<Traversal>,
    /// `providers = {inner = outer}`; `None` where not given (inherited then).
    pub providers: Option<Vec<(ProviderRef, ProviderRef)>>,
    /// The block's header.
    pub span: Span,
}

/// A value for a module's variable.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its expression.
    pub expr: Expr,
    /// The name's place.
    pub name_span: Span,
    /// The whole attribute.
    pub span: Span,
}

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Old address, relative to the module.
    pub from: Target,
    /// New address, relative to the module.
    pub to: Target,
    /// Place of `from`.
    pub from_span: Span,
    /// Place of `to`.
    pub to_span: Span,
    /// The block's header.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// What is no longer declared, relative to the module.
    pub from: Target,
    /// Place of `from`.
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
    /// Where to: an expression that is an address whose keys may be computed.
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

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: Arc<str>,
    /// Its data source, where it has one; it is among the module's resources.
    pub data: Option<ResourceName>,
    /// Its assertions.
    pub asserts: Vec<Condition>,
    /// The block's header.
    pub span: Span,
}
