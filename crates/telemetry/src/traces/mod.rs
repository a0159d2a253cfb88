//! Traces of deploys: deploy → operation → attempt → call, exported while the deploy runs. The only
//! module that uses the OpenTelemetry libraries. The bus delivers the events; nothing is exported
//! unless an endpoint is configured.

mod export;
mod spans;

pub use export::{Traces, TracesError};
