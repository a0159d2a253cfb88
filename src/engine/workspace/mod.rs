//! The workspace: what is declared on disk, and what refers to what. Reads files; evaluates
//! nothing.

pub mod load;
pub mod provider_addr;
pub mod refs;
