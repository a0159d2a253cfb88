//! Functions of the commands and the checks of their availability.

mod apply;
mod around;
mod cursor;
mod general;
mod leave;
mod orphans;
mod places;
mod ready;
mod search;
mod select;
mod stage;
mod unknown;

pub use apply::*;
pub use around::*;
pub use cursor::*;
pub use general::*;
pub use leave::*;
pub use orphans::*;
pub use places::*;
pub use ready::*;
pub use search::*;
pub use select::*;
pub use stage::*;
pub use unknown::*;
