//! Rules for plans: the value proposed to a provider, and the checks of the provider's response.
//! Pure functions of a schema and of values of its implied type, without marks.

mod compatible;
mod conform;
mod legacy;
mod proposed;
mod valid;

use crate::Path;

pub use compatible::assert_object_compatible;
pub use conform::type_mismatches;
pub use legacy::normalize_legacy;
pub use proposed::{planned_unknown_object, proposed_new};
pub use valid::assert_plan_valid;

/// Path of a broken rule, with a message.
pub type Violation = (Path, String);
