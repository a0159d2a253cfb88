//! Graphs in DOT format, with OpenTofu's node names: of a plan, a deploy or a destroy. Each node
//! has edges to its dependencies, without those implied by longer paths. Pure.

mod idle;

use super::change::Change;
use super::nodes::{Node, Nodes};
use super::prior::PriorState;
use super::steps::{Steps, Task};
use graph::{Graph, Step};
use lang::addr::{ConfigResource, ModuleInstance, ModulePath};
use lang::config::Module;
use model::ConfigKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Node limit for the transitive reduction, whose memory grows with the square of the nodes.
const REDUCED: usize = 20_000;

/// Nodes and their edges.
#[derive(Default)]
pub struct Drawing {
    items: Vec<Item>,
    graph: Graph,
}

struct Item {
    /// Without a name it is not drawn: edges to it continue to its own needs.
    name: Option<String>,
    /// Label and shape; a node without them appears in edges only.
    label_and_shape: Option<(String, &'static str)>,
    module: ModulePath,
}

/// Drawn form of a graph node, which may consist of two nodes.
#[derive(Clone, Copy)]
struct Drawn {
    /// Node that dependents point to.
    target: Step,
    /// Node that points to the dependencies.
    first: Step,
}

impl Drawing {
    /// Draws the nodes of a plan.
    pub fn of_plan(nodes: &Nodes) -> Self {
        Self::of_nodes(nodes, &(0..nodes.nodes.len()).collect(), true)
    }

    /// Draws these nodes, either of a plan or of a deploy without changes.
    fn of_nodes(nodes: &Nodes, some: &BTreeSet<Step>, plans: bool) -> Self {
        let mut out = Self::default();
        let mut drawn: BTreeMap<Step, Drawn> = BTreeMap::new();
        for step in some {
            let node = &nodes.nodes[*step];
            let of = match plans {
                true => out.node(node, true),
                false => out.draw_unchanged(nodes, some, *step),
            };
            drawn.insert(*step, of);
        }
        let mut users: BTreeMap<Step, Vec<Step>> = BTreeMap::new();
        for (step, of) in &drawn {
            for needed in nodes.graph.needs(*step) {
                let Some(need) = drawn.get(&needed) else {
                    continue;
                };
                out.add_edge(of.first, need.target);
                // A provider is closed after the resources that use it.
                let is_provider = matches!(nodes.nodes[needed], Node::Provider(_));
                if is_provider && nodes.nodes[*step].resource().is_some() {
                    users.entry(needed).or_default().push(of.target);
                }
            }
        }
        for (provider, users) in users {
            let name = format!("{} (close)", nodes.nodes[provider].text());
            let close = out.close(name);
            users.into_iter().for_each(|user| out.add_edge(close, user));
        }
        out.modules_of(nodes);
        out.add_module_ends();
        out
    }

    /// Draws the steps of a deploy.
    pub fn of_deploy(nodes: &Nodes, steps: &Steps, changes: &[Change]) -> Self {
        let mut out = Self::default();
        let mut users: BTreeMap<ConfigKey, Vec<Step>> = BTreeMap::new();
        let mut drawn = Vec::with_capacity(steps.tasks.len());
        let applied = steps.tasks.iter().filter_map(|task| match task {
            Task::Apply(i) => Some(changes[*i].address.config()),
            _ => None,
        });
        let applied: BTreeSet<ConfigResource> = applied.collect();
        // OpenTofu draws one node for all instances of a module.
        let mut evaluated: BTreeMap<(Step, bool), Drawn> = BTreeMap::new();
        for task in &steps.tasks {
            let (of, provider) = match task {
                Task::Node(n, _) | Task::Open(n, _) => {
                    let node = &nodes.nodes[*n];
                    // The resource is evaluated but not changed.
                    let unchanged = node.resource().is_some_and(|r| !applied.contains(r));
                    let opened = unchanged || matches!(task, Task::Open(..));
                    let draw = || out.node(node, opened);
                    (*evaluated.entry((*n, opened)).or_insert_with(draw), None)
                }
                Task::Part(..) | Task::Gate | Task::Rollout(..) => {
                    (out.add_node(None, None, ModulePath::root()), None)
                }
                Task::Apply(i) => {
                    let change = &changes[*i];
                    let drawn = out.resource(change.id(), &change.address.config());
                    (drawn, Some(&change.provider))
                }
                Task::Destroy(i) => {
                    let change = &changes[*i];
                    let name = format!("{} (destroy)", change.id());
                    let drawn = out.destroyed(name, &change.address.config());
                    (drawn, Some(&change.provider))
                }
            };
            if let Some(key) = provider {
                users.entry(key.block()).or_default().push(of.target);
            }
            drawn.push(of);
        }
        for (step, of) in drawn.iter().enumerate() {
            for needed in steps.graph.needs(step) {
                out.add_edge(of.first, drawn[needed].target);
            }
        }
        for (key, users) in users {
            out.provider_of(&key, &users);
        }
        out.add_module_ends();
        out
    }

    /// Draws the destroy of all objects: dependents are destroyed before their dependencies.
    pub fn of_destruction(root: &Module, prior: &PriorState) -> Self {
        let mut out = Self::default();
        for name in root.variables.keys() {
            let name = format!("var.{name}");
            out.add_node(Some(name.clone()), Some((name, "note")), ModulePath::root());
        }
        for name in root.outputs.keys() {
            out.add_node(
                Some(format!("output.{name} (expand)")),
                None,
                ModulePath::root(),
            );
        }
        for module in root.all() {
            out.add_node(None, None, module.path.clone());
        }
        let mut of_resource: HashMap<String, Vec<(&ModuleInstance, Step)>> = HashMap::new();
        let mut users: BTreeMap<ConfigKey, Vec<Step>> = BTreeMap::new();
        let mut dependencies = Vec::new();
        for (resource, instances) in &prior.resources {
            // Only managed objects are destroyed.
            if resource.resource.mode != lang::addr::Mode::Managed {
                continue;
            }
            for (key, objects) in instances {
                let address = resource.instance(key.clone());
                for object in objects.current.iter().chain(&objects.deposed) {
                    let name = match object.deposed.as_str() {
                        "" => format!("{address} (destroy)"),
                        deposed => format!("{address} (destroy deposed {deposed})"),
                    };
                    let label = resource.config();
                    let step = out.destroyed(name, &label).target;
                    let drawn = (&resource.module, step);
                    let of_resource = of_resource.entry(label.to_string()).or_default();
                    of_resource.push(drawn);
                    dependencies.push((drawn, &object.dependencies));
                    if let Some(provider) = ConfigKey::parse(&object.provider) {
                        users.entry(provider.block()).or_default().push(step);
                    }
                }
            }
        }
        for ((module, dependent), addresses) in dependencies {
            for (other, step) in addresses
                .iter()
                .filter_map(|a| of_resource.get(a))
                .flatten()
            {
                let siblings = module != *other && module.path() == other.path();
                // A resource may depend on itself in the state, for instance between its own
                // objects; a step must not need itself.
                if *step != dependent && !siblings {
                    out.add_edge(*step, dependent);
                }
            }
        }
        for (key, users) in users {
            out.provider_of(&key, &users);
        }
        out.add_module_ends();
        out
    }

    fn add_node(
        &mut self,
        name: Option<String>,
        look: Option<(String, &'static str)>,
        module: ModulePath,
    ) -> Drawn {
        let step = self.graph.add();
        self.items.push(Item {
            name,
            label_and_shape: look,
            module,
        });
        Drawn {
            target: step,
            first: step,
        }
    }

    fn add_edge(&mut self, step: Step, needed: Step) {
        if step != needed {
            self.graph.add_need(step, needed);
        }
    }

    /// Adds two nodes; the first needs the second.
    fn add_node_pair(
        &mut self,
        whole: String,
        first: (String, bool),
        module: &ModulePath,
    ) -> Drawn {
        let (name, is_shown) = first;
        let look = is_shown.then(|| (name.clone(), "note"));
        let first = self.add_node(Some(name), look, module.clone()).target;
        let whole = self.add_node(Some(whole), None, module.clone()).target;
        self.add_edge(whole, first);
        Drawn {
            target: whole,
            first,
        }
    }

    /// Draws a node of a plan if `opened`. Otherwise a resource is represented by its instances and
    /// not drawn itself.
    fn node(&mut self, node: &Node, opened: bool) -> Drawn {
        let text = node.text();
        let expand = format!("{text} (expand)");
        match node {
            Node::Variable(module, _) if module.is_root() => {
                let drawn =
                    self.add_node_pair(format!("{text} (expand, reference)"), (text, true), module);
                Drawn {
                    first: drawn.target,
                    ..drawn
                }
            }
            Node::Variable(module, _) => {
                let input = (format!("{text} (expand, input)"), false);
                self.add_node_pair(format!("{text} (expand, reference)"), input, module)
            }
            // A deploy's report is not drawn as a node, and the module is closed independently of
            // it.
            Node::Check(..) if !opened => self.add_node(Some(expand), None, ModulePath::root()),
            Node::Check(module, _) => {
                let drawn = self.add_node_pair(expand, (format!("{text} (report)"), false), module);
                Drawn {
                    first: drawn.target,
                    ..drawn
                }
            }
            Node::Local(module, _) | Node::Output(module, _) => {
                self.add_node(Some(expand), None, module.clone())
            }
            Node::Call(module, name) => self.add_node(Some(expand), None, module.child(name)),
            Node::Provider(key) => self.add_node(
                Some(text.clone()),
                Some((text, "diamond")),
                key.module.clone(),
            ),
            Node::Resource(_) if !opened => self.add_node(None, None, ModulePath::root()),
            Node::Resource(resource) => self.resource(expand, resource),
            Node::Orphan(resource) => self.resource(format!("{text} (orphan)"), resource),
        }
    }

    fn resource(&mut self, name: String, resource: &ConfigResource) -> Drawn {
        let look = (resource.to_string(), "box");
        self.add_node(Some(name), Some(look), resource.module.clone())
    }

    /// Adds a destroyed object. It belongs to no module, because a module's closing does not wait
    /// for it.
    fn destroyed(&mut self, name: String, resource: &ConfigResource) -> Drawn {
        let look = (resource.to_string(), "box");
        self.add_node(Some(name), Some(look), ModulePath::root())
    }

    fn close(&mut self, name: String) -> Step {
        self.add_node(Some(name), None, ModulePath::root()).target
    }

    /// Adds a provider's configuration before its users, and its closing after them.
    fn provider_of(&mut self, key: &ConfigKey, users: &[Step]) {
        let name = key.to_string();
        let there = self
            .items
            .iter()
            .position(|i| i.name.as_ref() == Some(&name));
        let provider = there.unwrap_or_else(|| {
            let look = Some((name.clone(), "diamond"));
            self.add_node(Some(name.clone()), look, key.module.clone())
                .target
        });
        let close = self.close(format!("{name} (close)"));
        for user in users {
            self.add_edge(*user, provider);
            self.add_edge(close, *user);
        }
    }

    /// Adds the closing of each module after all nodes in it, and the root after all nodes.
    fn add_module_ends(&mut self) {
        let mut modules: BTreeSet<ModulePath> = BTreeSet::new();
        for item in &self.items {
            let mut at = item.module.clone();
            while let Some((parent, _)) = at.parent() {
                modules.insert(at.clone());
                at = parent;
            }
        }
        // In reverse order children come before parents, so that a parent's closing covers those of
        // its children.
        for module in modules.into_iter().rev() {
            let inside = self.items.iter().enumerate();
            let inside: Vec<Step> = inside
                .filter(|(_, item)| item.module.starts_with(&module))
                .map(|(step, _)| step)
                .collect();
            let close = self.add_node(Some(format!("{module} (close)")), None, module);
            inside
                .into_iter()
                .for_each(|step| self.add_edge(close.target, step));
        }
        let all = self.items.len();
        let root = self.add_node(Some("root".to_owned()), None, ModulePath::root());
        (0..all).for_each(|step| self.add_edge(root.target, step));
    }

    /// Returns the edges between drawn nodes without those implied by longer paths.
    fn edges(&self) -> Vec<(Step, Step)> {
        // Pass 1: replace each undrawn node by its own needs. In dependency order they are already
        // resolved.
        let order = self.graph.order();
        let mut drawn: Vec<BTreeSet<Step>> = vec![BTreeSet::new(); self.items.len()];
        for &step in &order {
            let mut needs = BTreeSet::new();
            for needed in self.graph.needs(step) {
                match self.items[needed].name {
                    Some(_) => drop(needs.insert(needed)),
                    None => needs.extend(drawn[needed].iter().copied()),
                }
            }
            drawn[step] = needs;
        }
        // Pass 2: one bit set per node of all nodes reachable from it. An edge is redundant if
        // another need reaches its target.
        let mut edges = Vec::new();
        let reduce = self.items.len() <= REDUCED;
        let words = self.items.len().div_ceil(64);
        let mut reached: Vec<Vec<u64>> = vec![Vec::new(); self.items.len()];
        for &step in &order {
            let mut all = vec![0_u64; if reduce { words } else { 0 }];
            for needed in drawn[step].iter().filter(|_| reduce) {
                all.iter_mut()
                    .zip(&reached[*needed])
                    .for_each(|(a, b)| *a |= b);
            }
            let by_another = |s: Step| reduce && all[s / 64] & (1 << (s % 64)) != 0;
            if self.items[step].name.is_some() {
                let needs = drawn[step].iter().filter(|s| !by_another(**s));
                edges.extend(needs.map(|needed| (step, *needed)));
            }
            // The node's own needs are added after the edges are chosen, or each edge would hide
            // itself.
            for needed in drawn[step].iter().filter(|_| reduce) {
                all[needed / 64] |= 1 << (needed % 64);
            }
            reached[step] = all;
        }
        edges
    }

    /// Returns the DOT text.
    pub fn text(&self) -> String {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let named = |item: &Item| {
            let name = item.name.as_deref().unwrap_or_default();
            quoted(&format!("[root] {name}"))
        };
        let items = self.items.iter();
        let nodes = items
            .filter_map(|item| Some((item.name.as_ref()?, item, item.label_and_shape.as_ref()?)));
        let nodes: BTreeMap<&String, String> = nodes
            .map(|(name, item, (label, shape))| {
                let line = format!(
                    "\t\t{} [label = {}, shape = \"{shape}\"]\n",
                    named(item),
                    quoted(label)
                );
                (name, line)
            })
            .collect();
        let edges = self.edges().into_iter();
        let edges: BTreeSet<String> = edges
            .map(|(from, to)| {
                let (from, to) = (&self.items[from], &self.items[to]);
                format!("\t\t{} -> {}\n", named(from), named(to))
            })
            .collect();
        let mut out = String::from(
            "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n",
        );
        nodes
            .into_values()
            .chain(edges)
            .for_each(|line| out.push_str(&line));
        out + "\t}\n}\n"
    }
}
