//! For tests: reads the Go text in which recorded values and types are written
//! (`cty.ObjectVal(map[string]cty.Value{…})`), so that recordings of the reference engine can be
//! compared with ours. Panics on text that it does not know.

mod go;
mod schemas;
mod skip;
mod vectors;

pub use schemas::schema;
pub use skip::skipped;
pub use vectors::{optional_value, path_marks, readable, recorded, ty, types, value, vectors};
