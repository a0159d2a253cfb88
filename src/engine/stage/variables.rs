//! Root variable values of a stage.

use cty::{Mark, Value};
use lang::config::Module;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the values that a deploy uses: given values, otherwise defaults.
pub(super) fn values_with_defaults(
    root: &Module,
    given: &BTreeMap<Arc<str>, Value>,
) -> BTreeMap<Arc<str>, Value> {
    let declared = root.variables.iter();
    let all = declared.filter_map(|(name, declared)| {
        let given = given.get(name).cloned();
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
