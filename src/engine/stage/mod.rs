//! Staging: configuration and state to changes. A walk over the configuration's nodes, each worked
//! out once; nothing is written but the stage itself.

pub mod adopt;
pub mod cell;
pub mod change;
mod choose;
pub mod commands;
pub mod conditions;
pub mod config_json;
mod create_first;
mod cycle;
pub mod diff;
pub mod ephemeral;
pub mod expand;
pub mod ignore;
pub mod import;
pub mod keep;
pub mod managed;
pub mod masks;
mod move_order;
pub mod moves;
mod names;
pub mod narrow;
pub mod needs;
pub mod nodes;
pub mod objects;
mod output_changes;
pub mod plan;
pub mod plan_json;
pub mod prior;
pub mod prior_values;
mod providers;
pub(super) mod provision;
pub mod refactor_checks;
#[cfg(test)]
pub(super) mod samples;
pub mod scope;
pub mod select;
pub mod show;
pub mod sights;
pub mod staging;
pub mod steps;
mod stored;
mod targets;
pub mod validate;
pub mod values;
pub mod walk;
