//! Deploying: a selection becomes steps, run in order; every call that changes the world is on
//! record before and after.

mod class;
mod command;
pub mod guard;
pub mod instance;
mod output;
pub mod provision;
pub mod record;
pub mod run;
mod ssh;
pub mod steps;
mod waits;
