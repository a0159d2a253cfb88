//! The gcs backend: one object for each workspace, locked by a second object that is created only
//! if absent. The id of the lock is the generation of that object.

mod bucket;
mod credentials;
mod error;
mod object;
mod states;

pub(super) use states::Gcs;
