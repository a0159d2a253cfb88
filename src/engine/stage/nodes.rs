//! What is to be worked out, and in which order: the configuration as a graph of nodes, whatever
//! the instances. Built once for a walk; pure.

use super::names::Names;
use crate::engine::graph::{Graph, Step};
use crate::engine::provider::ProviderSchema;
use crate::engine::words::ConfigKey;
use crate::engine::workspace::provider_addr::{self};
use crate::engine::workspace::refs::{self, Ref};
use cty::schema::Block;
use lang::addr::{ConfigResource, InstanceKey, Mode, ModulePath, Resource};
use lang::body::Body;
use lang::config::{self, Module};
use lang::diag::Diagnostics;
use lang::syntax::ast::{Expr, Traversal};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// One thing to work out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    Variable(ModulePath, Arc<str>),
    Local(ModulePath, Arc<str>),
    Output(ModulePath, Arc<str>),
    /// How often a module call is there; the module called from this path by this name.
    Call(ModulePath, Arc<str>),
    /// A `provider` block, with all of its instances.
    Provider(ConfigKey),
    Resource(ConfigResource),
    /// Objects in the state of a resource that is declared no longer.
    Orphan(ConfigResource),
    Check(ModulePath, Arc<str>),
}

impl Node {
    /// For people: in a cycle's words, in progress.
    pub fn text(&self) -> String {
        let within = |m: &ModulePath, rest: String| {
            if m.is_root() {
                rest
            } else {
                format!("{m}.{rest}")
            }
        };
        match self {
            Self::Variable(m, n) => within(m, format!("var.{n}")),
            Self::Local(m, n) => within(m, format!("local.{n}")),
            Self::Output(m, n) => within(m, format!("output.{n}")),
            Self::Call(m, n) => within(m, format!("module.{n}")),
            Self::Provider(key) => key.to_string(),
            Self::Resource(r) | Self::Orphan(r) => r.to_string(),
            Self::Check(m, n) => within(m, format!("check.{n}")),
        }
    }

    /// The resource that it is about.
    pub fn resource(&self) -> Option<&ConfigResource> {
        match self {
            Self::Resource(r) | Self::Orphan(r) => Some(r),
            _ => None,
        }
    }
}

/// The graph of a configuration.
pub struct Nodes {
    pub graph: Graph,
    pub nodes: Vec<Node>,
    by_node: HashMap<Node, Step>,
    /// Of what one step needs of a resource: the keys of the instances, where it names no others.
    named: HashMap<(Step, Step), BTreeSet<InstanceKey>>,
    names: Names,
}

/// What the graph is built from.
pub struct Sources<'a> {
    pub root: &'a Module,
    pub schemas: &'a HashMap<Arc<str>, Arc<ProviderSchema>>,
    /// Resources that are in the state.
    pub in_state: &'a BTreeSet<ConfigResource>,
    /// For those of them that are not declared: the provider configuration that the state names,
    /// and what they depended on.
    pub orphan_providers: &'a BTreeMap<ConfigResource, ConfigKey>,
}

impl Nodes {
    /// The step of a node.
    pub fn step(&self, node: &Node) -> Option<Step> {
        self.by_node.get(node).copied()
    }

    /// The step of the block that a provider configuration is, or is an instance of.
    pub fn provider(&self, key: &ConfigKey) -> Option<Step> {
        self.step(&Node::Provider(key.block()))
    }

    /// The instances of a resource that a step needs, where its references name them by constant
    /// keys; `None` where it needs the resource as a whole.
    pub fn instances_needed(&self, step: Step, resource: Step) -> Option<&BTreeSet<InstanceKey>> {
        self.named.get(&(step, resource))
    }

    /// What is to be said of the names that the configuration uses, before anything is worked out.
    pub fn said_of_names(&self) -> Diagnostics {
        self.names.said()
    }

    fn add(&mut self, node: Node) -> Step {
        if let Some(step) = self.step(&node) {
            return step;
        }
        let step = self.graph.add();
        self.nodes.push(node.clone());
        self.by_node.insert(node, step);
        step
    }

    /// Builds the graph.
    pub fn build(from: &Sources<'_>) -> Self {
        let (graph, by_node) = (Graph::default(), HashMap::new());
        let mut all = Self {
            graph,
            nodes: Vec::new(),
            by_node,
            named: HashMap::new(),
            names: Names::default(),
        };
        let modules = from.root.all();
        // All nodes first, in the order in which they are to be worked out where nothing else
        // decides.
        for module in &modules {
            let path = &module.path;
            for name in module.variables.keys() {
                all.add(Node::Variable(path.clone(), name.clone()));
            }
            for name in module.locals.keys() {
                all.add(Node::Local(path.clone(), name.clone()));
            }
            for name in module.calls.keys() {
                all.add(Node::Call(path.clone(), name.clone()));
            }
            for resource in module.resources.values() {
                all.add(Node::Provider(provider_addr::for_resource(
                    from.root, module, resource,
                )));
                all.add(Node::Resource(config_resource(path, &resource.name)));
            }
            for name in module.outputs.keys() {
                all.add(Node::Output(path.clone(), name.clone()));
            }
            for name in module.checks.keys() {
                all.add(Node::Check(path.clone(), name.clone()));
            }
        }
        for resource in from.in_state {
            let declared = from
                .root
                .descendant(&resource.module.0)
                .is_some_and(|m| m.resources.contains_key(&resource.resource));
            if !declared {
                let step = all.add(Node::Orphan(resource.clone()));
                if let Some(key) = from.orphan_providers.get(resource) {
                    let provider = all.add(Node::Provider(key.block()));
                    all.graph.need(step, provider);
                }
            }
        }
        for module in &modules {
            all.connect(from, module);
        }
        all
    }

    /// The graph as a plan is walked: why an object goes that is declared no longer depends on
    /// whether its module is there still, which its call says. What a deploy does with it has
    /// nothing to do with that.
    pub fn to_plan(&self) -> Graph {
        let mut graph = self.graph.clone();
        for (step, node) in self.nodes.iter().enumerate() {
            let Node::Orphan(resource) = node else {
                continue;
            };
            let mut at = resource.module.clone();
            while let Some((parent, name)) =
                at.parent().map(|(parent, name)| (parent, name.clone()))
            {
                if let Some(call) = self.step(&Node::Call(parent.clone(), name)) {
                    graph.need(step, call);
                }
                at = parent;
            }
        }
        graph
    }

    fn connect(&mut self, from: &Sources<'_>, module: &Module) {
        let path = &module.path;
        let calling = path
            .parent()
            .and_then(|(p, call)| Some((from.root.descendant(&p.0)?, call.clone())));
        let own_call = path.parent().map(|(p, call)| Node::Call(p, call.clone()));
        for variable in module.variables.values() {
            let step = self.add(Node::Variable(path.clone(), variable.name.clone()));
            self.need_node(step, own_call.as_ref());
            if let Some((parent, call)) = &calling
                && let Some(argument) = parent
                    .calls
                    .get(call)
                    .and_then(|c| c.arguments.get(&variable.name))
            {
                self.names.passed(variable, argument.expr.span);
                self.need_expr(step, parent, &argument.expr);
            }
            for validation in &variable.validations {
                for t in validation
                    .condition
                    .traversals()
                    .into_iter()
                    .chain(validation.message.traversals())
                {
                    if refs::parse(t).ok() != Some(Ref::Var(variable.name.clone())) {
                        self.need_ref(step, module, t);
                    }
                }
            }
        }
        for (name, local) in &module.locals {
            let step = self.add(Node::Local(path.clone(), name.clone()));
            self.need_node(step, own_call.as_ref());
            self.need_expr(step, module, &local.expr);
        }
        for call in module.calls.values() {
            let step = self.add(Node::Call(path.clone(), call.name.clone()));
            self.need_node(step, own_call.as_ref());
            let instances = call
                .providers
                .iter()
                .flatten()
                .filter_map(|(_, outer)| outer.key.as_deref());
            for expr in [&call.count, &call.for_each, &call.enabled]
                .into_iter()
                .flatten()
                .chain(instances)
            {
                self.need_expr(step, module, expr);
            }
        }
        for provider in &module.providers {
            let key = provider_addr::key_of(module, provider);
            let schema = from
                .schemas
                .get(&key.address)
                .map(|s| s.provider.block.clone());
            // What no resource uses is not configured: that may ask for things that are not there.
            let Some(step) = self.step(&Node::Provider(key)) else {
                continue;
            };
            self.need_node(step, own_call.as_ref());
            if let Some(block) = schema {
                self.need_body(step, module, &provider.body, &block);
            }
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
                self.need_whole(step, module, t);
            }
            self.need_for_calls(from, module, step);
        }
        // What an import needs is worked out before the resource that it imports into.
        for import in &module.imports {
            let Some(step) =
                super::import::resource_of(import).and_then(|r| self.step(&Node::Resource(r)))
            else {
                continue;
            };
            for expr in super::import::expressions(import) {
                self.need_expr(step, module, expr);
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

    fn connect_resource(
        &mut self,
        from: &Sources<'_>,
        module: &Module,
        resource: &config::Resource,
        step: Step,
    ) {
        let key = provider_addr::for_resource(from.root, module, resource);
        let provider = self.add(Node::Provider(key.clone()));
        self.graph.need(step, provider);
        let meta = [
            &resource.count,
            &resource.for_each,
            &resource.lifecycle.enabled,
            &resource.lifecycle.prevent_destroy,
        ];
        let instance = resource.provider.as_ref().and_then(|p| p.key.as_deref());
        for expr in meta.into_iter().flatten().chain(instance) {
            self.need_expr(step, module, expr);
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
        for provisioner in resource.provisioners.iter().filter(|p| !p.on_destroy) {
            for body in [Some(&provisioner.body), provisioner.connection.as_ref()]
                .into_iter()
                .flatten()
            {
                for attribute in body.just_attributes().0.values() {
                    self.need_expr(step, module, &attribute.expr);
                }
            }
        }
        for t in &resource.depends_on {
            self.need_whole(step, module, t);
        }
        self.need_for_calls(from, module, step);
    }

    /// What a calling module's depends_on names is needed by everything inside.
    fn need_for_calls(&mut self, from: &Sources<'_>, module: &Module, step: Step) {
        let mut at = module.path.clone();
        while let Some((parent_path, call)) = at.parent().map(|(p, c)| (p, c.clone())) {
            if let Some(parent) = from.root.descendant(&parent_path.0)
                && let Some(call) = parent.calls.get(&call)
            {
                for t in &call.depends_on {
                    self.need_whole(step, parent, t);
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

    fn need_node(&mut self, step: Step, node: Option<&Node>) {
        if let Some(needed) = node.and_then(|n| self.step(n)) {
            self.graph.need(step, needed);
        }
    }

    /// What an expression refers to.
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
        expr.calls()
            .into_iter()
            .for_each(|call| self.names.called(module, &call.name, call.name_span));
    }

    fn need_body(&mut self, step: Step, module: &Module, body: &Body, block: &Block) {
        for t in lang::decode::references(body, block) {
            self.need_ref(step, module, &t);
        }
        lang::decode::function_calls(body, block)
            .into_iter()
            .for_each(|(name, span)| self.names.called(module, &name, span));
    }

    fn need_ref(&mut self, step: Step, module: &Module, t: &Traversal) {
        self.names.referred(module, t);
        let key = match refs::parse(t) {
            Ok(Ref::Resource { key, .. }) => key,
            _ => None,
        };
        for needed in self.of_ref(module, t) {
            self.need_one(step, needed, key.as_ref());
        }
    }

    fn need_one(&mut self, step: Step, needed: Step, key: Option<&InstanceKey>) {
        let own = self.nodes[step].resource().is_some();
        // A resource's reference to itself is reported where it is evaluated, with a place.
        if needed == step && own {
            return;
        }
        let known = self.graph.has(step, needed);
        match (key, self.named.get_mut(&(step, needed))) {
            (Some(key), Some(keys)) => drop(keys.insert(key.clone())),
            (Some(key), None) if !known => drop(
                self.named
                    .insert((step, needed), BTreeSet::from([key.clone()])),
            ),
            (Some(_), None) => {}
            (None, _) => drop(self.named.remove(&(step, needed))),
        }
        self.graph.need(step, needed);
    }

    fn need_whole(&mut self, step: Step, module: &Module, t: &Traversal) {
        let key = match refs::parse(t) {
            Ok(Ref::Resource { key, .. }) => key,
            _ => None,
        };
        for needed in self.of_whole(module, t) {
            self.need_one(step, needed, key.as_ref());
        }
    }

    /// The nodes that a reference names. A module call that is used as a whole stands for
    /// everything in the module.
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

    /// What a `depends_on` entry names: one output of a module stands for the module too.
    pub fn of_whole(&self, module: &Module, t: &Traversal) -> Vec<Step> {
        match refs::parse(t) {
            Ok(Ref::Module { call, .. } | Ref::ModuleOutput { call, .. }) => {
                self.of_call(module, &call)
            }
            _ => self.of_ref(module, t),
        }
    }

    /// A module call with everything in the module, and in those that it calls.
    fn of_call(&self, module: &Module, call: &Arc<str>) -> Vec<Step> {
        let mut all = vec![Node::Call(module.path.clone(), call.clone())];
        for inner in module
            .calls
            .get(call)
            .and_then(|c| c.module.as_ref())
            .into_iter()
            .flat_map(|child| child.all())
        {
            all.extend(
                inner
                    .resources
                    .keys()
                    .map(|resource| Node::Resource(config_resource(&inner.path, resource))),
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

    /// The resources on which a step depends, in any number of steps: what the state keeps as
    /// `dependencies`.
    pub fn dependencies(&self, step: Step) -> BTreeSet<ConfigResource> {
        self.graph
            .closure([step])
            .into_iter()
            .filter(|s| *s != step)
            .filter_map(|s| match &self.nodes[s] {
                Node::Resource(r) => Some(r.clone()),
                _ => None,
            })
            .collect()
    }
}

/// The schema of a resource type in a provider's schemas.
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

/// A resource of a module.
pub fn config_resource(module: &ModulePath, resource: &Resource) -> ConfigResource {
    ConfigResource {
        module: module.clone(),
        resource: resource.clone(),
    }
}
