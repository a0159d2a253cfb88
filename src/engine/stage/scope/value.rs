//! Resolves references to values, from the nodes that the walk has evaluated.

use super::{ModuleScope, Phase};
use crate::stage::keyed::{declared_key, keyed_local};
use crate::stage::values::Expansion;
use cty::{Type, Value};
use lang::addr::{AbsResource, InstanceKey, Mode, Resource};
use lang::config::{Module, ModuleCall};
use lang::diag::Diagnostics;
use lang::syntax::ast::Traversal;
use std::cell::Cell;
use std::sync::Arc;
use workspace::refs::Ref;

impl<'a> ModuleScope<'a> {
    pub(super) fn value_of(
        &self,
        t: &Traversal,
        reference: Ref,
    ) -> Result<(Value, usize), Diagnostics> {
        let values = &self.context.values;
        let later = Value::dynamic;
        Ok(match reference {
            Ref::Var(name) => match &self.own_variable {
                Some((own, value)) if *own == name => (value.clone(), 1),
                _ => (
                    values
                        .variable(self.instance, &name)
                        .or_else(|| self.orphaned_variable(&name))
                        .unwrap_or_else(later),
                    1,
                ),
            },
            Ref::Local(name) => (
                values
                    .local(self.instance, &name)
                    .or_else(|| self.elements_so_far(&name))
                    .or_else(|| self.orphaned_local(&name))
                    .unwrap_or_else(later),
                1,
            ),
            Ref::Each(name) => {
                let value = if &*name == "key" {
                    &self.repetition.each_key
                } else {
                    &self.repetition.each_value
                };
                (value.clone().unwrap_or_else(later), 1)
            }
            Ref::Count(_) => (self.repetition.count_index.clone().unwrap_or_else(later), 1),
            // `self` is the root of the reference, so it uses none of the steps.
            Ref::SelfObject => (self.self_value.clone().unwrap_or_else(later), 0),
            Ref::Path(name) => (self.path(&name), 1),
            Ref::Terraform(name) if &*name == "workspace" => {
                (self.context.root.workspace_value(), 1)
            }
            Ref::Terraform(_) => {
                // Ephemeral, because the value differs between plan and deploy.
                let applying = Value::bool(self.context.phase == Phase::Apply);
                (applying.mark(cty::Mark::Ephemeral), 1)
            }
            Ref::Resource {
                resource,
                used,
                key,
            } => {
                let abs = AbsResource {
                    module: self.instance.clone(),
                    resource,
                };
                // The value covers all instances, so the evaluator still has to apply the key.
                let used = used - usize::from(key.is_some());
                (
                    values
                        .resource(&abs)
                        .unwrap_or_else(|| self.unevaluated_value(&abs.resource)),
                    used,
                )
            }
            Ref::ModuleOutput { call, key, output } => self.module_output(t, &call, key, &output),
            Ref::Module { call, .. } => (self.call_value(&call), 1),
            Ref::Check(_) => (later(), t.steps.len()),
        })
    }

    /// Returns the present value of a local value whose elements instances of a resource may need
    /// before all of them have changed.
    fn elements_so_far(&self, name: &str) -> Option<Value> {
        if self.context.phase != Phase::Apply {
            return None;
        }
        keyed_local(self.module, name)?;
        let scope = ModuleScope::new(self.context, self.module, self.instance);
        let (value, diags) = scope.evaluate(&self.module.locals.get(name)?.expr);
        (!diags.has_errors()).then_some(value)
    }

    /// Returns the value of a resource that is not evaluated. While planning, a repeated resource
    /// has no instances yet.
    fn unevaluated_value(&self, resource: &Resource) -> Value {
        if resource.mode == Mode::Ephemeral {
            return Value::dynamic().mark(cty::Mark::Ephemeral);
        }
        let declared = self
            .module
            .resources
            .get(resource)
            .filter(|_| self.context.phase == Phase::Plan);
        match declared {
            Some(r) if r.count.is_some() => Value::empty_tuple(),
            Some(r) if r.for_each.is_some() => Value::empty_object(),
            _ => Value::dynamic(),
        }
    }

    pub(super) fn path(&self, which: &str) -> Value {
        match which {
            "module" => Value::string(&self.module.dir_text),
            "root" => Value::string(&self.context.root.dir_text),
            _ => Value::string(
                std::path::absolute(&self.context.dir)
                    .unwrap_or_else(|_| self.context.dir.clone())
                    .to_string_lossy(),
            ),
        }
    }

    fn module_output(
        &self,
        t: &Traversal,
        call: &Arc<str>,
        key: Option<InstanceKey>,
        output: &Arc<str>,
    ) -> (Value, usize) {
        if self.context.phase == Phase::Validate {
            return (self.call_value(call), 1);
        }
        let expansion = self.context.values.call(self.instance, call);
        if expansion.is_none()
            && key.is_none()
            && let Some(value) = self.orphaned_output(call, output)
        {
            return (value, 2);
        }
        let key = key.and_then(|key| match expansion.as_deref() {
            Some(Expansion::Count(_)) => declared_key(&key, true, false),
            Some(Expansion::Each(_)) => declared_key(&key, false, true),
            _ => Some(key),
        });
        match (expansion.as_deref(), key) {
            // The value covers all steps of the reference, because nothing is known about any of
            // them.
            (None, _) => (Value::dynamic(), t.steps.len()),
            (Some(Expansion::Single), None) => {
                let child = self.instance.child(call, InstanceKey::None);
                (
                    self.context
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    2,
                )
            }
            (Some(Expansion::Count(n)), Some(InstanceKey::Int(i))) if i < *n => {
                let child = self.instance.child(call, InstanceKey::Int(i));
                (
                    self.context
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    3,
                )
            }
            (Some(Expansion::Each(items)), Some(InstanceKey::Str(k)))
                if items.iter().any(|(name, _)| *name == k) =>
            {
                let child = self.instance.child(call, InstanceKey::Str(k));
                (
                    self.context
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    3,
                )
            }
            // The call has no such instance; the evaluator reports that on the value of the whole
            // call.
            _ => (self.call_value(call), 1),
        }
    }

    /// Returns a module call as an object of its outputs, or a tuple or object of these.
    fn call_value(&self, call: &Arc<str>) -> Value {
        if let Some(value) = self.context.values.whole_call(self.instance, call) {
            return value;
        }
        let Some(expansion) = self.context.values.call(self.instance, call) else {
            return Value::dynamic();
        };
        let Some(declared) = self.module.calls.get(call) else {
            return Value::dynamic();
        };
        let Some(module) = declared.module.as_ref() else {
            return Value::dynamic();
        };
        if self.context.phase == Phase::Validate {
            return Value::unknown(outputs_type(declared, module));
        }
        let is_complete = Cell::new(true);
        let one = |key: InstanceKey| {
            let child = self.instance.child(call, key);
            Value::object(module.outputs.keys().map(|name| {
                let value = self.context.values.output(&child, name);
                is_complete.set(is_complete.get() && value.is_some());
                (name.clone(), value.unwrap_or_else(Value::dynamic))
            }))
        };
        let value = match &*expansion {
            Expansion::Single => one(InstanceKey::None),
            Expansion::Disabled => Value::null(Type::Dynamic),
            Expansion::Count(n) => {
                Value::tuple((0..*n).map(|i| one(InstanceKey::Int(i))).collect())
            }
            Expansion::Each(items) => Value::object(
                items
                    .iter()
                    .map(|(k, _)| (k.clone(), one(InstanceKey::Str(k.clone())))),
            ),
            Expansion::Unknown { .. } => Value::dynamic(),
        };
        // Large modules are referenced as a whole many times. During a deploy, a reference to one
        // instance may come before the others are evaluated.
        if is_complete.get() {
            self.context
                .values
                .cache_call_value(self.instance, call, value.clone());
        }
        value
    }
}

/// Returns the type of a module call while nothing is known: the names of its outputs.
fn outputs_type(call: &ModuleCall, module: &Module) -> Type {
    let one = Type::object(
        module
            .outputs
            .keys()
            .map(|name| (name.clone(), Type::Dynamic)),
    );
    match (&call.count, &call.for_each) {
        (Some(_), _) => Type::list(one),
        (_, Some(_)) => Type::map(one),
        _ => one,
    }
}
