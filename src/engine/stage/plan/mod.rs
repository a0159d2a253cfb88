//! Plan walk over resources: providers read, validate and plan each instance; undeclared objects
//! are found here too. Instances run on all cores, and each adds its part to the result (`Cell`) of
//! its resource.

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
