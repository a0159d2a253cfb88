//! Prometheus metrics of an engine, folded from its events and served over HTTP. Owns the counters;
//! the bus delivers the events.

mod counters;
mod gauges;
mod server;
#[cfg(test)]
mod tests;

pub use counters::Measures;
pub use server::{MetricsError, Served, serve};
