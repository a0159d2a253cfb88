//! A deploy as a trace: deploy → operation → attempt → call, sent to a collector while it goes on.
//! The only room that knows the OpenTelemetry libraries. Told by the bus; sends nothing unless an
//! operator named where to.

mod sent;
mod spans;

pub use sent::{Traces, TracesError};
