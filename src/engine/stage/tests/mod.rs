//! Rules of planning as tables: configuration, state and flags, and the planned changes. Same rules
//! as OpenTofu.

mod actions;
mod addresses;
mod blocks;
mod checks;
mod configuration;
mod expansion;
mod explanations;
mod group_drift;
mod imports;
mod links;
mod modules;
mod moves;
mod narrow;
mod needs;
mod order;
mod outputs;
mod providers;
mod provisioners;
mod recorded_orders;
mod references;
mod refresh;
mod removal;
mod selection;
mod unknown;
mod validation;
mod variables;
