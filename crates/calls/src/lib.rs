//! Calls to plugins. Every call gets a number, waits for a slot of its plugin's process, runs with
//! a deadline and a cancellation token, and is reported and measured. This module owns the
//! numbering, the deadlines and one [`Lane`] for each process, which owns its slots, queue and
//! measurements.
//!
//! ```
//! use flightdeck_calls::{Calls, Deadlines};
//! use model::PluginId;
//! use std::sync::Arc;
//!
//! let bus = model::bus::Bus::default();
//! let calls = Calls::new(Arc::new(bus), Deadlines::default(), Vec::new());
//! let lane = calls.lane(&PluginId("hashicorp/time".into()), 10);
//! assert!(!lane.has_waiters());
//! ```

mod answer;
mod attempts;
mod context;
mod deadlines;
mod error;
mod kind;
mod lane;
mod lanes;
mod linked;
mod method;
mod side_effects;
mod stats;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Checked, ProviderDiagnostic, SharedAnswer};
pub use attempts::{Attempts, Retrying};
pub use context::CallContext;
pub use deadlines::Deadlines;
pub use error::{ProviderError, RefusalCode};
pub use kind::Kind;
pub use lane::{Drained, HostRequest, Lane, Rpc, current, seat};
pub use lanes::Calls;
pub use linked::{LinkEnd, Linked};
pub use method::Method;
pub use side_effects::{NotRecorded, SideEffectRecord, StateEntry};
pub use tonic::Code as GrpcCode;
