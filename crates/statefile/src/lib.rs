//! Reader and writer of the state file, version 4, byte for byte as OpenTofu 1.12 writes it.
//! Unknown fields are preserved.
//!
//! The contents are not interpreted: values stay JSON text, and addresses stay text. The format
//! follows OpenTofu's `internal/states/statefile` and files that it wrote.

mod document;
pub mod encryption;
mod error;
mod fields;
mod lock_info;
mod members;
mod sensitive_paths;
mod text;
mod version3;
mod write;

pub use document::{Instance, Key, Mode, Output, Resource, StateFile};
pub use error::ReadError;
pub use fields::{Fields, Raw};
pub use lock_info::LockInfo;
pub use text::{compact, indented};
