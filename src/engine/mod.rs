//! The engine: launches plugins, stages, deploys, remembers. Knows neither the console nor the command line.

pub mod api;
pub mod event;
pub mod plugin;
pub mod store;
pub mod view;
