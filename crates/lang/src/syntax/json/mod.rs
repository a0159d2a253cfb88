//! The JSON syntax: text into nodes with spans, and nodes into the same expressions as the native
//! syntax. What a node means (block, label, argument) is decided by the schema that reads it, in
//! `body`.

mod node;
mod parser;
mod tokens;

pub use node::{Node, NodeKind, Property};
pub use parser::parse;
