//! Deploying: a selection becomes steps, run in order; every call that changes the world is on
//! record before and after.

mod class;
pub mod instance;
pub mod provision;
pub mod record;
pub mod run;
mod waits;
