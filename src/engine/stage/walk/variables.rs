//! Evaluates variables: given values, arguments of calls or defaults, with their validations.

use super::Walk;
use crate::stage::cell::Cell;
use crate::stage::checked::At;
use crate::stage::conditions::{self, Kind};
use crate::stage::scope::{ModuleScope, Phase, marked};
use crate::stage::values::{Extent, PublishedValue};
use cty::{Mark, Value};
use lang::addr::{ModuleInstance, ModulePath};
use lang::config::{Module, Variable};
use lang::diag::Diagnostic;
use lang::source::Span;
use std::sync::Arc;

impl Walk {
    pub(super) fn variable(
        &self,
        (path, within): (&ModulePath, &Extent),
        name: &Arc<str>,
        cell: &mut Cell,
    ) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(variable) = module.variables.get(name) else {
            return true;
        };
        let mut good = true;
        for instance in self.context.values.instances_in(path, within).iter() {
            let (value, span) = match path.parent() {
                None => (
                    self.root_variable(variable),
                    self.variables.get(name).and_then(|(_, s)| *s),
                ),
                Some((parent, call)) => {
                    let (value, span, fine) =
                        self.passed_value(&parent, call, instance, variable, cell);
                    good &= fine;
                    (value, span)
                }
            };
            let marked = |value| marked(value, variable.sensitive, variable.ephemeral);
            let value = marked(value);
            self.providers.secrets().register(&value);
            // A value in error was replaced by an unknown one, which no validation can judge.
            if good {
                good &= self.validate_variable(module, (instance, variable), &value, span, cell);
            }
            // A module is validated for any argument, not for the value of this call.
            let value = match self.context.phase {
                Phase::Validate => marked(Value::unknown(variable.ty.ty.without_optional())),
                _ => value,
            };
            cell.values.push(PublishedValue::Variable(
                instance.clone(),
                name.clone(),
                value,
            ));
        }
        good
    }

    fn root_variable(&self, variable: &Variable) -> Value {
        if self.context.phase == Phase::Validate {
            return Value::unknown(variable.ty.ty.without_optional());
        }
        match self.variables.get(&variable.name) {
            Some((value, _)) => value.clone(),
            None => variable
                .default
                .clone()
                .unwrap_or_else(|| Value::unknown(variable.ty.ty.without_optional())),
        }
    }

    /// Returns the value that a call passes to a variable.
    fn passed_value(
        &self,
        parent: &ModulePath,
        call: &Arc<str>,
        instance: &ModuleInstance,
        variable: &Variable,
        cell: &mut Cell,
    ) -> (Value, Option<Span>, bool) {
        let unknown = || Value::unknown(variable.ty.ty.without_optional());
        let default = || variable.default.clone().unwrap_or_else(unknown);
        let (Some(module), Some(outer)) = (self.module(parent), instance.parent()) else {
            return (unknown(), None, true);
        };
        let Some(argument) = module
            .calls
            .get(call)
            .and_then(|c| c.arguments.get(&variable.name))
        else {
            return (default(), None, true);
        };
        let scope = ModuleScope::new(&self.context, module, &outer)
            .with_repetition(self.context.values.repetition(instance));
        let (value, diags) = scope.evaluate(&argument.expr);
        if !cell.report(diags) {
            return (unknown(), None, false);
        }
        let span = argument.expr.span;
        // Otherwise the module could store the value, for instance in a resource.
        if value.contains_mark(&Mark::Ephemeral) && !variable.ephemeral {
            let detail = format!(
                "The value for {}.var.{} is ephemeral, but the variable is not, so the module could store the value. Declare the variable with ephemeral = true.",
                instance, variable.name
            );
            return (
                unknown(),
                Some(span),
                cell.report(Diagnostic::error("Ephemeral value not allowed", detail).at(span)),
            );
        }
        match convert_passed_value(variable, instance, &value, span) {
            Ok(value) => (value, Some(span), true),
            Err(error) => (unknown(), Some(span), cell.report(error)),
        }
    }

    fn validate_variable(
        &self,
        module: &Module,
        (instance, variable): (&ModuleInstance, &Variable),
        value: &Value,
        given: Option<Span>,
        cell: &mut Cell,
    ) -> bool {
        if variable.validations.is_empty() {
            return true;
        }
        let address = format!("var.{}", variable.name);
        let mut scope = ModuleScope::new(&self.context, module, instance);
        scope.own_variable = Some((variable.name.clone(), value.clone()));
        // For root variables the place is their declaration, wherever the value came from.
        let place = given.filter(|_| !module.path.is_root());
        let place = place.unwrap_or(variable.span);
        for validation in &variable.validations {
            let (status, diags) = conditions::check(&scope, validation, Kind::Validation(place));
            cell.record_condition(&At::of(&scope), &address, status, &diags);
            if !cell.report(diags) {
                return false;
            }
        }
        true
    }
}

/// Converts a passed value to the variable's type; the default replaces null if the variable is not
/// nullable.
fn convert_passed_value(
    variable: &Variable,
    instance: &ModuleInstance,
    value: &Value,
    span: Span,
) -> Result<Value, Diagnostic> {
    let name = &variable.name;
    let fault = |detail: String| Diagnostic::error("Invalid value for input variable", detail);
    let value = variable.convert(value).map_err(|error| {
        let detail = format!(
            "The given value is not suitable for {instance}.var.{name} declared here: {error}."
        );
        fault(detail).at(variable.span).within(span)
    })?;
    if !(value.is_known() && value.is_null() && !variable.nullable) {
        return Ok(value);
    }
    variable.default.clone().ok_or_else(|| {
        let detail = format!(
            "The given value is not suitable for {instance}.var.{name}: required variable may not be set to null."
        );
        fault(detail).at(span)
    })
}
