//! Plan walk over resources: providers read, validate and plan each instance; undeclared objects
//! are found here too. Instances run on all cores, and each adds its part to the result (`Cell`) of
//! its resource.

mod checks;
mod data;
mod force;
mod guards;
mod instance;
mod links;
mod managed;
mod options;
mod orphans;
mod provision;
mod read_object;
mod removal;
mod removal_input;
mod removed;
mod resource;
mod walk;

pub use checks::with_address;
pub use data::unknown_object;
pub(super) use force::trigger;
pub use guards::invalid_prevent_destroy;
pub use links::LinksByEnd;
pub use managed::storable_configuration;
pub use options::PlanOptions;
pub use removed::{removed, repetition};
pub use resource::{assemble, ignore};
pub use walk::PlanWalk;
