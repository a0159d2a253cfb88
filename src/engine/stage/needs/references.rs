//! Finds the references of an expression, and follows them through locals, variables, outputs and
//! data sources.

use super::instances::key_of;
use super::{Needing, Needs};
use crate::stage::keyed::{KeyedLocal, keyed_local};
use crate::stage::scope::ModuleScope;
use crate::stage::values::Repetition;
use lang::addr::{InstanceKey, ModuleInstance, Resource as Name};
use lang::config::{Condition, Module, Resource};
use lang::syntax::ast::{Expr, Lookup, StepKind, Traversal};
use model::ConfigKey;
use model::mutex::lock;
use std::sync::Arc;
use workspace::provider_addr::{self};
use workspace::refs::{self, Ref};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Named {
    Variable(Arc<str>),
    Local(Arc<str>),
    Output(Arc<str>),
    Provider(ConfigKey),
    Data(Name, Option<InstanceKey>),
}

/// Context of an expression.
pub(super) struct Place<'w> {
    pub(super) module: &'w Module,
    pub(super) instance: &'w ModuleInstance,
    pub(super) repetition: Repetition,
    /// Collection of the enclosing `for_each`.
    pub(super) for_each: Option<&'w Expr>,
}

impl Needing<'_> {
    pub(super) fn needs_of_named(&self, instance: &ModuleInstance, named: Named) -> Arc<Needs> {
        let key = (instance.clone(), named);
        if let Some(known) = lock(&self.cache.by_name).get(&key) {
            return known.clone();
        }
        let mut out = Needs::new();
        if let Some(module) = self.context.root.descendant(&instance.path().0) {
            // The recursion ends, because a configuration with cycles is never walked.
            self.collect(module, instance, &key.1, &mut out);
        }
        let out = Arc::new(out);
        // No lock is held while evaluating; a concurrent evaluation computes the same result.
        lock(&self.cache.by_name).insert(key, out.clone());
        out
    }

    fn collect(&self, module: &Module, instance: &ModuleInstance, named: &Named, out: &mut Needs) {
        let inside = Place {
            module,
            instance,
            repetition: Repetition::default(),
            for_each: None,
        };
        match named {
            Named::Local(name) => {
                module
                    .locals
                    .get(name)
                    .into_iter()
                    .for_each(|local| self.expr(&local.expr, &inside, out));
            }
            // The argument belongs to the calling module, so it is followed there.
            Named::Variable(name) => {
                let (Some(outer), Some((path, call))) = (
                    instance.parent(),
                    instance.path().parent().map(|(p, c)| (p, c.clone())),
                ) else {
                    return;
                };
                let Some(parent) = self.context.root.descendant(&path.0) else {
                    return;
                };
                let Some(call) = parent.calls.get(&call) else {
                    return;
                };
                let repetition = self.context.values.repetition(instance);
                let place = Place {
                    module: parent,
                    instance: &outer,
                    repetition,
                    for_each: call.for_each.as_ref(),
                };
                call.arguments
                    .get(name)
                    .into_iter()
                    .for_each(|given| self.expr(&given.expr, &place, out));
            }
            Named::Output(name) => {
                let Some(output) = module.outputs.get(name) else {
                    return;
                };
                self.expr(&output.value, &inside, out);
                conditions(&output.preconditions).for_each(|expr| self.expr(expr, &inside, out));
                output
                    .depends_on
                    .iter()
                    .for_each(|t| self.add_depends_on(t, &inside, out));
                self.of_calls(instance, out);
            }
            Named::Provider(key) => {
                let Some(block) = provider_addr::block_of(&self.context.root, key) else {
                    return;
                };
                let Some(schema) = self.context.schemas.get(&key.address) else {
                    return;
                };
                for lookup in lang::decode::lookups(&block.body, &schema.provider.block) {
                    self.lookup(&lookup, &inside, out);
                }
            }
            // A data source passes on its own needs.
            Named::Data(name, key) => {
                let Some(resource) = module.resources.get(name) else {
                    return;
                };
                let repetition = key
                    .as_ref()
                    .map(crate::stage::plan::repetition)
                    .unwrap_or_default();
                self.resource(
                    resource,
                    &Place {
                        repetition,
                        for_each: resource.for_each.as_ref(),
                        ..inside
                    },
                    out,
                );
            }
        }
    }

    /// Returns the lookups in the blocks of a resource, except in its repetition.
    pub(super) fn lookups_of(&self, module: &Module, resource: &Resource) -> Arc<Vec<Lookup>> {
        let key = (module.path.0.clone(), resource.name.clone());
        if let Some(known) = lock(&self.cache.lookups).get(&key) {
            return known.clone();
        }
        let address = provider_addr::for_resource(&self.context.root, module, resource).address;
        let schema = self.context.schema(&address, &resource.name);
        let mut all = schema
            .map(|s| lang::decode::lookups(&resource.body, &s.block))
            .unwrap_or_default();
        let lifecycle = &resource.lifecycle;
        let expressions = lifecycle
            .prevent_destroy
            .iter()
            .chain(&lifecycle.replace_triggered_by);
        let expressions = expressions
            .chain(conditions(&lifecycle.preconditions))
            .chain(conditions(&lifecycle.postconditions));
        all.extend(expressions.flat_map(Expr::lookups));
        for provisioner in resource.provisioners.iter().filter(|p| !p.on_destroy) {
            for body in [Some(&provisioner.body), provisioner.connection.as_ref()]
                .into_iter()
                .flatten()
            {
                all.extend(
                    body.just_attributes()
                        .0
                        .values()
                        .flat_map(|attribute| attribute.expr.lookups()),
                );
            }
        }
        let all = Arc::new(all);
        lock(&self.cache.lookups).insert(key, all.clone());
        all
    }

    pub(super) fn expr(&self, expr: &Expr, place: &Place<'_>, out: &mut Needs) {
        expr.lookups()
            .iter()
            .for_each(|lookup| self.lookup(lookup, place, out));
    }

    pub(super) fn lookup(&self, lookup: &Lookup, place: &Place<'_>, out: &mut Needs) {
        // If the key cannot be evaluated, the need is the whole resource.
        let key = lookup.key.as_ref().and_then(|expr| {
            let scope = ModuleScope::new(self.context, place.module, place.instance)
                .with_repetition(place.repetition.clone());
            key_of(Some(&scope.evaluate(expr).0))
        });
        self.reference(&lookup.traversal, key, &lookup.trailing_steps, place, out);
    }

    /// Adds the needs of one element of a local value: its instance, and those of the rest.
    fn element(
        &self,
        local: &KeyedLocal<'_>,
        key: InstanceKey,
        place: &Place<'_>,
        out: &mut Needs,
    ) {
        self.of_resource(local.resource, Some(key), place, out);
        let inside = Place {
            repetition: Repetition::default(),
            for_each: None,
            ..*place
        };
        // Names bound by the expression are no references to declared resources.
        local
            .rest
            .iter()
            .for_each(|expr| self.expr(expr, &inside, out));
    }

    /// `looked_up` is the key evaluated from an index expression, if the traversal has no constant
    /// one.
    pub(super) fn reference(
        &self,
        t: &Traversal,
        looked_up: Option<InstanceKey>,
        then: &[lang::syntax::ast::Step],
        place: &Place<'_>,
        out: &mut Needs,
    ) {
        let Ok(reference) = refs::parse(t) else {
            return;
        };
        match reference {
            Ref::Var(name) => out.extend(
                self.needs_of_named(place.instance, Named::Variable(name))
                    .iter()
                    .cloned(),
            ),
            Ref::Local(name) => {
                let keyed = keyed_local(place.module, &name);
                match keyed.zip(element_key(t, looked_up)) {
                    Some((keyed, key)) => self.element(&keyed, key, place, out),
                    None => {
                        let needs = self.needs_of_named(place.instance, Named::Local(name));
                        out.extend(needs.iter().cloned());
                    }
                }
            }
            Ref::Each(name) if &*name == "value" => self.each_value(place, out),
            Ref::Resource { resource, key, .. } => {
                self.of_resource(&resource, key.or(looked_up), place, out)
            }
            Ref::ModuleOutput { call, key, output } => {
                // An undeclared output may be an attribute of the call's instances, so all outputs
                // count.
                let named = place
                    .module
                    .calls
                    .get(&call)
                    .and_then(|c| c.module.as_ref())
                    .is_some_and(|m| m.outputs.contains_key(&output));
                self.of_module(
                    &call,
                    key.as_ref(),
                    Some(&output).filter(|_| named),
                    place,
                    out,
                );
            }
            Ref::Module { call, key } => {
                // After a computed key, the output name is not part of the traversal but a step
                // after it.
                let output = match then.first().map(|step| &step.kind) {
                    Some(StepKind::Attr(name)) if looked_up.is_some() => Some(name),
                    _ => None,
                };
                self.of_module(
                    &call,
                    key.as_ref().or(looked_up.as_ref()),
                    output,
                    place,
                    out,
                );
            }
            _ => {}
        }
    }
}

/// Key of the element of a local value that a reference uses.
fn element_key(t: &Traversal, looked_up: Option<InstanceKey>) -> Option<InstanceKey> {
    match t.steps.get(1).map(|step| &step.kind) {
        None => looked_up,
        Some(StepKind::Attr(name)) => Some(InstanceKey::Str(name.clone())),
        Some(StepKind::Index(_)) => refs::key_of(t.steps.get(1)),
    }
}

fn conditions(all: &[Condition]) -> impl Iterator<Item = &Expr> {
    all.iter().flat_map(|c| [&c.condition, &c.message])
}
