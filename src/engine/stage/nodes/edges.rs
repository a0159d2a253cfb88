//! Edges of the graph, from the references in expressions.

use super::{Node, Nodes, Sources, config_resource};
use crate::stage::keyed::{chained_resource, declared_key, keyed_local};
use cty::schema::Block;
use graph::Step;
use lang::addr::{InstanceKey, Mode, Resource};
use lang::body::Body;
use lang::config::{self, Module};
use lang::syntax::ast::{Expr, Traversal};
use provider::ProviderSchema;
use std::collections::BTreeSet;
use std::sync::Arc;
use workspace::provider_addr::{self};
use workspace::refs::{self, Ref};

impl Nodes {
    pub(super) fn connect(&mut self, from: &Sources<'_>, module: &Module) {
        let path = &module.path;
        let calling = path
            .parent()
            .and_then(|(p, call)| Some((from.root.descendant(&p.0)?, call.clone())));
        // Every node of a module needs its call, whose expansion decides the instances of the
        // module.
        let own_call = path.parent().map(|(p, call)| Node::Call(p, call.clone()));
        for variable in module.variables.values() {
            let step = self.add(Node::Variable(path.clone(), variable.name.clone()));
            self.need_node(step, own_call.as_ref());
            self.connect_variable(module, variable, calling.as_ref(), step);
        }
        for (name, local) in &module.locals {
            let step = self.add(Node::Local(path.clone(), name.clone()));
            self.need_node(step, own_call.as_ref());
            self.need_expr(step, module, &local.expr);
            let on = keyed_local(module, name);
            let on = on.map(|local| Node::Resource(config_resource(path, local.resource)));
            let on = on.and_then(|on| self.step(&on));
            self.keyed_locals.extend(on.map(|on| (step, on)));
        }
        for call in module.calls.values() {
            let step = self.add(Node::Call(path.clone(), call.name.clone()));
            self.need_node(step, own_call.as_ref());
            self.connect_call(module, call, step);
        }
        for resource in module.resources.values() {
            let step = self.add(Node::Resource(config_resource(path, &resource.name)));
            self.need_node(step, own_call.as_ref());
            self.connect_resource(from, module, resource, step);
        }
        for output in module.outputs.values() {
            let step = self.add(Node::Output(path.clone(), output.name.clone()));
            self.need_node(step, own_call.as_ref());
            self.need_expr(step, module, &output.value);
            self.need_conditions(step, module, &output.preconditions);
            for t in &output.depends_on {
                self.add_depends_on(step, module, t);
            }
            self.need_for_calls(from, module, step);
        }
        // Imports are evaluated before the resource that they import into.
        for import in &module.imports {
            let Some(step) = crate::stage::import::resource_of(import)
                .and_then(|r| self.step(&Node::Resource(r)))
            else {
                continue;
            };
            for expr in crate::stage::import::expressions(import) {
                self.need_expr(step, module, expr);
                let needed = self.of_expr(module, expr).into_iter();
                self.needs_whole.extend(needed.map(|needed| (step, needed)));
            }
        }
        for check in module.checks.values() {
            let step = self.add(Node::Check(path.clone(), check.name.clone()));
            self.need_node(step, own_call.as_ref());
            self.need_conditions(step, module, &check.asserts);
            if let Some(data) = &check.data {
                self.need_node(step, Some(&Node::Resource(config_resource(path, data))));
            }
        }
    }

    /// Adds the needs of a variable: the argument of its module's call, and its validations without
    /// the variable itself.
    fn connect_variable(
        &mut self,
        module: &Module,
        variable: &config::Variable,
        calling: Option<&(&Module, Arc<str>)>,
        step: Step,
    ) {
        if let Some((parent, call)) = calling
            && let Some(argument) = parent
                .calls
                .get(call)
                .and_then(|c| c.arguments.get(&variable.name))
        {
            self.names.check_passed_value(variable, argument.expr.span);
            self.need_expr(step, parent, &argument.expr);
            let inside = |needed: &Step| self.nodes[*needed].module().starts_with(&module.path);
            let needed: Vec<Step> = self.of_expr(parent, &argument.expr);
            let needed = needed
                .into_iter()
                .filter(inside)
                .map(|needed| (step, needed));
            self.through_call.extend(needed.collect::<Vec<_>>());
        }
        for validation in &variable.validations {
            for expr in [&validation.condition, &validation.message] {
                self.name_calls(step, module, expr);
            }
            for t in validation
                .condition
                .traversals()
                .into_iter()
                .chain(validation.message.traversals())
            {
                // A validation refers to its own variable, which must not become a cycle.
                if refs::parse(t).ok() != Some(Ref::Var(variable.name.clone())) {
                    self.need_ref(step, module, t);
                }
            }
        }
    }

    /// Adds the needs of a call: its repetition and the provider instances that it passes.
    fn connect_call(&mut self, module: &Module, call: &config::ModuleCall, step: Step) {
        let instances = call
            .providers
            .iter()
            .flatten()
            .filter_map(|(_, outer)| outer.key.as_deref());
        let repetition = [&call.count, &call.for_each, &call.enabled];
        if repetition.iter().any(|expr| expr.is_some()) {
            self.repeated.insert(module.path.child(&call.name));
        }
        for expr in repetition.into_iter().flatten().chain(instances) {
            self.need_expr(step, module, expr);
        }
    }

    fn connect_resource(
        &mut self,
        from: &Sources<'_>,
        module: &Module,
        resource: &config::Resource,
        step: Step,
    ) {
        let key = provider_addr::for_resource(from.root, module, resource);
        let provider = self.add(Node::Provider(key.clone()));
        self.graph.add_need(step, provider);
        let meta = [
            &resource.count,
            &resource.lifecycle.enabled,
            &resource.lifecycle.prevent_destroy,
        ];
        let instance = resource.provider.as_ref().and_then(|p| p.key.as_deref());
        for expr in meta.into_iter().flatten().chain(instance) {
            self.need_expr(step, module, expr);
        }
        // The instances are evaluated before the first of them, all at once.
        self.need_all_whole(step);
        if let Some(expr) = &resource.for_each {
            self.need_expr(step, module, expr);
            let on = chained_resource(module, expr);
            let on = on.map(|name| Node::Resource(config_resource(&module.path, name)));
            match on.and_then(|on| self.step(&on)) {
                // Only the keys are; each value belongs to one instance.
                Some(on) => drop(self.chained.insert(step, on)),
                None => self.need_all_whole(step),
            }
        }
        if let Some(block) = from
            .schemas
            .get(&key.address)
            .and_then(|s| schema_of(s, &resource.name))
            .map(|s| s.block.clone())
        {
            self.need_body(step, module, &resource.body, &block);
        }
        for expr in &resource.lifecycle.replace_triggered_by {
            self.need_expr(step, module, expr);
        }
        self.need_conditions(step, module, &resource.lifecycle.preconditions);
        self.need_conditions(step, module, &resource.lifecycle.postconditions);
        // Destroy provisioners refer only to `self`, so they add no edges.
        for provisioner in resource.provisioners.iter().filter(|p| !p.on_destroy) {
            for body in [Some(&provisioner.body), provisioner.connection.as_ref()]
                .into_iter()
                .flatten()
            {
                for attribute in body.just_attributes().0.values() {
                    self.need_expr(step, module, &attribute.expr);
                    self.need_siblings(step, resource, &attribute.expr);
                }
            }
        }
        for t in &resource.depends_on {
            self.add_depends_on(step, module, t);
        }
        self.need_for_calls(from, module, step);
        // Conditions of unchanged instances are evaluated when the first dependent needs one.
        let lifecycle = &resource.lifecycle;
        if !lifecycle.preconditions.is_empty() || !lifecycle.postconditions.is_empty() {
            self.need_all_whole(step);
        }
    }

    /// Records that a resource needs those that it is connected with as a whole.
    fn need_all_whole(&mut self, step: Step) {
        let needed = self.graph.needs(step);
        let separable = |needed: &Step| {
            self.nodes[*needed].resource().is_some() || self.keyed_locals.contains_key(needed)
        };
        let whole: Vec<Step> = needed.filter(separable).collect();
        self.needs_whole
            .extend(whole.into_iter().map(|needed| (step, needed)));
    }

    /// Records the instances of its own resource that a provisioner refers to.
    fn need_siblings(&mut self, step: Step, own: &config::Resource, expr: &Expr) {
        for t in expr.traversals() {
            if let Ok(Ref::Resource { resource, key, .. }) = refs::parse(t)
                && resource == own.name
            {
                self.siblings.entry(step).or_default().insert(key);
            }
        }
    }

    /// Adds the needs of enclosing `depends_on` entries to everything in the module.
    fn need_for_calls(&mut self, from: &Sources<'_>, module: &Module, step: Step) {
        let mut at = module.path.clone();
        while let Some((parent_path, call)) = at.parent().map(|(p, c)| (p, c.clone())) {
            if let Some(parent) = from.root.descendant(&parent_path.0)
                && let Some(call) = parent.calls.get(&call)
            {
                for t in &call.depends_on {
                    self.add_depends_on(step, parent, t);
                }
            }
            at = parent_path;
        }
    }

    fn need_conditions(&mut self, step: Step, module: &Module, conditions: &[config::Condition]) {
        for condition in conditions {
            self.need_expr(step, module, &condition.condition);
            self.need_expr(step, module, &condition.message);
        }
    }

    pub(super) fn need_node(&mut self, step: Step, node: Option<&Node>) {
        if let Some(needed) = node.and_then(|n| self.step(n)) {
            self.graph.add_need(step, needed);
        }
    }

    /// Returns the steps that an expression refers to.
    pub fn of_expr(&self, module: &Module, expr: &Expr) -> Vec<Step> {
        expr.traversals()
            .into_iter()
            .flat_map(|t| self.of_ref(module, t))
            .collect()
    }

    fn need_expr(&mut self, step: Step, module: &Module, expr: &Expr) {
        for t in expr.traversals() {
            self.need_ref(step, module, t);
        }
        self.name_calls(step, module, expr);
    }

    pub(super) fn need_body(&mut self, step: Step, module: &Module, body: &Body, block: &Block) {
        for t in lang::decode::references(body, block) {
            self.need_ref(step, module, &t);
        }
        lang::decode::function_calls(body, block)
            .into_iter()
            .for_each(|(name, span)| self.name_call(step, module, &name, span));
    }

    fn need_ref(&mut self, step: Step, module: &Module, t: &Traversal) {
        self.names.check_reference(module, t);
        let (key, of_module) = match refs::parse(t) {
            Ok(Ref::Resource { resource, key, .. }) => {
                (key_of_resource(module, &resource, key), false)
            }
            Ok(Ref::ModuleOutput { call, key, .. }) => (key_of_call(module, &call, key), true),
            _ => (None, false),
        };
        for needed in self.of_ref(module, t) {
            // The key of a module selects instances of its output, not of its call.
            let is_output = matches!(self.nodes[needed], Node::Output(..));
            self.need_one(
                step,
                needed,
                key.as_ref().filter(|_| is_output == of_module),
            );
        }
    }

    fn need_one(&mut self, step: Step, needed: Step, key: Option<&InstanceKey>) {
        let own = self.nodes[step].resource().is_some();
        // Evaluation reports a self-reference, with its place.
        if needed == step && own {
            return;
        }
        // Keys stay recorded only while all references between the two steps have one.
        let known = self.graph.has(step, needed);
        match (key, self.instance_keys.get_mut(&(step, needed))) {
            (Some(key), Some(keys)) => drop(keys.insert(key.clone())),
            (Some(key), None) if !known => drop(
                self.instance_keys
                    .insert((step, needed), BTreeSet::from([key.clone()])),
            ),
            (Some(_), None) => {}
            (None, _) => drop(self.instance_keys.remove(&(step, needed))),
        }
        self.graph.add_need(step, needed);
    }

    fn add_depends_on(&mut self, step: Step, module: &Module, t: &Traversal) {
        let key = match refs::parse(t) {
            Ok(Ref::Resource { resource, key, .. }) => key_of_resource(module, &resource, key),
            _ => None,
        };
        for needed in self.depends_on_nodes(module, t) {
            self.need_one(step, needed, key.as_ref());
        }
    }

    /// Returns the nodes of a reference. A module call used as a whole stands for everything in the
    /// module.
    fn of_ref(&self, module: &Module, t: &Traversal) -> Vec<Step> {
        let path = &module.path;
        let one = |node: Node| self.step(&node).into_iter().collect::<Vec<_>>();
        let Ok(reference) = refs::parse(t) else {
            return Vec::new();
        };
        match reference {
            Ref::Var(name) => one(Node::Variable(path.clone(), name)),
            Ref::Local(name) => one(Node::Local(path.clone(), name)),
            Ref::Resource { resource, .. } => one(Node::Resource(config_resource(path, &resource))),
            Ref::ModuleOutput { call, output, key } => {
                let repeated = module
                    .calls
                    .get(&call)
                    .is_some_and(|c| c.count.is_some() || c.for_each.is_some());
                // Without a key any instance may be meant, so the reference stands for the whole
                // module.
                if repeated && key.is_none() {
                    return self.of_call(module, &call);
                }
                let output = Node::Output(path.child(&call), output);
                [Node::Call(path.clone(), call), output]
                    .iter()
                    .filter_map(|node| self.step(node))
                    .collect()
            }
            Ref::Module { call, .. } => self.of_call(module, &call),
            _ => Vec::new(),
        }
    }

    /// Returns the nodes of a `depends_on` entry; an output stands for its whole module.
    pub fn depends_on_nodes(&self, module: &Module, t: &Traversal) -> Vec<Step> {
        match refs::parse(t) {
            Ok(Ref::Module { call, .. } | Ref::ModuleOutput { call, .. }) => {
                let mut all = self.of_call(module, &call);
                all.extend(self.variables_of_call(module, &call));
                all
            }
            _ => self.of_ref(module, t),
        }
    }

    /// Returns the variables of a module call and of nested modules. The module as a whole waits
    /// for all of its arguments, also for those that nothing in it uses.
    fn variables_of_call(&self, module: &Module, call: &Arc<str>) -> Vec<Step> {
        let child = module.calls.get(call).and_then(|c| c.module.as_ref());
        let inner = child.into_iter().flat_map(|child| child.all());
        let variables = inner.flat_map(|inner| {
            let names = inner.variables.keys().cloned();
            names.map(|name| Node::Variable(inner.path.clone(), name))
        });
        variables.filter_map(|node| self.step(&node)).collect()
    }

    /// Returns a module call with all resources and outputs in it and in nested modules.
    fn of_call(&self, module: &Module, call: &Arc<str>) -> Vec<Step> {
        let mut all = vec![Node::Call(module.path.clone(), call.clone())];
        for inner in module
            .calls
            .get(call)
            .and_then(|c| c.module.as_ref())
            .into_iter()
            .flat_map(|child| child.all())
        {
            // Data sources of checks are excluded: they provide no values and run last, so that
            // nothing waits for them.
            all.extend(
                inner
                    .resources
                    .values()
                    .filter(|resource| resource.check.is_none())
                    .map(|resource| Node::Resource(config_resource(&inner.path, &resource.name))),
            );
            all.extend(
                inner
                    .outputs
                    .keys()
                    .map(|name| Node::Output(inner.path.clone(), name.clone())),
            );
        }
        all.iter().filter_map(|node| self.step(node)).collect()
    }
}

/// Returns the key of a reference as the resource has it; `None` for all instances.
fn key_of_resource(
    module: &Module,
    name: &Resource,
    key: Option<InstanceKey>,
) -> Option<InstanceKey> {
    let declared = module.resources.get(name)?;
    declared_key(&key?, declared.count.is_some(), declared.for_each.is_some())
}

/// Like [`key_of_resource`], for the instances of a module.
fn key_of_call(module: &Module, name: &Arc<str>, key: Option<InstanceKey>) -> Option<InstanceKey> {
    let declared = module.calls.get(name)?;
    declared_key(&key?, declared.count.is_some(), declared.for_each.is_some())
}

/// Returns the schema of a resource type.
pub fn schema_of<'a>(
    schemas: &'a ProviderSchema,
    resource: &Resource,
) -> Option<&'a cty::schema::Schema> {
    match resource.mode {
        Mode::Managed => schemas.resources.get(resource.kind.as_ref()),
        Mode::Data => schemas.data_sources.get(resource.kind.as_ref()),
        Mode::Ephemeral => schemas.ephemeral.get(resource.kind.as_ref()),
    }
}
