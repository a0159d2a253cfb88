//! Rules of planning as tables: configuration, state and flags, and the planned changes. Same rules
//! as OpenTofu.

mod actions;
mod checks;
mod expansion;
mod imports;
mod moves;
mod narrow;
mod order;
mod outputs;
mod providers;
mod refresh;
mod removal;
mod selection;
mod unknown;
