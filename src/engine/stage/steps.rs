//! Steps of a deploy with their edges. Creations and updates wait for their dependencies, destroys
//! for the changes of their dependents. Pure. Same rules as OpenTofu.

mod builder;
mod dependents;
mod extents;
mod rollouts;

use super::change::{Change, OutputChange};
use super::groups::ChangedGroup;
use super::nodes::{Node, Nodes};
use super::values::Extent;
use builder::{Builder, GATE_THRESHOLD};
use dependents::Dependents;
pub use extents::ExtentId;
use extents::Extents;
use graph::{Graph, Step};
use lang::addr::{Mode, ModulePath};
use lang::diag::Diagnostic;
use model::{Action, StageMode, StageRequest};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Task of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Evaluates a node of the configuration, or assembles the value of a resource.
    Node(Step, ExtentId),
    /// Assembles the value of a resource from some of its instances, for dependents that need only
    /// these.
    Part(Step, ExtentId),
    /// Evaluates the expansion of a resource before its instances are applied.
    Open(Step, ExtentId),
    /// Creates, updates or reads the instance of a change.
    Apply(usize),
    /// Destroys or forgets the object of a change.
    Destroy(usize),
    /// No operation: joins many steps, so that others can wait for all of them with one edge.
    Gate,
    /// Part of the rollout of a group, by index.
    Rollout(usize, RolloutTask),
}

/// Part of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutTask {
    /// Begins a batch, by index.
    Begin(usize),
    /// Drains a member, by the index of its step.
    Drain(usize),
    /// Drains the old object of a member that has a successor.
    DrainOld(usize),
    /// Records that a member has changed.
    Changed(usize),
    /// Waits until the members of a batch are healthy.
    Health(usize),
}

/// Steps of a deploy.
pub struct Steps {
    pub graph: Graph,
    pub tasks: Vec<Task>,
    /// Module instances that the evaluations cover, by id.
    pub extents: Vec<Extent>,
    /// Second step of each replacement, by its first.
    pub second_halves: HashMap<Step, Step>,
}

impl Steps {
    /// Returns the error for a cycle.
    fn cycle(&self, cycle: &[Step], nodes: &Nodes, changes: &[Change]) -> Diagnostic {
        let name = |step: &Step| match &self.tasks[*step] {
            Task::Node(n, _) | Task::Part(n, _) | Task::Open(n, _) => nodes.nodes[*n].text(),
            Task::Apply(i) => changes[*i].address.to_string(),
            Task::Destroy(i) => format!("{} (destroy)", changes[*i].id()),
            Task::Gate => "all of them".to_owned(),
            Task::Rollout(..) => "the order of a group".to_owned(),
        };
        let names: Vec<String> = cycle.iter().map(name).collect();
        if cycle
            .iter()
            .any(|s| matches!(self.tasks[*s], Task::Rollout(..)))
        {
            let others = cycle
                .iter()
                .filter(|s| !matches!(self.tasks[**s], Task::Rollout(..)));
            let others: Vec<String> = others.map(name).collect();
            let detail = format!(
                "Other changes need all instances of the group at once, so that they cannot change in batches: {}. Set surge = true, or change the other resources in a deploy of their own.",
                others.join(", ")
            );
            return Diagnostic::error("Group cannot be updated in batches", detail);
        }
        let applied = |step: &Step| match &self.tasks[*step] {
            Task::Apply(i) => Some(changes[*i].address.config()),
            _ => None,
        };
        let resources: BTreeSet<_> = cycle.iter().map(applied).collect();
        if resources.len() == 1 && cycle.len() > 1 && !resources.contains(&None) {
            let detail = "A provisioner of this resource refers to the resource by name, so each of its instances waits for the others. Use self to refer to the instance that the provisioner runs for.";
            return Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail);
        }
        let detail = "Each of these operations waits for the next one. Narrow the stage to some of them (--target), or remove create_before_destroy.";
        Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail)
    }
}

/// Returns true if a change has an effect.
pub fn has_effect(change: &Change) -> bool {
    change.action() != Action::NoOp || change.importing().is_some()
}

/// Returns true if a change creates, updates, reads or imports.
pub fn applies(change: &Change) -> bool {
    matches!(
        change.action(),
        Action::Create
            | Action::Update
            | Action::Replace
            | Action::ReplaceCreateFirst
            | Action::Read
    ) || change.importing().is_some()
}

/// Returns true if a change destroys or forgets.
pub fn destroys(action: Action) -> bool {
    action.destroys() || action == Action::Forget
}

/// Returns the nodes that a deploy evaluates independently of changes: root outputs and checks.
/// With targets or excludes no check is evaluated.
pub fn ends(nodes: &Nodes, request: &StageRequest, outputs: &[&OutputChange]) -> BTreeSet<Step> {
    // A destroy evaluates no checks, and it removes outputs without evaluating them.
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

/// Order of the changes that depend on single members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DependentOrder {
    /// With their members, before the next batch.
    Batches,
    /// After their members.
    Members,
    /// After all members, as without a group.
    Resources,
    /// The same, with destroys that wait for all instances of a dependent resource.
    WholeResources,
}

/// Selected changes, and the groups whose members change in batches.
#[derive(Clone, Copy)]
struct Selected<'a> {
    nodes: &'a Nodes,
    changes: &'a [Change],
    taken: &'a BTreeSet<usize>,
    ends: &'a BTreeSet<Step>,
    groups: &'a [&'a ChangedGroup],
}

/// Builds the steps for the selected changes, by index, and for `ends`; the members of `groups`
/// change in batches. The error describes a cycle
/// that cannot be broken.
pub fn build(
    nodes: &Nodes,
    changes: &[Change],
    taken: &BTreeSet<usize>,
    ends: &BTreeSet<Step>,
    groups: &[&ChangedGroup],
) -> Result<Steps, Diagnostic> {
    use DependentOrder::{Batches, Members, Resources};
    let selected = Selected {
        nodes,
        changes,
        taken,
        ends,
        groups,
    };
    match groups.is_empty() {
        true => selected.build(&[Resources]),
        false => selected.build(&[Batches, Members, Resources]),
    }
}

/// The same without groups, and with destroys that wait for all instances of a dependent resource:
/// the graph that OpenTofu draws.
pub fn build_by_resource(
    nodes: &Nodes,
    changes: &[Change],
    taken: &BTreeSet<usize>,
    ends: &BTreeSet<Step>,
) -> Result<Steps, Diagnostic> {
    let selected = Selected {
        nodes,
        changes,
        taken,
        ends,
        groups: &[],
    };
    selected.build(&[DependentOrder::WholeResources])
}

impl Selected<'_> {
    /// Builds the steps in the first order that has no cycle; in the last one, edges that are not
    /// essential are removed.
    fn build(&self, orders: &[DependentOrder]) -> Result<Steps, Diagnostic> {
        // Other dependencies may rule out an order with the batches.
        let steps = |order: &DependentOrder| self.steps(*order, GATE_THRESHOLD);
        let mut all = orders.iter().map(steps);
        if let Some(steps) = all.find(|steps| steps.graph.cycles().is_empty()) {
            return Ok(steps);
        }
        // Gates hide the single edges of a cycle, so it is built again without them.
        let last = orders.last().copied();
        let mut steps = self.steps(last.unwrap_or(DependentOrder::Resources), usize::MAX);
        match steps.break_cycles() {
            None => Ok(steps),
            Some(cycle) => Err(steps.cycle(&cycle, self.nodes, self.changes)),
        }
    }

    fn steps(&self, order: DependentOrder, gated: usize) -> Steps {
        let (changes, taken) = (self.changes, self.taken);
        let mut out = Builder {
            steps: Steps {
                graph: Graph::default(),
                tasks: Vec::new(),
                extents: Vec::new(),
                second_halves: HashMap::new(),
            },
            nodes: self.nodes,
            extents: self.extents(),
            of_node: HashMap::new(),
            joined: HashMap::new(),
            parts: BTreeMap::new(),
            apply: HashMap::new(),
            destroy: HashMap::new(),
            gated,
            single: match order {
                DependentOrder::WholeResources => Dependents::default(),
                DependentOrder::Resources => Dependents::of(&[], changes),
                _ => Dependents::of(self.groups, changes),
            },
            spans: HashMap::new(),
            followers: Vec::new(),
        };
        out.nodes(self.ends, changes, taken);
        out.instances(changes, taken);
        if order == DependentOrder::Batches {
            out.find_followers(self.groups, changes);
        }
        out.destruction_order(changes, taken);
        out.order_checks_last(changes, taken);
        out.rollouts(self.groups, changes);
        out.steps.extents = out.extents.into_instances();
        out.steps
    }

    /// Divides the nodes by the module instances with changes.
    fn extents(&self) -> Extents {
        let changes = || self.taken.iter().map(|i| &self.changes[*i]);
        let applied = changes().filter(|change| applies(change));
        let applied = applied.map(|change| Node::Resource(change.address.config()));
        let mut waited: BTreeSet<Step> = applied.filter_map(|n| self.nodes.step(&n)).collect();
        // Ephemeral resources are opened by the provider.
        let ephemeral = |node: &Node| {
            let resource = node.resource();
            resource.is_some_and(|r| r.resource.mode == Mode::Ephemeral)
        };
        let nodes = self.nodes.nodes.iter().enumerate();
        waited.extend(nodes.filter(|(_, n)| ephemeral(n)).map(|(step, _)| step));
        let changed = changes().map(|change| &change.address.module).collect();
        Extents::new(self.nodes, changed, &waited)
    }
}

impl Steps {
    /// Breaks cycles by removing edges that are not essential. Returns a cycle without such an
    /// edge.
    fn break_cycles(&mut self) -> Option<Vec<Step>> {
        // Each iteration removes an edge, so the loop ends.
        loop {
            let cycle = self.graph.cycles().into_iter().next()?;
            match self.removable_needs(&cycle) {
                Some((step, needed)) => {
                    needed.iter().for_each(|n| self.graph.remove_need(step, *n))
                }
                None => return Some(cycle),
            }
        }
    }

    /// Returns a step of a cycle and the needs that can be removed. All at once is safe: each of
    /// them closes a cycle of its own, because a path back to the step never passes through the
    /// step.
    fn removable_needs(&self, cycle: &[Step]) -> Option<(Step, Vec<Step>)> {
        let inside: BTreeSet<Step> = cycle.iter().copied().collect();
        let needed_of = |step: Step, removable: &dyn Fn(&Task) -> bool| {
            let needs = self.graph.needs(step);
            let needed: Vec<Step> = needs
                .filter(|n| inside.contains(n) && removable(&self.tasks[*n]))
                .collect();
            (!needed.is_empty()).then_some((step, needed))
        };
        // OpenTofu drops this edge too, between objects of different providers.
        let destroy_of_another = |step: &Step| match self.tasks[*step] {
            Task::Apply(i) => needed_of(*step, &|t| matches!(t, Task::Destroy(d) if *d != i)),
            _ => None,
        };
        // A create-before-destroy object is destroyed after the changes of its dependencies. If
        // such a dependency is itself replaced by destroying first, the dependents of the old
        // object must go even earlier.
        let apply_of_another = |step: &Step| match self.tasks[*step] {
            Task::Destroy(d) => needed_of(*step, &|t| matches!(t, Task::Apply(i) if *i != d)),
            _ => None,
        };
        let first = cycle.iter().find_map(destroy_of_another);
        first.or_else(|| cycle.iter().find_map(apply_of_another))
    }
}
