//! Progress steps of an installation.

pub use model::InstallStep as Step;
use std::sync::Arc;

/// Receives each step, on any thread.
pub type Tell = Arc<dyn Fn(Step) + Send + Sync>;
