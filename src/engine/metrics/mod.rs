//! Prometheus metrics of an engine, folded from its events and served over HTTP. Owns the counters;
//! the bus delivers the events.

mod measures;
mod served;
mod sights;
#[cfg(test)]
mod tests;

pub use measures::Measures;
pub use served::{MetricsError, Served, serve};
