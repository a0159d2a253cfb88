//! Metrics and traces of the engine, both made from the events on the bus. Nothing is measured,
//! served or exported unless an address is configured.
//!
//! ```no_run
//! # use flightdeck_telemetry::metrics::MetricsError;
//! # async fn example(bus: model::bus::Bus) -> Result<(), MetricsError> {
//! let tasks = tokio_util::task::TaskTracker::new();
//! let address = ([127, 0, 0, 1], 9464).into();
//! let served = flightdeck_telemetry::metrics::serve(address, &bus, &tasks).await?;
//! println!("metrics at http://{}/metrics", served.address);
//! # Ok(())
//! # }
//! ```

pub mod metrics;
pub mod traces;
