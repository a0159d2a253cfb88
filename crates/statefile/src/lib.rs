//! The state file of the language, state version 4, as OpenTofu 1.12 reads and writes it: the same
//! fields in the same order, the same bytes. Fields that are not known here are kept as they are.
//!
//! What stands in it is not looked into: values stay JSON text, addresses stay text. Formats are
//! facts of OpenTofu's `internal/states/statefile` and of files that it wrote.

mod document;
pub mod encryption;
mod error;
mod fields;
mod lock_info;
mod members;
mod text;
mod version3;
mod write;

pub use document::{Instance, Key, Mode, Output, Resource, StateFile};
pub use error::ReadError;
pub use fields::{Fields, Raw};
pub use lock_info::LockInfo;
pub use text::{compact, indented};
