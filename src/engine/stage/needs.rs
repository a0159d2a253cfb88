//! What each resource instance needs, by instance wherever its expressions say which one (`a["x"]`,
//! `a[each.key]`, `module.app["billing"].id`), else by resource. Only what is referred to without
//! another managed resource between: whoever asks further goes on from there. Filled in the order
//! of the walk, so that nothing here descends deeper than one step.

use super::nodes::Node;
use super::scope::{ModuleScope, Surroundings};
use super::values::{Expansion, Repetition};
use crate::engine::mutex::lock;
use crate::engine::words::ConfigKey;
use crate::engine::workspace::provider_addr::{self};
use crate::engine::workspace::refs::{self, Ref};
use cty::Value;
use lang::addr::{AbsInstance, AbsResource, InstanceKey, Mode, ModuleInstance, Resource as Name};
use lang::config::{Condition, Module, Resource};
use lang::syntax::ast::{Expr, Lookup, StepKind, Traversal};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// Addresses of resource instances, or of resources of which it is not known which instance.
pub type Needs = BTreeSet<String>;

/// What was asked before.
#[derive(Default)]
pub struct Known {
    named: Mutex<HashMap<(ModuleInstance, Named), Arc<Needs>>>,
    /// Lookups of a resource's blocks, the same for all its instances.
    lookups: Mutex<HashMap<(Vec<Arc<str>>, Name), Arc<Vec<Lookup>>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Named {
    Variable(Arc<str>),
    Local(Arc<str>),
    Output(Arc<str>),
    Provider(ConfigKey),
    Data(Name, Option<InstanceKey>),
}

/// Where an expression stands.
struct Place<'w> {
    module: &'w Module,
    instance: &'w ModuleInstance,
    repetition: Repetition,
    /// Over what it is repeated.
    for_each: Option<&'w Expr>,
}

/// Finds needs in what one walk has worked out so far.
pub struct Needing<'w> {
    pub around: &'w Surroundings,
    pub known: &'w Known,
}

impl Needing<'_> {
    /// Looks at a node that the walk has passed, in all instances of its module.
    pub fn pass(&self, node: &Node) {
        let (path, named) = match node {
            Node::Variable(path, name) => (path, Named::Variable(name.clone())),
            Node::Local(path, name) => (path, Named::Local(name.clone())),
            Node::Output(path, name) => (path, Named::Output(name.clone())),
            Node::Provider(key) => (&key.module, Named::Provider(key.clone())),
            _ => return,
        };
        for instance in self.around.values.instances(path).iter() {
            self.named(instance, named.clone());
        }
    }

    /// Looks at a data source or ephemeral resource whose instance the walk has passed: what refers
    /// to it goes on from what it needs.
    pub fn pass_data(&self, address: &AbsInstance) {
        for key in [None, Some(address.key.clone())] {
            self.named(&address.module, Named::Data(address.resource.clone(), key));
        }
    }

    /// What an output of the root needs.
    pub fn of_output(&self, name: &Arc<str>) -> Needs {
        (*self.named(&ModuleInstance::root(), Named::Output(name.clone()))).clone()
    }

    /// What an instance of a declared resource needs.
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
        self.repeated_over(place, out);
        for t in &resource.depends_on {
            self.whole(t, place, out);
        }
        let route = provider_addr::route_of(&self.around.root, place.module, resource);
        if let Some(by) = route.by.as_ref().filter(|by| by.module.is_none()) {
            self.expr(by.key, place, out);
        }
        let key = route.block;
        if let Some(instance) = self.around.values.instances(&key.module).first() {
            out.extend(self.named(instance, Named::Provider(key)).iter().cloned());
        }
        self.of_calls(place.instance, out);
    }

    /// What `for_each` needs but for the one instance that it pairs this one with.
    fn repeated_over(&self, place: &Place<'_>, out: &mut Needs) {
        match place.for_each {
            Some(expr) if chained(expr).is_some() => self.each_value(place, out),
            Some(expr) => self.expr(expr, place, out),
            None => {}
        }
    }

    fn each_value(&self, place: &Place<'_>, out: &mut Needs) {
        let Some(expr) = place.for_each else { return };
        match chained(expr) {
            // The value of one key of another resource or module: the one instance with that key.
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

    /// What decides whether a module instance is there, and what its calls wait for.
    fn of_calls(&self, instance: &ModuleInstance, out: &mut Needs) {
        let mut at = instance.clone();
        while let (Some(outer), Some((path, name))) = (at.parent(), at.path().parent()) {
            if let Some(parent) = self.around.root.descendant(&path.0)
                && let Some(call) = parent.calls.get(name)
            {
                let repetition = self.around.values.repetition(&at);
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
                self.repeated_over(&place, out);
                for t in &call.depends_on {
                    self.whole(t, &place, out);
                }
            }
            at = outer;
        }
    }

    fn named(&self, instance: &ModuleInstance, named: Named) -> Arc<Needs> {
        let key = (instance.clone(), named);
        if let Some(known) = lock(&self.known.named).get(&key) {
            return known.clone();
        }
        let mut out = Needs::new();
        if let Some(module) = self.around.root.descendant(&instance.path().0) {
            self.work_out(module, instance, &key.1, &mut out);
        }
        let out = Arc::new(out);
        lock(&self.known.named).insert(key, out.clone());
        out
    }

    fn work_out(&self, module: &Module, instance: &ModuleInstance, named: &Named, out: &mut Needs) {
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
            Named::Variable(name) => {
                let (Some(outer), Some((path, call))) = (
                    instance.parent(),
                    instance.path().parent().map(|(p, c)| (p, c.clone())),
                ) else {
                    return;
                };
                let Some(parent) = self.around.root.descendant(&path.0) else {
                    return;
                };
                let Some(call) = parent.calls.get(&call) else {
                    return;
                };
                let repetition = self.around.values.repetition(instance);
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
                    .for_each(|t| self.whole(t, &inside, out));
                self.of_calls(instance, out);
            }
            Named::Provider(key) => {
                let Some(block) = provider_addr::block_of(&self.around.root, key) else {
                    return;
                };
                let Some(schema) = self.around.schemas.get(&key.address) else {
                    return;
                };
                for lookup in lang::decode::lookups(&block.body, &schema.provider.block) {
                    self.lookup(&lookup, &inside, out);
                }
            }
            Named::Data(name, key) => {
                let Some(resource) = module.resources.get(name) else {
                    return;
                };
                let repetition = key
                    .as_ref()
                    .map(super::plan::repetition)
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

    /// What stands in the blocks of a resource, but for how often it is there.
    fn lookups_of(&self, module: &Module, resource: &Resource) -> Arc<Vec<Lookup>> {
        let key = (module.path.0.clone(), resource.name.clone());
        if let Some(known) = lock(&self.known.lookups).get(&key) {
            return known.clone();
        }
        let address = provider_addr::for_resource(&self.around.root, module, resource).address;
        let schema = self.around.schema(&address, &resource.name);
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
        lock(&self.known.lookups).insert(key, all.clone());
        all
    }

    fn expr(&self, expr: &Expr, place: &Place<'_>, out: &mut Needs) {
        expr.lookups()
            .iter()
            .for_each(|lookup| self.lookup(lookup, place, out));
    }

    fn lookup(&self, lookup: &Lookup, place: &Place<'_>, out: &mut Needs) {
        let key = lookup.key.as_ref().and_then(|expr| {
            let scope = ModuleScope::new(self.around, place.module, place.instance)
                .repeated(place.repetition.clone());
            key_of(Some(&scope.evaluate(expr).0))
        });
        self.reference(&lookup.traversal, key, &lookup.then, place, out);
    }

    /// `looked_up`: the key that follows the traversal, where it has none of its own.
    fn reference(
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
                self.named(place.instance, Named::Variable(name))
                    .iter()
                    .cloned(),
            ),
            Ref::Local(name) => out.extend(
                self.named(place.instance, Named::Local(name))
                    .iter()
                    .cloned(),
            ),
            Ref::Each(name) if &*name == "value" => self.each_value(place, out),
            Ref::Resource { resource, key, .. } => {
                self.of_resource(&resource, key.or(looked_up), place, out)
            }
            Ref::ModuleOutput { call, key, output } => {
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

    fn of_resource(
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
        let key = if repeated {
            key
        } else {
            Some(InstanceKey::None)
        };
        // What is opened anew each time is in no stage and no state.
        if name.mode != Mode::Ephemeral {
            out.insert(
                key.clone()
                    .map_or_else(|| abs.to_string(), |key| abs.instance(key).to_string()),
            );
        }
        // What was read while staging is no change, and leads on to what it needed.
        if name.mode != Mode::Managed {
            out.extend(
                self.named(place.instance, Named::Data(name.clone(), key))
                    .iter()
                    .cloned(),
            );
        }
    }

    /// One output or all of a module call, in one of its instances or in all.
    fn of_module(
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
                    self.named(&child, Named::Output(name.clone()))
                        .iter()
                        .cloned(),
                ),
                None => {
                    let all = module
                        .outputs
                        .keys()
                        .map(|name| self.named(&child, Named::Output(name.clone())));
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
        let Some(expansion) = self.around.values.call(instance, call) else {
            return Vec::new();
        };
        let all: Vec<InstanceKey> = expansion
            .instances()
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        let one = key.filter(|key| all.contains(key) && *expansion != Expansion::Single);
        match one {
            Some(key) => vec![instance.child(call, key.clone())],
            None => all
                .into_iter()
                .map(|key| instance.child(call, key))
                .collect(),
        }
    }

    /// What a `depends_on` entry names: a module stands for everything in it.
    fn whole(&self, t: &Traversal, place: &Place<'_>, out: &mut Needs) {
        let (call, key) = match refs::parse(t) {
            Ok(Ref::Module { call, key } | Ref::ModuleOutput { call, key, .. }) => (call, key),
            _ => return self.reference(t, None, &[], place, out),
        };
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
            let instances = self.around.values.instances(&inner.path);
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
            }
        }
    }
}

/// The resource or module of which `for_each` takes all instances as they are.
fn chained(expr: &Expr) -> Option<&Traversal> {
    let lang::syntax::ast::ExprKind::Traversal(t) = &expr.kind else {
        return None;
    };
    match refs::parse(t).ok()? {
        Ref::Resource {
            used, key: None, ..
        } if t.steps.len() == used => Some(t),
        Ref::Module { key: None, .. } => Some(t),
        _ => None,
    }
}

fn key_of(value: Option<&Value>) -> Option<InstanceKey> {
    let value = value?.clone().unmark_deep().0;
    match (value.as_str(), value.as_number()) {
        (Some(text), _) => Some(InstanceKey::Str(text.into())),
        (None, Some(n)) => n.to_u64().map(InstanceKey::Int),
        _ => None,
    }
}

fn conditions(all: &[Condition]) -> impl Iterator<Item = &Expr> {
    all.iter().flat_map(|c| [&c.condition, &c.message])
}
