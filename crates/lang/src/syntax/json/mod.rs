//! JSON syntax: text to nodes with spans, and nodes to the same expressions as native syntax. The
//! schema that reads a node in `body` decides its role: block, label or argument.

mod node;
mod parser;
mod tokens;

pub use node::{Node, NodeKind, Property};
pub use parser::parse;
