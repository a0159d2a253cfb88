//! Functions of the commands and the checks of their availability.

mod apply;
mod availability;
mod close;
mod cursor;
mod edit;
mod edit_state;
mod general;
mod groups;
mod orphans;
mod places;
mod reveal;
mod search;
mod select;
mod stage;
mod start;
mod tree;
mod unknown;
mod workspaces;

pub use apply::*;
pub use availability::*;
pub use close::*;
pub use cursor::*;
pub use edit::*;
pub use edit_state::*;
pub use general::*;
pub use groups::*;
pub use orphans::*;
pub use places::*;
pub use reveal::*;
pub use search::*;
pub use select::*;
pub use stage::*;
pub use start::*;
pub use tree::*;
pub use unknown::*;
pub use workspaces::*;
