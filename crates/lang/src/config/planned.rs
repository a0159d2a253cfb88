//! Values of root variables stored in a plan. The apply accepts the same values again, and new ones
//! for ephemeral variables.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cty::Value;

use super::inputs::{InputValue, Origin, Overridden, convert_given};
use super::model::Variable;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;

/// Values of root variables in a plan.
#[derive(Clone, Default, PartialEq)]
pub struct Planned {
    /// Given values or defaults by variable. A plan file has no values of ephemeral variables.
    pub values: BTreeMap<Arc<str>, Value>,
    /// Overridden values of environment and automatic files at plan time: they had no effect then,
    /// so they are no mismatch now.
    pub overridden: Overridden,
    /// True for an apply, which needs the values of ephemeral variables again. Showing a plan needs
    /// none.
    pub applies: bool,
}

impl Eq for Planned {}

/// Prints only names, because values may be sensitive.
impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Planned {
    /// Value of a variable: the plan's, unless the variable is ephemeral. `given` is the current
    /// value from environment, files and flags.
    pub(super) fn value(
        &self,
        variable: &Variable,
        given: Option<InputValue>,
        diags: &mut Diagnostics,
    ) -> Option<InputValue> {
        let kept = self.values.get(&variable.name);
        // No stored value: the plan comes from this process, which has all flags.
        if let Some(given) = given
            .as_ref()
            .filter(|_| variable.ephemeral && kept.is_none())
        {
            return Some(given.clone());
        }
        let Some(value) = kept.or(variable.default.as_ref()) else {
            if self.applies {
                diags.push(missing(variable));
            }
            return None;
        };
        let value = value.clone().unmark_deep().0;
        let planned = InputValue {
            value: planned_value(variable, &value),
            given: value,
            origin: Origin::Plan,
            span: None,
        };
        let other =
            |given: &InputValue| !variable.ephemeral && self.differs(variable, &planned, given);
        if let Some(given) = given.filter(other) {
            diags.push(mismatch(variable, &given));
        }
        Some(planned)
    }

    fn differs(&self, variable: &Variable, planned: &InputValue, given: &InputValue) -> bool {
        let automatic = matches!(given.origin, Origin::Environment | Origin::File);
        // Environment and automatic files may still have the values that the plan overrode.
        let overridden = self.overridden.get(&variable.name).filter(|_| automatic);
        let mut known = overridden.into_iter().flatten();
        planned.value != given.value
            && !known
                .any(|value| planned_value(variable, &value.clone().unmark_deep().0) == given.value)
    }
}

/// Value of a plan, whose checks already ran.
fn planned_value(variable: &Variable, value: &Value) -> Value {
    convert_given(variable, value, None, &mut Diagnostics::new())
}

fn mismatch(variable: &Variable, given: &InputValue) -> Diagnostic {
    let name = &variable.name;
    let from = match given.origin {
        Origin::Environment => format!("the environment variable TF_VAR_{name}"),
        Origin::Flag => "--var".to_owned(),
        Origin::File | Origin::NamedFile | Origin::Default | Origin::Plan | Origin::Secret => {
            "this file".to_owned()
        }
    };
    let detail = format!(
        "The plan has a different value of the variable \"{name}\" than {from}. Values of \
        variables are part of the plan. Remove this value, or plan again with it."
    );
    let place: Span = given.span.unwrap_or(variable.span);
    Diagnostic::error("Mismatch between input and plan variable value", detail).at(place)
}

fn missing(variable: &Variable) -> Diagnostic {
    let name = &variable.name;
    let detail = match variable.ephemeral {
        true => format!(
            "The variable \"{name}\" is ephemeral, so the plan does not store its value. Set it \
            again with --var, --var-file or TF_VAR_{name}."
        ),
        false => format!(
            "The plan has no value for the variable \"{name}\", which has no default value. Plan \
            again."
        ),
    };
    Diagnostic::error("No value for required variable", detail).at(variable.span)
}
