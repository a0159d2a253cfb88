//! The configuration of a workspace: what is declared, before anything is evaluated.

mod model;

pub use model::*;
