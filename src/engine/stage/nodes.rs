//! What is to be worked out, and in which order: the configuration as a graph of nodes, whatever
//! the instances. Built once for a walk; pure.

mod edges;
mod providers;

use super::names::Names;
use crate::engine::graph::{Graph, Step};
use crate::engine::mutex::lock;
use crate::engine::provider::ProviderSchema;
use crate::engine::words::ConfigKey;
use crate::engine::workspace::provider_addr::{self};
pub use edges::schema_of;
use lang::addr::{ConfigResource, InstanceKey, ModulePath, Resource};
use lang::config::Module;
use lang::diag::Diagnostics;
use lang::source::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

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
    /// By resource, the instances of itself that it names, `None` for all of them.
    siblings: BTreeMap<Step, BTreeSet<Option<InstanceKey>>>,
    names: Names,
    /// Calls of providers' functions that are not connected yet: by which step, in which module.
    calls: Vec<(Step, ModulePath, Arc<str>, Span)>,
    /// Dependencies by direct needs, as they are asked for.
    dependencies: Mutex<HashMap<Vec<Step>, Arc<BTreeSet<String>>>>,
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

    /// The resources whose provisioners name instances of the resource itself: by key, `None` where
    /// they name all of them.
    pub fn siblings(
        &self,
    ) -> impl Iterator<Item = (&ConfigResource, &BTreeSet<Option<InstanceKey>>)> + '_ {
        self.siblings
            .iter()
            .filter_map(|(step, keys)| Some((self.nodes[*step].resource()?, keys)))
    }

    /// What is to be said of the names that the configuration uses, before anything is worked out.
    pub fn said_of_names(&self) -> Diagnostics {
        self.names.said()
    }

    /// Where functions are called that are not in the schemas of their providers, with the address
    /// of each.
    pub fn unregistered_functions(&self) -> &BTreeMap<Span, Arc<str>> {
        self.names.unregistered()
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
            siblings: BTreeMap::new(),
            names: Names::with(from.schemas),
            calls: Vec::new(),
            dependencies: Mutex::default(),
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
        all.connect_providers(from);
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

    /// The resources on which a step depends, in any number of steps: what the state keeps as
    /// `dependencies`. Steps that need the same share one set: most resources of a module do.
    pub fn dependencies(&self, step: Step) -> Arc<BTreeSet<String>> {
        let needs: Vec<Step> = self.graph.needs(step).collect();
        if let Some(known) = lock(&self.dependencies).get(&needs) {
            return known.clone();
        }
        let closure = self.graph.closure(needs.iter().copied()).into_iter();
        let resources = closure.filter_map(|s| match &self.nodes[s] {
            Node::Resource(r) => Some(r.to_string()),
            _ => None,
        });
        let all = Arc::new(resources.collect());
        lock(&self.dependencies).entry(needs).or_insert(all).clone()
    }
}

/// A resource of a module.
pub fn config_resource(module: &ModulePath, resource: &Resource) -> ConfigResource {
    ConfigResource {
        module: module.clone(),
        resource: resource.clone(),
    }
}
