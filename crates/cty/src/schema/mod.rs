//! What providers accept: the one model of schemas, whatever the protocol. Engine and provider kit
//! both use it.

mod model;
mod types;
mod values;

pub use model::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema, TextKind};
