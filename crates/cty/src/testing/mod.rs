//! Test support: parses values and types in Go syntax (`cty.ObjectVal(map[string]cty.Value{…})`),
//! so that tests can compare recorded results of OpenTofu and go-cty. Panics on unknown syntax.

mod go;
mod schemas;
mod skip;
mod vectors;

pub use schemas::schema;
pub use skip::skipped;
pub use vectors::{optional_value, path_marks, readable, recorded, ty, types, value, vectors};
