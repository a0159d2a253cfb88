//! Commands of the engine: load, stage, select, deploy, cancel and others. Runs one at a time. Owns
//! the newest stage and the tokens that cancel running work.

mod by_hand;
mod deploying;
mod drawing;
mod error;
mod evaluating;
mod held;
mod installing;
mod kept;
mod lock;
mod orphans;
mod plugins;
mod pushing;
mod reading;
mod renaming;
mod rescue;
mod rest;
mod same;
mod staging;
mod state;
mod taint;
mod transformers;
mod unknown;
mod verb;

pub use evaluating::Evaluator;
pub use kept::StateInFile;
pub(super) use unknown::warning as unknown_outcome;
pub use verb::Work;
