//! Staging: plans changes from configuration and state. A walk evaluates each node of the
//! configuration once; the only result is the stage.

pub mod aspects;
pub mod cell;
pub mod change;
pub mod check_results;
pub mod checked;
mod checks_json;
pub mod commands;
pub mod conditions;
pub mod config_json;
mod create_first;
mod cycle;
pub mod diff;
pub mod dot_graph;
pub mod drift;
pub mod encoding;
pub mod ephemeral;
pub mod evaluate;
pub mod expand;
pub mod external_inputs;
pub mod groups;
pub mod ignore;
pub mod import;
pub mod import_object;
pub mod keyed;
pub mod link_arguments;
pub mod managed;
pub mod masks;
pub mod member_hash;
mod move_order;
pub mod moves;
mod names;
pub mod narrow;
pub mod needs;
pub mod nodes;
pub mod objects;
pub mod outlines;
mod output_changes;
pub mod plan;
pub mod plan_json;
pub mod prior;
pub mod prior_values;
mod provider_instance;
mod providers;
pub(super) mod provision;
pub mod refactor_checks;
pub mod relevant;
pub mod renames;
pub mod scope;
pub mod sealing;
pub mod secrets_in_state;
pub mod select;
pub mod show;
pub mod staging;
mod state_values;
pub mod steps;
mod targets;
#[cfg(test)]
pub(super) mod test_stages;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
pub mod validate;
pub mod values;
mod variables;
pub mod walk;
