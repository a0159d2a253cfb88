//! Metrics and traces of the engine, both made from the events on the bus. Nothing is measured,
//! served or exported unless an address is configured.

pub mod metrics;
pub mod traces;
