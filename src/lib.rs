//! flightdeck: an operations console for plugin-driven deployments.
