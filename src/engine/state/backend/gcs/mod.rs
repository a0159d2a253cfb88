//! States in a bucket of Google's storage: an object a workspace, locked by another beside it that
//! may not be there yet. The lock's id is the generation of that object.

mod bucket;
mod credentials;
mod error;
mod object;
mod states;

pub(super) use states::Gcs;
