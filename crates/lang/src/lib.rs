//! The Terraform language: parsing with source positions, typed configuration model, evaluation and
//! functions. Depends on `cty`, and on nothing of providers or front ends.

pub mod addr;
pub mod body;
pub mod config;
pub mod decode;
pub mod diag;
pub mod eval;
pub mod format;
pub mod functions;
pub mod literal;
pub mod source;
pub mod stored;
pub mod syntax;
