//! Staging: configuration and state to changes. A walk over the configuration's nodes, each worked out once; nothing is
//! written but the stage itself.

pub mod change;
pub mod conditions;
pub mod expand;
pub mod ignore;
pub mod managed;
pub mod moves;
pub mod nodes;
pub mod objects;
pub mod plan;
pub mod prior;
pub mod scope;
pub mod staging;
pub mod validate;
pub mod values;
pub mod variables;
pub mod walk;
