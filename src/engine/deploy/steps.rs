//! A selection as steps with edges: what is created or changed once what it needs is there, what is destroyed once what
//! depends on it is gone or changed. Pure. The rules are those of the reference engine (3.6 of the project's reference).

use crate::engine::event::{Action, StageMode};
use crate::engine::graph::{Graph, Step};
use crate::engine::stage::change::Change;
use crate::engine::stage::nodes::{Node, Nodes};
use lang::addr::{ConfigResource, Mode};
use lang::diag::Diagnostic;
use std::collections::{BTreeSet, HashMap};

/// What a step of a deploy does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A node of the configuration: evaluated, or for a resource its value put together.
    Node(Step),
    /// Works out the instances of a resource before any of them is applied.
    Open(Step),
    /// Creates, updates, or reads the instance of a change.
    Apply(usize),
    /// Destroys or forgets the object of a change.
    Destroy(usize),
}

/// The steps of a deploy.
pub struct Steps {
    pub graph: Graph,
    pub tasks: Vec<Task>,
}

impl Steps {
    /// A cycle in words.
    pub fn cycle(&self, cycle: &[Step], nodes: &Nodes, changes: &[Change]) -> Diagnostic {
        let name = |step: &Step| match &self.tasks[*step] {
            Task::Node(n) | Task::Open(n) => nodes.nodes[*n].text(),
            Task::Apply(i) => changes[*i].address.to_string(),
            Task::Destroy(i) => format!("{} (destroy)", changes[*i].id()),
        };
        let names: Vec<String> = cycle.iter().map(name).collect();
        let detail = "Each of these operations waits for the next one. Narrow the stage to some of them (--target), or take create_before_destroy away.";
        Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail)
    }
}

/// Whether a change does anything at all.
pub fn acts(change: &Change) -> bool {
    change.action != Action::NoOp || change.importing.is_some()
}

/// Whether a change has a part that creates, updates, reads, or imports.
pub fn applies(change: &Change) -> bool {
    matches!(change.action, Action::Create | Action::Update | Action::Replace | Action::ReplaceCreateFirst | Action::Read)
        || change.importing.is_some()
}

/// Whether a change has a part that destroys or forgets.
pub fn destroys(action: Action) -> bool {
    action.destroys() || action == Action::Forget
}

/// Whether two changes are in different instances of one module, where names mean other objects.
fn apart(a: &Change, b: &Change) -> bool {
    a.address.module != b.address.module && a.address.module.path() == b.address.module.path()
}

/// Builds the steps for the changes that were taken, given by number.
pub fn build(nodes: &Nodes, changes: &[Change], taken: &BTreeSet<usize>, mode: StageMode) -> Steps {
    let mut out = Builder {
        steps: Steps { graph: Graph::default(), tasks: Vec::new() },
        nodes,
        of_node: Vec::new(),
        apply: HashMap::new(),
        destroy: HashMap::new(),
    };
    out.nodes(mode, changes, taken);
    out.instances(changes, taken);
    out.destruction_order(changes, taken);
    out.steps
}

struct Builder<'a> {
    steps: Steps,
    nodes: &'a Nodes,
    /// The step of each node; `None` where the node is not needed.
    of_node: Vec<Option<Step>>,
    apply: HashMap<usize, Step>,
    destroy: HashMap<usize, Step>,
}

impl Builder<'_> {
    fn add(&mut self, task: Task) -> Step {
        self.steps.tasks.push(task);
        self.steps.graph.add()
    }

    /// Nodes that something taken needs, and root outputs with all that they need.
    fn nodes(&mut self, mode: StageMode, changes: &[Change], taken: &BTreeSet<usize>) {
        let mut roots: BTreeSet<Step> = BTreeSet::new();
        for &i in taken {
            let change = &changes[i];
            let config = change.address.config();
            if applies(change) {
                roots.extend(self.nodes.step(&Node::Resource(config)));
            }
            roots.extend(self.nodes.step(&Node::Provider(change.provider.clone())));
        }
        if mode != StageMode::Destroy {
            for (step, node) in self.nodes.nodes.iter().enumerate() {
                let wanted = match node {
                    Node::Output(path, _) => path.is_root(),
                    Node::Check(..) => true,
                    _ => false,
                };
                if wanted {
                    roots.insert(step);
                }
            }
        }
        let needed = self.nodes.graph.closure(roots);
        self.of_node = vec![None; self.nodes.nodes.len()];
        for &node in &needed {
            if matches!(self.nodes.nodes[node], Node::Orphan(_)) {
                continue;
            }
            self.of_node[node] = Some(self.add(Task::Node(node)));
        }
        for &node in &needed {
            let Some(step) = self.of_node[node] else { continue };
            for need in self.nodes.graph.needs(node) {
                if let Some(needed) = self.of_node[need] {
                    self.steps.graph.need(step, needed);
                }
            }
        }
    }

    fn instances(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        let mut opened: HashMap<ConfigResource, Step> = HashMap::new();
        for &i in taken {
            let change = &changes[i];
            let config = change.address.config();
            if applies(change)
                && let Some(node) = self.nodes.step(&Node::Resource(config.clone()))
                && let Some(close) = self.of_node[node]
            {
                let open = match opened.get(&config) {
                    Some(open) => *open,
                    None => {
                        let open = self.add(Task::Open(node));
                        let needs: Vec<Step> = self.steps.graph.needs(close).collect();
                        for need in needs {
                            self.steps.graph.need(open, need);
                        }
                        opened.insert(config, open);
                        open
                    }
                };
                let step = self.add(Task::Apply(i));
                self.steps.graph.need(step, open);
                self.steps.graph.need(close, step);
                self.apply.insert(i, step);
            }
            if destroys(change.action) {
                let step = self.add(Task::Destroy(i));
                if let Some(provider) = self.nodes.step(&Node::Provider(change.provider.clone())).and_then(|n| self.of_node[n]) {
                    self.steps.graph.need(step, provider);
                }
                self.destroy.insert(i, step);
            }
        }
    }

    /// Who goes before whom where something is destroyed.
    fn destruction_order(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        // Who depended on a resource when the state was written, and who will.
        let mut dependents: HashMap<&str, Vec<usize>> = HashMap::new();
        for &i in taken {
            if changes[i].address.resource.mode == Mode::Managed {
                for on in changes[i].dependencies.iter().chain(changes[i].prior_dependencies.difference(&changes[i].dependencies)) {
                    dependents.entry(on).or_default().push(i);
                }
            }
        }
        let mut by_config: HashMap<String, Vec<usize>> = HashMap::new();
        for &i in taken {
            if changes[i].address.resource.mode == Mode::Managed {
                by_config.entry(changes[i].address.config().to_string()).or_default().push(i);
            }
        }
        for (&i, &step) in &self.destroy {
            let change = &changes[i];
            let create_first = change.deposed.is_some()
                || change.action == Action::ReplaceCreateFirst
                || (change.create_before_destroy && change.action == Action::Destroy);
            if let Some(&apply) = self.apply.get(&i) {
                if create_first {
                    self.steps.graph.need(step, apply);
                } else {
                    self.steps.graph.need(apply, step);
                }
            }
            // What the object depended on changes once the object is gone; one that is destroyed late waits for that.
            for on in &change.prior_dependencies {
                for &j in by_config.get(on.as_str()).into_iter().flatten().filter(|j| **j != i && !apart(change, &changes[**j])) {
                    if let Some(&other) = self.apply.get(&j) {
                        if create_first {
                            self.steps.graph.need(step, other);
                        } else {
                            self.steps.graph.need(other, step);
                        }
                    }
                }
            }
            let config = change.address.config().to_string();
            for &j in dependents.get(config.as_str()).into_iter().flatten() {
                if j == i || changes[j].address.config() == change.address.config() || apart(change, &changes[j]) {
                    continue;
                }
                let dependent_first = self.destroy.get(&j).copied();
                let depended = changes[j].prior_dependencies.contains(&config);
                if let Some(other) = dependent_first.filter(|_| depended) {
                    self.steps.graph.need(step, other);
                }
                if let Some(&other) = self.apply.get(&j) {
                    if create_first {
                        self.steps.graph.need(step, other);
                    } else if depended {
                        self.steps.graph.need(other, step);
                    }
                }
            }
        }
        // An edge between what belongs to different providers is let go where it would close a circle.
        let mut rounds = self.steps.graph.len();
        while rounds > 0 {
            rounds -= 1;
            let cycles = self.steps.graph.cycles();
            let Some(cycle) = cycles.first() else { return };
            let inside: BTreeSet<Step> = cycle.iter().copied().collect();
            let edge = cycle.iter().find_map(|&s| {
                let Task::Apply(_) = self.steps.tasks[s] else { return None };
                let needed =
                    self.steps.graph.needs(s).find(|n| {
                        inside.contains(n) && matches!(self.steps.tasks[*n], Task::Destroy(d) if self.apply.get(&d) != Some(&s))
                    })?;
                Some((s, needed))
            });
            match edge {
                Some((step, needed)) => self.steps.graph.unneed(step, needed),
                None => return,
            }
        }
    }
}
