//! Graph of the configuration. Nodes are declarations, independent of instances; edges are their
//! references. Built once per walk; pure.

mod edges;
mod providers;

use super::names::Names;
pub use edges::schema_of;
use graph::{Graph, Step};
use lang::addr::{ConfigResource, InstanceKey, Mode, ModuleInstance, ModulePath, Resource};
use lang::config::Module;
use lang::diag::Diagnostics;
use lang::source::Span;
use model::ConfigKey;
use model::mutex::lock;
use provider::ProviderSchema;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};
use workspace::provider_addr::{self};

/// Node of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    Variable(ModulePath, Arc<str>),
    Local(ModulePath, Arc<str>),
    Output(ModulePath, Arc<str>),
    /// Repetition of a module call: the module called from this path by this name.
    Call(ModulePath, Arc<str>),
    /// A `provider` block, with all of its instances.
    Provider(ConfigKey),
    Resource(ConfigResource),
    /// State objects of a resource that is no longer declared.
    Orphan(ConfigResource),
    Check(ModulePath, Arc<str>),
}

impl Node {
    /// Returns the name for display.
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

    /// Returns the module that the node is declared in.
    pub fn module(&self) -> &ModulePath {
        match self {
            Self::Variable(m, _) | Self::Local(m, _) | Self::Output(m, _) => m,
            Self::Call(m, _) | Self::Check(m, _) => m,
            Self::Provider(key) => &key.module,
            Self::Resource(r) | Self::Orphan(r) => &r.module,
        }
    }

    /// Returns the resource of the node, if any.
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
    /// Instance keys a step depends on, per resource or output of a module, if all its references
    /// have constant keys.
    instance_keys: HashMap<(Step, Step), BTreeSet<InstanceKey>>,
    /// By local value: the resource whose instances have an element each.
    keyed_locals: HashMap<Step, Step>,
    /// Steps that need a resource as a whole whatever keys their references have: their repetition
    /// or their conditions refer to it.
    needs_whole: HashSet<(Step, Step)>,
    /// Modules with several instances, or none: the calls have `count`, `for_each` or `enabled`.
    repeated: BTreeSet<ModulePath>,
    /// Variables whose argument refers to the module that it is passed to, with the node that they
    /// need there: the reference is to other instances too.
    through_call: HashSet<(Step, Step)>,
    /// See [`Nodes::connected_modules`].
    connected: OnceLock<BTreeSet<ModulePath>>,
    /// By resource: the one whose instances its `for_each` uses unchanged.
    chained: HashMap<Step, Step>,
    /// By resource: instances of itself that its provisioners refer to; `None` means all.
    siblings: BTreeMap<Step, BTreeSet<Option<InstanceKey>>>,
    names: Names,
    /// Calls of provider functions that are not connected yet: step, module, name and source
    /// position.
    calls: Vec<(Step, ModulePath, Arc<str>, Span)>,
    /// Cache of transitive dependencies, by direct needs.
    dependencies: Mutex<HashMap<Vec<Step>, Arc<BTreeSet<String>>>>,
}

/// Input of the graph.
pub struct Sources<'a> {
    pub root: &'a Module,
    pub schemas: &'a HashMap<Arc<str>, Arc<ProviderSchema>>,
    /// Resources in the state.
    pub in_state: &'a BTreeSet<ConfigResource>,
    /// Provider configurations that the state records for undeclared resources.
    pub orphan_providers: &'a BTreeMap<ConfigResource, ConfigKey>,
}

impl Nodes {
    /// Returns the step of a node.
    pub fn step(&self, node: &Node) -> Option<Step> {
        self.by_node.get(node).copied()
    }

    /// Returns the step of a provider configuration's block.
    pub fn provider(&self, key: &ConfigKey) -> Option<Step> {
        self.step(&Node::Provider(key.block()))
    }

    /// Returns the modules that may have any number of instances.
    pub fn repeated_modules(&self) -> &BTreeSet<ModulePath> {
        &self.repeated
    }

    /// Returns the depth of the module in which a reference from one node to another is evaluated,
    /// as far as it encloses both.
    pub fn depth_of_reference(&self, step: Step, needed: Step) -> usize {
        let (own, other) = (self.nodes[step].module(), self.nodes[needed].module());
        match self.through_call.contains(&(step, needed)) {
            true => own.0.len() - 1,
            false => own.shared_depth(other),
        }
    }

    /// Returns the part of a module instance that an object of it shares with the objects of
    /// another module that it depends on. Within that part, their instances depend on each other.
    pub fn shared_instance(&self, own: &ModuleInstance, other: &ModulePath) -> ModuleInstance {
        own.shared_outside(other, self.connected_modules())
    }

    /// Returns the repeated modules whose instances may depend on each other: a value of the module
    /// leads out of it and back into it, such as a call with an argument that refers to the same
    /// module.
    pub fn connected_modules(&self) -> &BTreeSet<ModulePath> {
        self.connected.get_or_init(|| {
            let mut last_visit: Vec<Option<usize>> = vec![None; self.nodes.len()];
            let repeated = self.repeated.iter().enumerate();
            let connected = repeated.filter(|(at, module)| {
                let is_inside = |step: &Step| self.nodes[*step].module().starts_with(module);
                let inside = (0..self.nodes.len()).filter(is_inside);
                let mut queue: Vec<Step> = inside
                    .flat_map(|step| self.graph.needs(step))
                    .filter(|needed| !is_inside(needed))
                    .collect();
                queue.extend(self.through_call.iter().flat_map(|(variable, needed)| {
                    is_inside(variable).then_some(*needed).filter(is_inside)
                }));
                while let Some(step) = queue.pop() {
                    if is_inside(&step) {
                        return true;
                    }
                    if last_visit[step].replace(*at) != Some(*at) {
                        queue.extend(self.graph.needs(step));
                    }
                }
                false
            });
            connected.map(|(_, module)| module.clone()).collect()
        })
    }

    /// Returns the instance keys of a resource or of an output's module that a step depends on;
    /// `None` if it depends on all instances.
    pub fn instances_needed(&self, step: Step, resource: Step) -> Option<&BTreeSet<InstanceKey>> {
        self.instance_keys.get(&(step, resource))
    }

    /// Returns the resources that a resource's instances can need by instance, each after the node
    /// of the reference: the resource itself, or a local value.
    pub fn separable_needs(
        &self,
        step: Step,
    ) -> impl Iterator<Item = (Step, Step, &ConfigResource)> {
        let needs = self.graph.needs(step);
        let separable = needs.filter(move |need| !self.needs_whole.contains(&(step, *need)));
        separable.filter_map(|through| {
            let need = self.keyed_locals.get(&through).copied().unwrap_or(through);
            match &self.nodes[need] {
                Node::Resource(on) if on.resource.mode == Mode::Managed => {
                    Some((through, need, on))
                }
                _ => None,
            }
        })
    }

    /// Returns the resource whose keys are those of another one (`for_each = x_y.a`).
    pub fn chained_on(&self, step: Step) -> Option<Step> {
        self.chained.get(&step).copied()
    }

    /// Returns the resources whose provisioners refer to instances of the resource itself: by key,
    /// `None` for all.
    pub fn siblings(
        &self,
    ) -> impl Iterator<Item = (&ConfigResource, &BTreeSet<Option<InstanceKey>>)> + '_ {
        self.siblings
            .iter()
            .filter_map(|(step, keys)| Some((self.nodes[*step].resource()?, keys)))
    }

    /// Returns the diagnostics of names, before evaluation.
    pub fn name_diagnostics(&self) -> Diagnostics {
        self.names.diagnostics()
    }

    /// Returns the source positions of functions that the schemas lack, with the provider's
    /// address.
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
            instance_keys: HashMap::new(),
            keyed_locals: HashMap::new(),
            needs_whole: HashSet::new(),
            repeated: BTreeSet::new(),
            through_call: HashSet::new(),
            connected: OnceLock::new(),
            chained: HashMap::new(),
            siblings: BTreeMap::new(),
            names: Names::with(from.schemas),
            calls: Vec::new(),
            dependencies: Mutex::default(),
        };
        let modules = from.root.all();
        // Nodes come first, in the order of evaluation among independent ones.
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
            // A node of its own, so that the plan can destroy the objects.
            if !declared {
                let step = all.add(Node::Orphan(resource.clone()));
                // The destroy needs the provider that the state records.
                if let Some(key) = from.orphan_providers.get(resource) {
                    let provider = all.add(Node::Provider(key.block()));
                    all.graph.add_need(step, provider);
                }
            }
        }
        // An edge needs both of its nodes, so all modules have been added before.
        for module in &modules {
            all.connect(from, module);
        }
        all.connect_providers(from);
        all
    }

    /// Returns the graph for a plan. It adds edges from orphans to the calls of their modules,
    /// because the reason of their destroy depends on the module's instances. A deploy does not
    /// need these edges.
    pub fn to_plan(&self) -> Graph {
        let mut graph = self.graph.clone();
        for (step, node) in self.nodes.iter().enumerate() {
            let Node::Orphan(resource) = node else {
                continue;
            };
            // Each enclosing call may be the one that no longer has the instance.
            let mut at = resource.module.clone();
            while let Some((parent, name)) =
                at.parent().map(|(parent, name)| (parent, name.clone()))
            {
                if let Some(call) = self.step(&Node::Call(parent.clone(), name)) {
                    graph.add_need(step, call);
                }
                at = parent;
            }
        }
        graph
    }

    /// Returns the transitive dependencies of a step, as recorded in the state's `dependencies`.
    /// Steps with equal needs share one set, like most resources of a module.
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
        // Computed without the lock; a result that another thread has stored meanwhile is used.
        lock(&self.dependencies).entry(needs).or_insert(all).clone()
    }
}

/// Returns the address of a module's resource.
pub fn config_resource(module: &ModulePath, resource: &Resource) -> ConfigResource {
    ConfigResource {
        module: module.clone(),
        resource: resource.clone(),
    }
}
