//! The planning walk over resources: each instance read, validated and planned by its provider;
//! what is no longer declared is found. Instances are worked out on all cores, each to a part of
//! its resource's cell.

mod checks;
mod data;
mod force;
mod going;
mod gone;
mod instance;
mod links;
mod look;
mod managed;
mod orphans;
mod provision;
mod removed;
mod resource;
mod walk;
mod wishes;

pub use checks::about;
pub use data::unknown_object;
pub use force::no_guard;
pub(super) use force::trigger;
pub use links::ByEnd;
pub use removed::{removed, repetition};
pub use resource::{assemble, ignore};
pub use walk::PlanWalk;
pub use wishes::Wishes;
