//! Values of a module instance that only the state has, as far as its key and the remaining
//! configuration determine them: arguments, local values and outputs. The walk has no nodes for it,
//! so they are evaluated on first use.

use super::{ModuleScope, Phase};
use crate::stage::values::{PublishedValue, Repetition};
use cty::{Mark, Value};
use lang::addr::{InstanceKey, ModuleInstance};
use lang::config::{ModuleCall, Variable};
use lang::syntax::ast::Expr;
use std::sync::Arc;

impl ModuleScope<'_> {
    /// Returns true if only the state has this module instance.
    pub(in crate::stage) fn is_orphaned(&self) -> bool {
        self.context.phase == Phase::Plan && self.context.values.excludes_instance(self.instance)
    }

    /// Returns the value of a variable of an orphaned instance, unknown if its evaluation fails.
    /// There are no errors, because the configuration is not wrong.
    pub(super) fn orphaned_variable(&self, name: &Arc<str>) -> Option<Value> {
        let variable = self
            .module
            .variables
            .get(name)
            .filter(|_| self.is_orphaned())?;
        let value = self.orphaned_argument(variable);
        let unknown = || Value::unknown(variable.ty.ty.without_optional());
        let value = marked(
            value.unwrap_or_else(unknown),
            variable.sensitive,
            variable.ephemeral,
        );
        // Published, so that each value is evaluated once.
        let worked = PublishedValue::Variable(self.instance.clone(), name.clone(), value.clone());
        self.context.values.publish([worked]);
        Some(value)
    }

    /// Returns the argument of the call, or the default; `None` without a value.
    fn orphaned_argument(&self, variable: &Variable) -> Option<Value> {
        let (outer, call, key) = split(self.instance)?;
        let module = self.context.root.descendant(&outer.path().0)?;
        let call = module.calls.get(&call)?;
        let Some(argument) = call.arguments.get(&variable.name) else {
            return variable.default.clone();
        };
        let scope =
            ModuleScope::new(self.context, module, &outer).with_repetition(repetition(call, &key));
        let value = evaluated(&scope, &argument.expr)?;
        // An error in a module that is walked; here the value only stays unknown.
        if value.contains_mark(&Mark::Ephemeral) && !variable.ephemeral {
            return None;
        }
        let value = variable.convert(&value).ok()?;
        match value.is_known() && value.is_null() && !variable.nullable {
            true => variable.default.clone(),
            false => Some(value),
        }
    }

    pub(super) fn orphaned_local(&self, name: &Arc<str>) -> Option<Value> {
        let local = self
            .module
            .locals
            .get(name)
            .filter(|_| self.is_orphaned())?;
        let value = evaluated(self, &local.expr).unwrap_or_else(Value::dynamic);
        let worked = PublishedValue::Local(self.instance.clone(), name.clone(), value.clone());
        self.context.values.publish([worked]);
        Some(value)
    }

    /// Returns an output of a module that an orphaned instance calls without repetition.
    pub(super) fn orphaned_output(&self, call: &Arc<str>, output: &Arc<str>) -> Option<Value> {
        let call = self.module.calls.get(call).filter(|_| self.is_orphaned())?;
        // Without nodes the instances of a repeated call are not known.
        if call.count.is_some() || call.for_each.is_some() || call.enabled.is_some() {
            return None;
        }
        let child = self.instance.child(&call.name, InstanceKey::None);
        if let Some(value) = self.context.values.output(&child, output) {
            return Some(value);
        }
        let module = call.module.as_ref()?;
        let declared = module.outputs.get(output)?;
        let value = evaluated(
            &ModuleScope::new(self.context, module, &child),
            &declared.value,
        );
        let value = marked(
            value.unwrap_or_else(Value::dynamic),
            declared.sensitive,
            declared.ephemeral,
        );
        let worked = PublishedValue::Output(child, output.clone(), value.clone());
        self.context.values.publish([worked]);
        Some(value)
    }
}

fn evaluated(scope: &ModuleScope<'_>, expr: &Expr) -> Option<Value> {
    let (value, diags) = scope.evaluate(expr);
    (!diags.has_errors()).then_some(value)
}

/// Splits an instance into the calling instance, the name of the call and the key.
fn split(instance: &ModuleInstance) -> Option<(ModuleInstance, Arc<str>, InstanceKey)> {
    let (name, key) = instance.0.last()?;
    Some((instance.parent()?, name.clone(), key.clone()))
}

/// Returns `each` and `count` for a key that the call no longer has; `each.value` is unknown.
fn repetition(call: &ModuleCall, key: &InstanceKey) -> Repetition {
    match key {
        InstanceKey::Int(index) if call.count.is_some() => Repetition {
            count_index: Some(Value::number(*index)),
            ..Repetition::default()
        },
        InstanceKey::Str(key) if call.for_each.is_some() => Repetition {
            each_key: Some(Value::string(key)),
            each_value: Some(Value::dynamic()),
            ..Repetition::default()
        },
        _ => Repetition::default(),
    }
}

/// Applies the marks of a declaration to a value.
pub(in crate::stage) fn marked(value: Value, sensitive: bool, ephemeral: bool) -> Value {
    let value = if sensitive {
        value.mark(Mark::Sensitive)
    } else {
        value
    };
    if ephemeral {
        value.mark(Mark::Ephemeral)
    } else {
        value
    }
}
