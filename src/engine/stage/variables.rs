//! Root variable values of a stage.

use super::staging::PlanInput;
use cty::{Mark, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the values that a deploy uses: given values, otherwise defaults. Those given by
/// reference are not among them.
pub(super) fn values_with_defaults(basis: &PlanInput) -> BTreeMap<Arc<str>, Value> {
    let secrets = &basis.secrets.recorded;
    let declared = basis.root.variables.iter();
    let declared = declared.filter(|(name, _)| !secrets.contains(name));
    let all = declared.filter_map(|(name, declared)| {
        let given = basis.given_texts.get(name).cloned();
        let value = given.or_else(|| declared.default.clone())?;
        let value = if declared.ephemeral {
            value.mark(Mark::Ephemeral)
        } else {
            value
        };
        Some((name.clone(), value))
    });
    all.collect()
}
