//! Schemas, said in a few words: attributes and nested blocks, and beside what the wire knows of
//! them also how they plan (defaults, what forces replacement, what stays) and which values they
//! take.

mod attr;
mod block;
pub(crate) mod model;

pub use attr::{Attr, AttrType, Check};
pub use block::{Block, Nested, Nesting, Schema};
