//! flightdeck: an operations console for plugin-driven deployments.

pub mod cli;
pub mod engine;
