//! Configuration as declared: one [`Module`] per call in the tree, without instances. Expressions
//! and bodies are kept unevaluated. Built by the loader.

mod group;
mod module;
mod providers;
mod refactor;
mod resources;
mod secret;
mod values;

pub use group::{Group, GroupHook, GroupResource, GroupSettings, GroupUpdate};
pub use module::{Argument, Check, DEFAULT_WORKSPACE, Module, ModuleCall};
pub use providers::{ProviderConfig, ProviderMeta, ProviderRef, RequiredProvider};
pub use refactor::{Import, Moved, Removed};
pub use resources::{IgnoreChanges, Lifecycle, LinkEnds, Provisioner, ProvisionerKind, Resource};
pub use secret::{SecretReference, SecretSource};
pub use values::{Condition, Defaults, Local, Output, TypeConstraint, Variable};
