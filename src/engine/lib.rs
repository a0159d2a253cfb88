//! The engine: plugins, stages, deploys, state and store. Independent of console and command line.
//!
//! ```no_run
//! # async fn example() -> Result<(), flightdeck_engine::EngineError> {
//! use flightdeck_engine::{Engine, Settings};
//!
//! let engine = Engine::start(Settings::new("/srv/app")).await?;
//! let stage = engine.stage(Default::default()).await?;
//! println!("{:?}", stage.counts);
//! engine.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub mod conformance;
pub mod deploy;
pub mod diagnostics;
pub mod doctor;
pub mod error;
pub mod fmt;
pub mod handle;
pub mod install;
pub mod memory_limit;
mod operations;
pub mod provider_resolution;
pub mod stage;
pub mod workspace_store;

pub use error::EngineError;
pub use handle::Engine;
pub use model::secrets::Secrets;
pub use model::settings::{Access, Settings};
