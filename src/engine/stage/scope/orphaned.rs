//! Values of a module instance that is in the state and not in the configuration any more, as far
//! as they follow from its key and from what is left: its arguments, local values and outputs.
//! Nothing of it is a node of the walk, so they are evaluated when first asked for.

use super::{ModuleScope, Phase};
use crate::engine::stage::values::{Repetition, Worked};
use cty::{Mark, Value};
use lang::addr::{InstanceKey, ModuleInstance};
use lang::config::{ModuleCall, Variable};
use lang::syntax::ast::Expr;
use std::sync::Arc;

impl ModuleScope<'_> {
    /// Whether the state alone has this module instance.
    pub(in crate::engine::stage) fn is_orphaned(&self) -> bool {
        self.around.phase == Phase::Plan && self.around.values.lacks(self.instance)
    }

    /// The value of a variable of an orphaned instance. What cannot be evaluated is unknown: there
    /// is no error, because nothing in the configuration is wrong.
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
        let worked = Worked::Variable(self.instance.clone(), name.clone(), value.clone());
        self.around.values.absorb([worked]);
        Some(value)
    }

    /// The argument that the call gives to a variable, or the default. `None` where it has no
    /// value.
    fn orphaned_argument(&self, variable: &Variable) -> Option<Value> {
        let (outer, call, key) = split(self.instance)?;
        let module = self.around.root.descendant(&outer.path().0)?;
        let call = module.calls.get(&call)?;
        let Some(argument) = call.arguments.get(&variable.name) else {
            return variable.default.clone();
        };
        let scope = ModuleScope::new(self.around, module, &outer).repeated(repetition(call, &key));
        let value = evaluated(&scope, &argument.expr)?;
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
        let worked = Worked::Local(self.instance.clone(), name.clone(), value.clone());
        self.around.values.absorb([worked]);
        Some(value)
    }

    /// The output of a module that an orphaned instance calls once.
    pub(super) fn orphaned_output(&self, call: &Arc<str>, output: &Arc<str>) -> Option<Value> {
        let call = self.module.calls.get(call).filter(|_| self.is_orphaned())?;
        if call.count.is_some() || call.for_each.is_some() || call.enabled.is_some() {
            return None;
        }
        let child = self.instance.child(&call.name, InstanceKey::None);
        if let Some(value) = self.around.values.output(&child, output) {
            return Some(value);
        }
        let module = call.module.as_ref()?;
        let declared = module.outputs.get(output)?;
        let value = evaluated(
            &ModuleScope::new(self.around, module, &child),
            &declared.value,
        );
        let value = marked(
            value.unwrap_or_else(Value::dynamic),
            declared.sensitive,
            declared.ephemeral,
        );
        let worked = Worked::Output(child, output.clone(), value.clone());
        self.around.values.absorb([worked]);
        Some(value)
    }
}

fn evaluated(scope: &ModuleScope<'_>, expr: &Expr) -> Option<Value> {
    let (value, diags) = scope.evaluate(expr);
    (!diags.has_errors()).then_some(value)
}

/// The calling instance, the name of the call and the key of the instance.
fn split(instance: &ModuleInstance) -> Option<(ModuleInstance, Arc<str>, InstanceKey)> {
    let (name, key) = instance.0.last()?;
    Some((instance.parent()?, name.clone(), key.clone()))
}

/// `each` and `count` in a call that does not have this key any more: the key says what they were,
/// but for `each.value`.
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

/// A value with the marks that its declaration asks for.
pub(in crate::engine::stage) fn marked(value: Value, sensitive: bool, ephemeral: bool) -> Value {
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
