//! What a plan may say: the value proposed to a provider, and the checks of what the provider makes
//! of it. Pure functions over a schema and values of its implied type, without marks.

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

/// Where a rule is broken, and how.
pub type Violation = (Path, String);
