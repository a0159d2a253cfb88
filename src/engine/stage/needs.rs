//! Direct dependencies (needs) of resource instances: on one instance if the expression names it
//! (`a["x"]`, `a[each.key]`, `module.app["billing"].id`), otherwise on the whole resource. The
//! search ends at managed resources, whose own needs are not included. Nodes are added in walk
//! order, so that each search descends only one step.

mod instances;
mod references;

use super::keyed::chained;
use super::nodes::Node;
use super::scope::WalkContext;
use super::values::Repetition;
use instances::key_of;
use lang::addr::{AbsInstance, ModuleInstance, Resource as Name};
use lang::config::{Module, Resource};
use lang::syntax::ast::Lookup;
use references::{Named, Place};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use workspace::provider_addr::{self};

/// Addresses of resource instances, or of resources if the instance is not known.
pub type Needs = BTreeSet<String>;

/// Dependencies found so far in one walk.
#[derive(Default)]
pub struct Known {
    by_name: Mutex<HashMap<(ModuleInstance, Named), Arc<Needs>>>,
    /// Lookups in the blocks of a resource, the same for all its instances.
    lookups: Mutex<HashMap<(Vec<Arc<str>>, Name), Arc<Vec<Lookup>>>>,
}

/// Computes direct dependencies from the evaluated part of a walk.
#[derive(Clone, Copy)]
pub struct Needing<'w> {
    pub context: &'w WalkContext,
    pub cache: &'w Known,
}

impl Needing<'_> {
    /// Caches the needs of an evaluated node, for all instances of its module.
    pub fn cache_node(&self, node: &Node) {
        let (path, named) = match node {
            Node::Variable(path, name) => (path, Named::Variable(name.clone())),
            Node::Local(path, name) => (path, Named::Local(name.clone())),
            Node::Output(path, name) => (path, Named::Output(name.clone())),
            Node::Provider(key) => (&key.module, Named::Provider(key.clone())),
            _ => return,
        };
        for instance in self.context.values.instances(path).iter() {
            self.needs_of_named(instance, named.clone());
        }
    }

    /// Caches the needs of an evaluated data source or ephemeral resource, for its dependents.
    pub fn cache_data(&self, address: &AbsInstance) {
        // References without a key are cached under the whole resource.
        for key in [None, Some(address.key.clone())] {
            self.needs_of_named(&address.module, Named::Data(address.resource.clone(), key));
        }
    }

    /// Returns the needs of a root output.
    pub fn of_output(&self, name: &Arc<str>) -> Needs {
        (*self.needs_of_named(&ModuleInstance::root(), Named::Output(name.clone()))).clone()
    }

    /// Returns the needs of an instance of a declared resource.
    pub fn of_instance(
        &self,
        module: &Module,
        resource: &Resource,
        address: &AbsInstance,
        repetition: Repetition,
    ) -> Needs {
        let place = Place {
            module,
            instance: &address.module,
            repetition,
            for_each: resource.for_each.as_ref(),
        };
        let mut out = Needs::new();
        self.resource(resource, &place, &mut out);
        out
    }

    fn resource(&self, resource: &Resource, place: &Place<'_>, out: &mut Needs) {
        for lookup in self.lookups_of(place.module, resource).iter() {
            self.lookup(lookup, place, out);
        }
        for expr in [&resource.count, &resource.lifecycle.enabled]
            .into_iter()
            .flatten()
        {
            self.expr(expr, place, out);
        }
        self.add_for_each_needs(place, out);
        for t in &resource.depends_on {
            self.add_depends_on(t, place, out);
        }
        let route = provider_addr::route_of(&self.context.root, place.module, resource);
        // A key that a module call passes counts with that call, in `of_calls`.
        if let Some(by) = route.by.as_ref().filter(|by| by.module.is_none()) {
            self.expr(by.key, place, out);
        }
        let key = route.block;
        // One instance is enough, because the references of the block are the same in all of them.
        if let Some(instance) = self.context.values.instances(&key.module).first() {
            out.extend(
                self.needs_of_named(instance, Named::Provider(key))
                    .iter()
                    .cloned(),
            );
        }
        self.of_calls(place.instance, out);
    }

    /// Adds the needs of `for_each`. If it chains another resource, only the instance with the same
    /// key counts.
    fn add_for_each_needs(&self, place: &Place<'_>, out: &mut Needs) {
        match place.for_each {
            Some(expr) if chained(expr).is_some() => self.each_value(place, out),
            Some(expr) => self.expr(expr, place, out),
            None => {}
        }
    }

    fn each_value(&self, place: &Place<'_>, out: &mut Needs) {
        let Some(expr) = place.for_each else { return };
        match chained(expr) {
            // A chained `for_each` pairs instances with equal keys.
            Some(t) => self.reference(
                t,
                key_of(place.repetition.each_key.as_ref()),
                &[],
                place,
                out,
            ),
            None => self.expr(expr, place, out),
        }
    }

    /// Adds the needs of the enclosing module calls: their repetition and their `depends_on`.
    fn of_calls(&self, instance: &ModuleInstance, out: &mut Needs) {
        let mut at = instance.clone();
        // Each enclosing call decides whether the instance exists at all.
        while let (Some(outer), Some((path, name))) = (at.parent(), at.path().parent()) {
            if let Some(parent) = self.context.root.descendant(&path.0)
                && let Some(call) = parent.calls.get(name)
            {
                let repetition = self.context.values.repetition(&at);
                let place = Place {
                    module: parent,
                    instance: &outer,
                    repetition,
                    for_each: call.for_each.as_ref(),
                };
                let instances = call
                    .providers
                    .iter()
                    .flatten()
                    .filter_map(|(_, outer)| outer.key.as_deref());
                for expr in [&call.count, &call.enabled]
                    .into_iter()
                    .flatten()
                    .chain(instances)
                {
                    self.expr(expr, &place, out);
                }
                self.add_for_each_needs(&place, out);
                for t in &call.depends_on {
                    self.add_depends_on(t, &place, out);
                }
            }
            at = outer;
        }
    }
}
