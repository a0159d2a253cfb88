//! What is measured while an engine works, for programs that watch: folded from the events, served
//! over HTTP as the text that Prometheus reads. Owns its counters; told by the bus, asked by who
//! comes to the address that an operator named.

mod measures;
mod served;
mod sights;
#[cfg(test)]
mod tests;

pub use measures::Measures;
pub use served::{MetricsError, Served, serve};
