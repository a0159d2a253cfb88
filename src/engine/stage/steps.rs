//! A selection as steps with edges: what is created or changed once what it needs is there, what is
//! destroyed once what depends on it is gone or changed. Pure. The rules are those of the reference
//! engine (3.6 of the project's reference).

use super::change::{Change, OutputChange};
use super::managed::Reason;
use super::nodes::{Node, Nodes};
use crate::engine::graph::{Graph, Step};
use crate::engine::words::{Action, StageMode, StageRequest};
use lang::addr::{ConfigResource, InstanceKey, Mode, ModuleInstance, ModulePath};
use lang::diag::Diagnostic;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a step of a deploy does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A node of the configuration: evaluated, or for a resource its value put together.
    Node(Step),
    /// Puts the value of a resource together from some of its instances, for those who need no
    /// others.
    Part(Step),
    /// Works out the instances of a resource before any of them is applied.
    Open(Step),
    /// Creates, updates, or reads the instance of a change.
    Apply(usize),
    /// Destroys or forgets the object of a change.
    Destroy(usize),
    /// Does nothing: what waits for all of many waits for this one, which waits for them.
    Gate,
}

/// The steps of a deploy.
pub struct Steps {
    pub graph: Graph,
    pub tasks: Vec<Task>,
    /// By the step that begins a replacement, the one that ends it.
    pub second_halves: HashMap<Step, Step>,
}

impl Steps {
    /// A cycle in words.
    fn cycle(&self, cycle: &[Step], nodes: &Nodes, changes: &[Change]) -> Diagnostic {
        let name = |step: &Step| match &self.tasks[*step] {
            Task::Node(n) | Task::Part(n) | Task::Open(n) => nodes.nodes[*n].text(),
            Task::Apply(i) => changes[*i].address.to_string(),
            Task::Destroy(i) => format!("{} (destroy)", changes[*i].id()),
            Task::Gate => "all of them".to_owned(),
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
    matches!(
        change.action,
        Action::Create
            | Action::Update
            | Action::Replace
            | Action::ReplaceCreateFirst
            | Action::Read
    ) || change.importing.is_some()
}

/// Whether a change has a part that destroys or forgets.
pub fn destroys(action: Action) -> bool {
    action.destroys() || action == Action::Forget
}

/// The nodes that a deploy works out though no change needs them: the root outputs of the stage,
/// and the checks. Of what targets or excludes have narrowed no check is asked.
pub fn ends(nodes: &Nodes, request: &StageRequest, outputs: &[&OutputChange]) -> BTreeSet<Step> {
    if request.mode == StageMode::Destroy {
        return BTreeSet::new();
    }
    let whole = request.target.is_empty() && request.exclude.is_empty();
    let checks = nodes
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| whole && matches!(n, Node::Check(..)))
        .map(|(s, _)| s);
    let outputs = outputs
        .iter()
        .filter_map(|o| nodes.step(&Node::Output(ModulePath::root(), o.name.clone())));
    outputs.chain(checks).collect()
}

/// Builds the steps for the changes that were taken, given by number, and for `ends`. The error is
/// a cycle that cannot be opened, in words.
pub fn build(
    nodes: &Nodes,
    changes: &[Change],
    taken: &BTreeSet<usize>,
    ends: &BTreeSet<Step>,
) -> Result<Steps, Diagnostic> {
    let steps = build_with(nodes, changes, taken, ends, GATED);
    if steps.graph.cycles().is_empty() {
        return Ok(steps);
    }
    // Which single edge closes a circle shows only where none of them is bundled.
    let mut steps = build_with(nodes, changes, taken, ends, usize::MAX);
    match steps.open_circles() {
        None => Ok(steps),
        Some(cycle) => Err(steps.cycle(&cycle, nodes, changes)),
    }
}

fn build_with(
    nodes: &Nodes,
    changes: &[Change],
    taken: &BTreeSet<usize>,
    ends: &BTreeSet<Step>,
    gated: usize,
) -> Steps {
    let mut out = Builder {
        steps: Steps {
            graph: Graph::default(),
            tasks: Vec::new(),
            second_halves: HashMap::new(),
        },
        nodes,
        of_node: Vec::new(),
        parts: BTreeMap::new(),
        apply: HashMap::new(),
        destroy: HashMap::new(),
        gated,
    };
    out.nodes(ends, changes, taken);
    out.instances(changes, taken);
    out.destruction_order(changes, taken);
    out.checks_last(changes, taken);
    out.steps
}

/// From how many edges on everything of one side waits for a gate instead of for everything of the
/// other side.
const GATED: usize = 64;

/// Steps of one resource, in one instance of its module or in all of them.
#[derive(Default)]
struct Group {
    apply: Vec<(usize, Step)>,
    /// Objects that go before what they depended on changes.
    early: Vec<(usize, Step)>,
    /// Objects that go after everything else has changed.
    late: Vec<(usize, Step)>,
}

/// A resource of which something was taken.
#[derive(Default)]
struct Taken {
    path: ModulePath,
    all: Group,
    within: HashMap<ModuleInstance, Group>,
}

/// Steps of one resource that depends on another one.
#[derive(Default)]
struct Dependents {
    /// They depend on it now, or did when the state was written.
    apply: Vec<(usize, Step)>,
    /// They did when the state was written.
    apply_depended: Vec<(usize, Step)>,
    early: Vec<(usize, Step)>,
    late: Vec<(usize, Step)>,
}

struct Builder<'a> {
    steps: Steps,
    nodes: &'a Nodes,
    /// The step of each node; `None` where the node is not needed.
    of_node: Vec<Option<Step>>,
    /// By resource and keys, what waits for these instances alone.
    parts: BTreeMap<(Step, BTreeSet<InstanceKey>), Step>,
    apply: HashMap<usize, Step>,
    destroy: HashMap<usize, Step>,
    gated: usize,
}

impl Builder<'_> {
    fn add(&mut self, task: Task) -> Step {
        self.steps.tasks.push(task);
        self.steps.graph.add()
    }

    /// Nodes that something taken needs, and those that are worked out for their own sake, with all
    /// that they need.
    fn nodes(&mut self, ends: &BTreeSet<Step>, changes: &[Change], taken: &BTreeSet<usize>) {
        let mut roots = ends.clone();
        for &i in taken {
            let change = &changes[i];
            let config = change.address.config();
            if applies(change) {
                roots.extend(self.nodes.step(&Node::Resource(config)));
            }
            roots.extend(self.nodes.provider(&change.provider));
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
            let Some(step) = self.of_node[node] else {
                continue;
            };
            for need in self.nodes.graph.needs(node) {
                if let Some(whole) = self.of_node[need] {
                    let kept = self.nodes.nodes[need]
                        .resource()
                        .is_some_and(|r| r.resource.mode != Mode::Ephemeral);
                    let needed = self
                        .nodes
                        .instances_needed(node, need)
                        .filter(|_| kept)
                        .map(|keys| self.part(need, keys));
                    self.steps.graph.need(step, needed.unwrap_or(whole));
                }
            }
        }
    }

    fn part(&mut self, resource: Step, keys: &BTreeSet<InstanceKey>) -> Step {
        if let Some(part) = self.parts.get(&(resource, keys.clone())) {
            return *part;
        }
        let part = self.add(Task::Part(resource));
        self.parts.insert((resource, keys.clone()), part);
        part
    }

    /// What parts of resources wait for: those of their instances that are applied, or the resource
    /// where none is.
    fn parts(&mut self, changes: &[Change], opened: &HashMap<ConfigResource, Step>) {
        let mut applied: HashMap<ConfigResource, Vec<(&InstanceKey, Step)>> = HashMap::new();
        for (i, step) in self.apply.iter().filter(|_| !self.parts.is_empty()) {
            applied
                .entry(changes[*i].address.config())
                .or_default()
                .push((&changes[*i].address.key, *step));
        }
        for ((resource, keys), part) in &self.parts {
            let Node::Resource(config) = &self.nodes.nodes[*resource] else {
                continue;
            };
            let first = opened.get(config).copied().or(self.of_node[*resource]);
            let own = applied
                .get(config)
                .into_iter()
                .flatten()
                .filter(|(key, _)| keys.contains(key))
                .map(|(_, step)| *step);
            first
                .into_iter()
                .chain(own)
                .for_each(|needed| self.steps.graph.need(*part, needed));
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
                if let Some(provider) = self
                    .nodes
                    .provider(&change.provider)
                    .and_then(|n| self.of_node[n])
                {
                    self.steps.graph.need(step, provider);
                }
                self.destroy.insert(i, step);
            }
        }
        self.parts(changes, &opened);
    }

    /// Who goes before whom where something is destroyed.
    fn destruction_order(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        if self.destroy.is_empty() {
            return;
        }
        let late = |change: &Change| {
            change.deposed.is_some()
                || change.action == Action::ReplaceCreateFirst
                || (change.create_before_destroy && change.action == Action::Destroy)
        };
        let managed = |i: &&usize| changes[**i].address.resource.mode == Mode::Managed;
        let mut resources: HashMap<String, Taken> = HashMap::new();
        for &i in taken.iter().filter(managed) {
            let change = &changes[i];
            let config = change.address.config();
            let resource = resources.entry(config.to_string()).or_default();
            resource.path = config.module;
            let within = resource
                .within
                .entry(change.address.module.clone())
                .or_default();
            for group in [&mut resource.all, within] {
                group.apply.extend(self.apply.get(&i).map(|s| (i, *s)));
                let destroyed = if late(change) {
                    &mut group.late
                } else {
                    &mut group.early
                };
                destroyed.extend(self.destroy.get(&i).map(|s| (i, *s)));
            }
            if let (Some(&apply), Some(&destroy)) = (self.apply.get(&i), self.destroy.get(&i)) {
                let (after, before) = if late(change) {
                    (destroy, apply)
                } else {
                    (apply, destroy)
                };
                self.steps.graph.need(after, before);
                self.steps.second_halves.insert(before, after);
            }
        }
        // By what is needed, who needs it, and the instance of the module where both are in one:
        // names mean other objects in another instance.
        let mut edges: BTreeMap<(&str, String, Option<&ModuleInstance>), Dependents> =
            BTreeMap::new();
        for &i in taken.iter().filter(managed) {
            let change = &changes[i];
            let config = change.address.config();
            for on in change
                .dependencies
                .iter()
                .chain(change.prior_dependencies.difference(&change.dependencies))
            {
                let Some(needed) = resources.get(on) else {
                    continue;
                };
                let within = (needed.path == config.module).then_some(&change.address.module);
                let dependents = edges.entry((on, config.to_string(), within)).or_default();
                let depended = change.prior_dependencies.contains(on);
                let apply = self.apply.get(&i).map(|s| (i, *s));
                dependents.apply.extend(apply);
                if depended {
                    dependents.apply_depended.extend(apply);
                    let destroyed = if late(change) {
                        &mut dependents.late
                    } else {
                        &mut dependents.early
                    };
                    destroyed.extend(self.destroy.get(&i).map(|s| (i, *s)));
                }
            }
        }
        let none = Group::default();
        for ((on, config, within), dependents) in edges {
            let Some(needed) = resources.get(on) else {
                continue;
            };
            let needed = within.map_or(&needed.all, |w| needed.within.get(w).unwrap_or(&none));
            // What an object depended on changes once the object is gone; one that is destroyed
            // late waits for that.
            self.all_need_all(&dependents.late, &needed.apply);
            self.all_need_all(&needed.apply, &dependents.early);
            if on == config {
                continue;
            }
            for destroyed in [&needed.early, &needed.late] {
                self.all_need_all(destroyed, &dependents.early);
                self.all_need_all(destroyed, &dependents.late);
            }
            self.all_need_all(&needed.late, &dependents.apply);
            self.all_need_all(&dependents.apply_depended, &needed.early);
        }
    }

    /// What checks ask the world is asked when nothing changes any more.
    fn checks_last(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        let nested = |i: &&usize| changes[**i].reason == Some(Reason::ReadBecauseCheckNested);
        let asked: Vec<(usize, Step)> = taken
            .iter()
            .filter(nested)
            .filter_map(|i| Some((*i, *self.apply.get(i)?)))
            .collect();
        if asked.is_empty() {
            return;
        }
        let managed = taken
            .iter()
            .filter(|i| changes[**i].address.resource.mode == Mode::Managed);
        let both = managed.flat_map(|i| {
            self.apply
                .get(i)
                .into_iter()
                .chain(self.destroy.get(i))
                .map(|s| (*i, *s))
        });
        let all: Vec<(usize, Step)> = both.collect();
        self.all_need_all(&asked, &all);
    }

    /// Each of `steps` waits for each of `needed`, but for what belongs to the same change.
    fn all_need_all(&mut self, steps: &[(usize, Step)], needed: &[(usize, Step)]) {
        let apart = |(i, _): &(usize, Step)| needed.binary_search_by_key(i, |(j, _)| *j).is_err();
        if steps.len().saturating_mul(needed.len()) >= self.gated && steps.iter().all(apart) {
            let gate = self.add(Task::Gate);
            needed
                .iter()
                .for_each(|(_, step)| self.steps.graph.need(gate, *step));
            steps
                .iter()
                .for_each(|(_, step)| self.steps.graph.need(*step, gate));
            return;
        }
        for (i, step) in steps {
            for (_, before) in needed.iter().filter(|(j, _)| j != i) {
                self.steps.graph.need(*step, *before);
            }
        }
    }
}

impl Steps {
    /// An edge between what belongs to different providers is let go where it would close a circle.
    /// Gives a cycle that has no such edge.
    fn open_circles(&mut self) -> Option<Vec<Step>> {
        let mut own: HashMap<usize, Step> = HashMap::new();
        for (step, task) in self.tasks.iter().enumerate() {
            if let Task::Apply(i) = task {
                own.insert(*i, step);
            }
        }
        // Each turn takes an edge away, so this ends.
        loop {
            let cycle = self.graph.cycles().into_iter().next()?;
            let inside: BTreeSet<Step> = cycle.iter().copied().collect();
            let edge = cycle.iter().find_map(|&s| {
                let Task::Apply(_) = self.tasks[s] else { return None };
                let of_another = |n: &Step| matches!(self.tasks[*n], Task::Destroy(d) if own.get(&d) != Some(&s));
                let needed = self.graph.needs(s).find(|n| inside.contains(n) && of_another(n))?;
                Some((s, needed))
            });
            match edge {
                Some((step, needed)) => self.graph.unneed(step, needed),
                None => return Some(cycle),
            }
        }
    }
}
