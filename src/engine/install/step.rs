//! Who hears of what is told while something is installed.

pub use crate::engine::words::InstallStep as Step;
use std::sync::Arc;

/// Hears of each step, on whatever thread it happens.
pub type Tell = Arc<dyn Fn(Step) + Send + Sync>;
