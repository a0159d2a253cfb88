//! Deploy: turns a selection into steps and runs them in order. Every call that changes something
//! is recorded before and after it.

pub mod command_patterns;
mod failure_class;
pub mod instance;
pub mod provision;
pub mod record;
pub mod run;
#[cfg(test)]
mod tests;
mod waits;
