//! The engine: launches plugins, stages, deploys, remembers. Knows neither the console nor the command line.

pub mod plugin;
