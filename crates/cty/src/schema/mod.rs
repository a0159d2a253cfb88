//! Model of provider schemas, independent of the protocol. The engine and `crates/sdk` both use it.

mod model;
mod types;
mod values;

pub use model::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema, TextKind};
