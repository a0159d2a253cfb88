//! What plugins ask of their host while one of their calls changes something: to deploy and destroy
//! objects of other types, to look into the state, to lock resources. All of it is on behalf of
//! that call, is on record with its operation, and is over when it is.

mod book;
mod deeds;
mod locking;
mod locks;
mod lookup;
#[cfg(test)]
mod tests;

pub(super) use book::{CALL, Entry, Gate};
pub(super) use lookup::{read, world_id};
