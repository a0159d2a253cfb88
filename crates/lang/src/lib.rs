//! The Terraform language: configuration texts into one tree with places, the typed configuration
//! model, evaluation and functions. Knows `cty` and nothing of providers or of the console.

pub mod addr;
pub mod body;
pub mod config;
pub mod decode;
pub mod diag;
pub mod eval;
pub mod format;
pub mod functions;
pub mod source;
pub mod syntax;
pub mod written;
