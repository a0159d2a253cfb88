//! The configuration as declared: one [`Module`] for each call in the tree, whatever its instances.
//! Expressions and bodies are kept as written; nothing is evaluated here. Made by the loader, read
//! by everybody.

mod module;
mod providers;
mod refactor;
mod resources;
mod values;

pub use module::{Argument, Check, Module, ModuleCall};
pub use providers::{ProviderConfig, ProviderMeta, ProviderRef, RequiredProvider};
pub use refactor::{Import, Moved, Removed};
pub use resources::{IgnoreChanges, Lifecycle, LinkEnds, Provisioner, Resource};
pub use values::{Condition, Defaults, Local, Output, TypeConstraint, Variable};
