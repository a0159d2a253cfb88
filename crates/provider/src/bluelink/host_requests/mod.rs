//! Requests of plugins to their host during a call that changes something: deploy and destroy
//! objects of other types, look up objects in the state, lock resources. Each request belongs to
//! that call, is recorded with its operation, and ends with it.

mod active_calls;
mod locking;
mod locks;
mod lookup;
mod side_effects;
#[cfg(test)]
mod tests;

pub(super) use active_calls::{ActiveCalls, CALL, Entry};
pub(super) use lookup::{external_id, read};
