//! flightdeck: an operations console for plugin-driven deployments.

pub mod app;
pub mod cli;
pub mod ui;
