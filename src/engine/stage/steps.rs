//! A selection as steps with edges: what is created or changed once what it needs is there, what is
//! destroyed once what depends on it is gone or changed. Pure. The rules are those of the reference
//! engine (3.6 of the project's reference).

mod builder;

use super::change::{Change, OutputChange};
use super::nodes::{Node, Nodes};
use crate::engine::graph::{Graph, Step};
use crate::engine::words::{Action, StageMode, StageRequest};
use builder::{Builder, GATED};
use lang::addr::ModulePath;
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
        let applied = |step: &Step| match &self.tasks[*step] {
            Task::Apply(i) => Some(changes[*i].address.config()),
            _ => None,
        };
        let resources: BTreeSet<_> = cycle.iter().map(applied).collect();
        if resources.len() == 1 && cycle.len() > 1 && !resources.contains(&None) {
            let detail = "A provisioner of this resource names the resource itself, so that each of its instances waits for the others. The instance that it runs for is called self there.";
            return Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail);
        }
        let detail = "Each of these operations waits for the next one. Narrow the stage to some of them (--target), or take create_before_destroy away.";
        Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail)
    }
}

/// Whether a change does anything at all.
pub fn acts(change: &Change) -> bool {
    change.action() != Action::NoOp || change.importing().is_some()
}

/// Whether a change has a part that creates, updates, reads, or imports.
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

impl Steps {
    /// Removes edges that close a cycle and that can be done without. Returns a cycle that has no
    /// such edge.
    fn open_circles(&mut self) -> Option<Vec<Step>> {
        // Each turn removes an edge, so this ends.
        loop {
            let cycle = self.graph.cycles().into_iter().next()?;
            match self.removable(&cycle) {
                Some((step, needed)) => needed.iter().for_each(|n| self.graph.unneed(step, *n)),
                None => return Some(cycle),
            }
        }
    }

    /// A step of a cycle, with the steps that it need not wait for. All of these at once: each
    /// closes a cycle of its own, because a way back to the step never leaves through the step.
    fn removable(&self, cycle: &[Step]) -> Option<(Step, Vec<Step>)> {
        let inside: BTreeSet<Step> = cycle.iter().copied().collect();
        let needed_of = |step: Step, removable: &dyn Fn(&Task) -> bool| {
            let needs = self.graph.needs(step);
            let needed: Vec<Step> = needs
                .filter(|n| inside.contains(n) && removable(&self.tasks[*n]))
                .collect();
            (!needed.is_empty()).then_some((step, needed))
        };
        // Objects of different providers: the reference engine drops this edge, too.
        let destroy_of_another = |step: &Step| match self.tasks[*step] {
            Task::Apply(i) => needed_of(*step, &|t| matches!(t, Task::Destroy(d) if *d != i)),
            _ => None,
        };
        // A create-before-destroy object waits until what it depended on has changed. Where that is
        // destroyed before it is created, the dependents of the old object are destroyed even
        // earlier.
        let apply_of_another = |step: &Step| match self.tasks[*step] {
            Task::Destroy(d) => needed_of(*step, &|t| matches!(t, Task::Apply(i) if *i != d)),
            _ => None,
        };
        let first = cycle.iter().find_map(destroy_of_another);
        first.or_else(|| cycle.iter().find_map(apply_of_another))
    }
}
