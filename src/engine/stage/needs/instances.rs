//! Resolves references to resources and modules to the addresses of their instances, as
//! dependencies.

use super::references::{Named, Place};
use super::{Needing, Needs};
use crate::stage::keyed::declared_key;
use crate::stage::values::{Expansion, Repetition};
use cty::Value;
use lang::addr::{AbsResource, InstanceKey, Mode, ModuleInstance, Resource as Name};
use lang::syntax::ast::Traversal;
use std::sync::Arc;
use workspace::refs::{self, Ref};

impl Needing<'_> {
    pub(super) fn of_resource(
        &self,
        name: &Name,
        key: Option<InstanceKey>,
        place: &Place<'_>,
        out: &mut Needs,
    ) {
        let Some(declared) = place.module.resources.get(name) else {
            return;
        };
        let repeated = declared.count.is_some() || declared.for_each.is_some();
        let abs = AbsResource {
            module: place.instance.clone(),
            resource: name.clone(),
        };
        // Without count or for_each there is one instance, whatever key the reference names.
        let key = if repeated {
            let (count, for_each) = (declared.count.is_some(), declared.for_each.is_some());
            key.and_then(|key| declared_key(&key, count, for_each))
        } else {
            Some(InstanceKey::None)
        };
        // Neither a stage nor a state contains ephemeral resources.
        if name.mode != Mode::Ephemeral {
            out.insert(
                key.clone()
                    .map_or_else(|| abs.to_string(), |key| abs.instance(key).to_string()),
            );
        }
        // A data source that was read has no change, so its own needs count for its dependents.
        if name.mode != Mode::Managed {
            out.extend(
                self.needs_of_named(place.instance, Named::Data(name.clone(), key))
                    .iter()
                    .cloned(),
            );
        }
    }

    /// Adds one output or all outputs of a module call, in one instance or all.
    pub(super) fn of_module(
        &self,
        call: &Arc<str>,
        key: Option<&InstanceKey>,
        output: Option<&Arc<str>>,
        place: &Place<'_>,
        out: &mut Needs,
    ) {
        let Some(module) = place.module.calls.get(call).and_then(|c| c.module.as_ref()) else {
            return;
        };
        for child in self.children(place.instance, call, key) {
            match output {
                Some(name) => out.extend(
                    self.needs_of_named(&child, Named::Output(name.clone()))
                        .iter()
                        .cloned(),
                ),
                // A reference to the whole module object uses each of its outputs.
                None => {
                    let all = module
                        .outputs
                        .keys()
                        .map(|name| self.needs_of_named(&child, Named::Output(name.clone())));
                    all.for_each(|needs| out.extend(needs.iter().cloned()));
                }
            }
        }
    }

    fn children(
        &self,
        instance: &ModuleInstance,
        call: &Arc<str>,
        key: Option<&InstanceKey>,
    ) -> Vec<ModuleInstance> {
        let Some(expansion) = self.context.values.call(instance, call) else {
            return Vec::new();
        };
        let all: Vec<InstanceKey> = expansion
            .instances()
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        let (count, for_each) = match &*expansion {
            Expansion::Count(_) => (true, false),
            Expansion::Each(_) => (false, true),
            _ => (false, false),
        };
        let one = key.and_then(|key| declared_key(key, count, for_each));
        // A key that is not declared says nothing about the instance, so all of them count.
        let one = one.filter(|key| all.contains(key) && *expansion != Expansion::Single);
        match one {
            Some(key) => vec![instance.child(call, key)],
            None => all
                .into_iter()
                .map(|key| instance.child(call, key))
                .collect(),
        }
    }

    /// Adds a `depends_on` entry: a module stands for all its resources.
    pub(super) fn add_depends_on(&self, t: &Traversal, place: &Place<'_>, out: &mut Needs) {
        let (call, key) = match refs::parse(t) {
            Ok(Ref::Module { call, key } | Ref::ModuleOutput { call, key, .. }) => (call, key),
            _ => return self.reference(t, None, &[], place, out),
        };
        // Outputs may refer to more than the module's own resources: to the arguments of the call.
        self.of_module(&call, key.as_ref(), None, place, out);
        let Some(module) = place
            .module
            .calls
            .get(&call)
            .and_then(|c| c.module.as_ref())
        else {
            return;
        };
        let within = self.children(place.instance, &call, key.as_ref());
        for inner in module.all() {
            let instances = self.context.values.instances(&inner.path);
            for instance in instances
                .iter()
                .filter(|i| within.iter().any(|w| i.0.starts_with(&w.0)))
            {
                let place = Place {
                    module: inner,
                    instance,
                    repetition: Repetition::default(),
                    for_each: None,
                };
                inner
                    .resources
                    .keys()
                    .for_each(|name| self.of_resource(name, None, &place, out));
                // The module as a whole waits for all of its arguments.
                for name in inner.variables.keys() {
                    out.extend(
                        self.needs_of_named(instance, Named::Variable(name.clone()))
                            .iter()
                            .cloned(),
                    );
                }
            }
        }
    }
}

pub(super) fn key_of(value: Option<&Value>) -> Option<InstanceKey> {
    let value = value?.clone().unmark_deep().0;
    match (value.as_str(), value.as_number()) {
        (Some(text), _) => Some(InstanceKey::Str(text.into())),
        (None, Some(n)) => n.to_u64().map(InstanceKey::Int),
        _ => None,
    }
}
