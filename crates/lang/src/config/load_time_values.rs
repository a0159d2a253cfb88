//! Values needed while modules are loaded: variables declared constant, and the instances of
//! provider configurations.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use super::inputs::{Origin, RootValues, convert_given};
use super::model::{Module, Variable};
use super::repeat::for_each_instances;
use super::statics::{Given, Statics};
use crate::diag::Diagnostics;
use crate::source::Span;

impl RootValues {
    /// Returns the value of a variable, if it has one.
    ///
    /// # Errors
    /// The given value does not fit the variable's type or rules.
    pub(super) fn fitting_value(
        &self,
        variables: &BTreeMap<Arc<str>, Variable>,
        name: &str,
    ) -> Result<Option<Value>, Diagnostics> {
        let (Some(input), Some(variable)) = (self.values.get(name), variables.get(name)) else {
            return Ok(None);
        };
        let mut faults = Diagnostics::new();
        // A default was checked with its declaration.
        if input.origin != Origin::Default {
            convert_given(variable, &input.given, input.span, &mut faults);
        }
        if faults.has_errors() {
            return Err(faults);
        }
        Ok(Some(input.value.clone()))
    }
}

/// Checks that variables declared constant have a value while loading.
pub(super) fn constants(
    module: &Module,
    given: Given<'_>,
    call: Option<Span>,
    diags: &mut Diagnostics,
) {
    let statics = Statics::new(module, given);
    let declared = module.variables.values();
    for variable in declared.filter(|v| v.constant == Some(true)) {
        if let Err(cause) = statics.variable(variable) {
            diags.append(cause);
            let detail = format!(
                "var.{} is declared with const = true, but its value is missing or not known when \
                modules are loaded.",
                variable.name
            );
            let place = call.unwrap_or(variable.span);
            diags.error(place, "Variable is not constant", detail);
        }
    }
}

/// Computes the instances of `provider` blocks with `for_each`, because all later steps need to
/// know them.
pub(super) fn provider_instances(module: &mut Module, given: Given<'_>, diags: &mut Diagnostics) {
    let statics = Statics::new(module, given);
    let mut found = Vec::new();
    for (at, provider) in module.providers.iter().enumerate() {
        let Some(expr) = &provider.for_each else {
            continue;
        };
        let items = statics
            .value(expr)
            .and_then(|value| for_each_instances(value, expr.span).map_err(Diagnostics::from));
        match items {
            Ok(Some(items)) => found.push((at, items.into_iter().collect())),
            Ok(None) => {
                let detail = "The instances of a provider configuration must be known before \
                    planning, but this value depends on an unknown value.";
                diags.error(expr.span, "Invalid for_each argument", detail);
            }
            Err(errors) => diags.append(errors),
        }
    }
    for (at, instances) in found {
        module.providers[at].instances = Some(instances);
    }
}
