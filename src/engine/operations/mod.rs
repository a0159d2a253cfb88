//! Commands of the engine: load, stage, select, deploy, cancel and others. Runs one at a time. Owns
//! the newest stage and the tokens that cancel running work.

mod changed_files;
mod command;
mod deploying;
mod earlier_configuration;
mod error;
mod evaluating;
mod forget_targets;
mod graphs;
mod group_commits;
mod group_declarations;
mod group_files;
mod group_import;
mod import_forget;
mod installing;
mod lock;
mod looking;
mod observing;
mod opened_stage;
mod orphans;
mod plugins;
mod pushing;
mod reading;
mod reconcile_loop;
mod reconciling;
mod renaming;
mod rescue;
mod revealing;
mod rollout_requests;
mod rollouts;
mod saved_selections;
mod secrets;
mod staging;
mod stale_check;
mod state;
mod stored_stages;
mod taint;
mod transformers;
mod type_overlays;
mod unfinished;
mod unknown;
mod watching;

pub use command::Operations;
pub use evaluating::Evaluator;
pub use stored_stages::StateInFile;
pub(super) use unknown::warning as unknown_outcome;
