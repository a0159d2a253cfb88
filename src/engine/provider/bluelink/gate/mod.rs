//! Requests of plugins to their host during a call that changes something: deploy and destroy
//! objects of other types, look up objects in the state, lock resources. Each request belongs to
//! that call, is recorded with its operation, and ends with it.

mod book;
mod deeds;
mod locking;
mod locks;
mod lookup;
#[cfg(test)]
mod tests;

pub(super) use book::{CALL, Entry, Gate};
pub(super) use lookup::{read, world_id};
