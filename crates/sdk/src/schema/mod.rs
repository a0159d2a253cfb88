//! Schema builder for authors: attributes and nested blocks with their wire properties, their
//! behaviour in a plan (defaults, replacement, stable values) and checks.

mod attr;
mod block;
pub(crate) mod model;
mod timeouts;

pub use attr::{Attr, AttrType, Check};
pub use block::{Block, Nested, Nesting, Schema};
pub use timeouts::{Operation, Timeouts};
