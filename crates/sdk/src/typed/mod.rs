//! Typed layer: structs as schemas, and traits with typed arguments, on top of the untyped
//! [`crate::Resource`] and [`crate::DataSource`].

mod attribute;
mod computed;
mod data;
mod ephemeral;
mod function;
mod lifecycle;
mod model;
mod provider;
mod resource;

pub use attribute::{AttributeType, BlockType};
pub use computed::Computed;
pub use data::Lookup;
pub use ephemeral::Ephemeral;
pub use function::{LastArgument, TypedFunction, Variadic};
pub use lifecycle::{Lifecycle, Plan, Updatable, Update};
pub use model::{Mismatch, Model, Named};
#[doc(hidden)]
pub use model::{
    Nullable, SetByProvider, assert_computed, assert_nullable, attribute, given, read, with_default,
};
pub use provider::TypedProvider;
