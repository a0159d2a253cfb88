//! Modules and their calls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::group::Group;
use super::providers::{ProviderConfig, ProviderMeta, ProviderRef, RequiredProvider};
use super::refactor::{Import, Moved, Removed};
use super::resources::Resource;
use super::secret::SecretReference;
use super::values::{Condition, Local, Output, Variable};
use crate::addr::{ModulePath, Resource as ResourceName};
use crate::body::{Block, Body};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::stored::StoredConfiguration;
use crate::syntax::ast::{Expr, Traversal};

/// A module as declared, with the modules that it calls.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Path in the tree of calls; empty for the root.
    pub path: ModulePath,
    /// The directory it was read from.
    pub dir: PathBuf,
    /// Value of `path.module`: relative to the working directory, `.` for the root.
    pub dir_text: String,
    /// Stored configuration that it was read from, instead of the disk.
    pub stored: Option<Arc<StoredConfiguration>>,
    /// `terraform.workspace`; empty for the default one.
    pub workspace: Arc<str>,
    /// `required_providers`, by local name.
    pub required_providers: BTreeMap<Arc<str>, RequiredProvider>,
    /// A `backend` block's type, or `cloud`.
    pub backend: Option<(Arc<str>, Span)>,
    /// The arguments of the `backend` block.
    pub backend_body: Option<Body>,
    /// The `encryption` block.
    pub encryption: Option<super::super::Encryption>,
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
    /// `group` blocks (root only).
    pub groups: BTreeMap<Arc<str>, Group>,
    /// `secret` blocks (root only), by variable.
    pub secrets: BTreeMap<Arc<str>, SecretReference>,
    /// `type` and `provider` blocks with settings of resource types, not read yet.
    pub types: Vec<Block>,
}

/// Name of the default workspace.
pub const DEFAULT_WORKSPACE: &str = "default";

impl Module {
    /// Value of `terraform.workspace`.
    pub fn workspace_value(&self) -> cty::Value {
        let name: &str = &self.workspace;
        cty::Value::string(match name {
            "" => DEFAULT_WORKSPACE,
            name => name,
        })
    }

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
        // Breadth first, so that callers come before the modules that they call.
        while let Some(module) = out.get(next).copied() {
            out.extend(module.calls.values().filter_map(|c| c.module.as_deref()));
            next += 1;
        }
        out
    }
}

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// Its name.
    pub name: Arc<str>,
    /// Module source, as written.
    pub source: String,
    /// Source position of the module's source.
    pub source_span: Span,
    /// Version constraint as written; empty if not given.
    pub version: String,
    /// Loaded module; `None` after a reported error.
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
    /// The name's source position.
    pub name_span: Span,
    /// The whole attribute.
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
