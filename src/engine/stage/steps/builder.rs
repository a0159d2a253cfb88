//! Builds the steps of a deploy: for nodes, instances, and the order of creations and destroys.

use super::dependents::{Dependents, Follower, Reach, Reaching, Side, Span};
use super::extents::{ExtentId, Extents};
use super::{Steps, Task, applies, destroys};
use crate::stage::change::Change;
use crate::stage::managed::Reason;
use crate::stage::nodes::{Node, Nodes};
use graph::Step;
use lang::addr::{ConfigResource, InstanceKey, Mode, ModuleInstance, ModulePath};
use model::Action;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Number of edges between two groups from which they share a gate instead.
pub(super) const GATE_THRESHOLD: usize = 64;

/// Steps of some instances of one resource.
#[derive(Default)]
struct Group {
    pub(super) apply: Vec<(usize, Step)>,
    /// Destroys before changes of the object's dependencies.
    early: Vec<(usize, Step)>,
    /// Destroys after all other changes.
    late: Vec<(usize, Step)>,
}

/// Resource with selected changes.
#[derive(Default)]
struct SelectedSteps {
    path: ModulePath,
    /// By each enclosing module instance.
    by_module: HashMap<ModuleInstance, Group>,
    /// By address, if the instances are ordered one by one.
    by_instance: HashMap<String, Group>,
}

/// Steps of a resource that depends on another one.
#[derive(Default)]
struct DependentSteps {
    /// Current and former dependents.
    pub(super) apply: Vec<(usize, Step)>,
    /// Dependents according to the state.
    apply_depended: Vec<(usize, Step)>,
    early: Vec<(usize, Step)>,
    late: Vec<(usize, Step)>,
}

pub(super) struct Builder<'a> {
    pub(super) steps: Steps,
    pub(super) nodes: &'a Nodes,
    pub(super) extents: Extents,
    /// Steps of the needed nodes, one for each extent.
    pub(super) of_node: HashMap<NodePart, Step>,
    /// Steps that wait for some instances of a resource, by resource and keys.
    pub(super) parts: BTreeMap<(NodePart, BTreeSet<InstanceKey>), Step>,
    /// Gates behind the steps of one node in several extents.
    pub(super) joined: HashMap<Vec<Step>, Step>,
    pub(super) apply: HashMap<usize, Step>,
    pub(super) destroy: HashMap<usize, Step>,
    pub(super) gated: usize,
    /// Instances that are ordered one by one.
    pub(super) single: Dependents,
    /// Changes that belong to batches; empty if dependents are not ordered by batch.
    pub(super) spans: HashMap<usize, Span>,
    /// Dependents of the members of each group, in its order.
    pub(super) followers: Vec<Vec<Follower>>,
}

/// Node, in some module instances.
pub(super) type NodePart = (Step, ExtentId);

/// A resource with the resource that depends on it, the module instance that encloses both, and the
/// instance if they are ordered one by one.
type Pair<'c> = (&'c str, Arc<str>, ModuleInstance, Option<String>);

/// Node of a reference, and the resource whose instances it gives.
type SingleNeed = (Step, Step);

/// Step of the expansion of each resource with changes, and the needs of its single instances.
type Opened = HashMap<NodePart, (Step, Vec<SingleNeed>)>;

impl Builder<'_> {
    pub(super) fn add(&mut self, task: Task) -> Step {
        self.steps.tasks.push(task);
        self.steps.graph.add()
    }

    /// Adds steps for the needed nodes: those of selected changes and of `ends`, with their
    /// dependencies.
    pub(super) fn nodes(
        &mut self,
        ends: &BTreeSet<Step>,
        changes: &[Change],
        taken: &BTreeSet<usize>,
    ) {
        let mut roots = ends.clone();
        for &i in taken {
            let change = &changes[i];
            let config = change.address.config();
            // A destroy needs its provider, but not the configuration of the resource.
            if applies(change) {
                roots.extend(self.nodes.step(&Node::Resource(config)));
            }
            roots.extend(self.nodes.provider(&change.provider));
        }
        let needed = self.nodes.graph.closure(roots);
        // Orphans have no value; their destroys are separate steps.
        let is_orphan = |node: &Step| matches!(self.nodes.nodes[*node], Node::Orphan(_));
        let needed: Vec<Step> = needed.into_iter().filter(|n| !is_orphan(n)).collect();
        for &node in &needed {
            for extent in self.extents.of_node(node).to_vec() {
                let step = self.add(Task::Node(node, extent));
                self.of_node.insert((node, extent), step);
            }
        }
        for &node in &needed {
            for extent in self.extents.of_node(node).to_vec() {
                let Some(step) = self.of_node.get(&(node, extent)).copied() else {
                    continue;
                };
                for need in self.nodes.graph.needs(node) {
                    if let Some(needed) = self.needed((node, extent), need) {
                        self.steps.graph.add_need(step, needed);
                    }
                }
            }
        }
    }

    /// Returns the step of a node that covers a module instance.
    fn step_around(&self, node: Step, instance: &ModuleInstance) -> Option<Step> {
        let extent = self.extents.around(node, instance);
        self.of_node.get(&(node, extent)).copied()
    }

    /// Returns the step of a provider configuration.
    fn provider_step(&self, change: &Change) -> Option<Step> {
        let provider = self.nodes.provider(&change.provider)?;
        self.step_around(provider, &ModuleInstance::root())
    }

    /// Returns the step that a node waits for: that of the node it needs, or of some instances.
    fn needed(&mut self, (node, extent): NodePart, need: Step) -> Option<Step> {
        let place = self.nodes.depth_of_reference(node, need);
        let shared = self.extents.shared((node, extent), need, place);
        // Ephemeral resources have no apply steps, so there are no single instances to wait for.
        let keys = self.nodes.instances_needed(node, need);
        let (of_resource, of_module) = match &self.nodes.nodes[need] {
            Node::Resource(r) if r.resource.mode != Mode::Ephemeral => (keys, None),
            Node::Output(..) => (None, keys.map(|keys| (place, keys))),
            _ => (None, None),
        };
        let extents = self.extents.within(shared, need, of_module);
        let of_extent = |extent: &ExtentId| {
            let whole = self.of_node.get(&(need, *extent)).copied()?;
            Some(of_resource.map_or(whole, |keys| self.part((need, *extent), keys)))
        };
        let steps: Vec<Step> = extents.iter().filter_map(of_extent).collect();
        match steps[..] {
            [] => None,
            [one] => Some(one),
            _ => Some(self.join(steps)),
        }
    }

    /// Returns a gate behind steps. Without it, each step of one module would need each step of
    /// another one.
    fn join(&mut self, steps: Vec<Step>) -> Step {
        if let Some(gate) = self.joined.get(&steps) {
            return *gate;
        }
        let gate = self.add(Task::Gate);
        let needs = steps.iter();
        needs.for_each(|step| self.steps.graph.add_need(gate, *step));
        self.joined.insert(steps, gate);
        gate
    }

    /// Returns the nodes whose instances the instances of a resource need one by one, each with the
    /// node of the reference.
    fn single_needs(&self, node: Step) -> Vec<SingleNeed> {
        let separable = self.nodes.separable_needs(node);
        let single = separable.filter(|(_, _, on)| self.single.is_single(&on.to_string()));
        single.map(|(through, need, _)| (through, need)).collect()
    }

    /// Adds the needs of one instance that its resource as a whole does not wait for.
    fn need_single(
        &mut self,
        step: Step,
        needs: &[SingleNeed],
        change: &Change,
        changes: &[Change],
    ) {
        let within = &change.address.module;
        for (through, need) in needs {
            let (Some(whole), Some(on)) = (
                self.step_around(*need, within),
                self.nodes.nodes[*need].resource(),
            ) else {
                continue;
            };
            let needed = match self.single.named(change, &on.to_string()) {
                None => {
                    let through = self.step_around(*through, within);
                    through.into_iter().chain([whole]).collect()
                }
                Some(named) => {
                    let keys = named.into_iter().map(|at| changes[*at].address.key.clone());
                    let keys: BTreeSet<InstanceKey> = keys.collect();
                    vec![self.part((*need, self.extents.around(*need, within)), &keys)]
                }
            };
            needed
                .into_iter()
                .for_each(|needed| self.steps.graph.add_need(step, needed));
        }
    }

    fn part(&mut self, resource: NodePart, keys: &BTreeSet<InstanceKey>) -> Step {
        if let Some(part) = self.parts.get(&(resource, keys.clone())) {
            return *part;
        }
        let part = self.add(Task::Part(resource.0, resource.1));
        self.parts.insert((resource, keys.clone()), part);
        part
    }

    /// Connects parts to the selected instances with their keys, or to the resource without any.
    fn parts(&mut self, changes: &[Change], opened: &Opened) {
        let mut applied: HashMap<NodePart, Vec<(&InstanceKey, Step)>> = HashMap::new();
        for (i, step) in self.apply.iter().filter(|_| !self.parts.is_empty()) {
            let address = &changes[*i].address;
            if let Some(node) = self.nodes.step(&Node::Resource(address.config())) {
                let extent = self.extents.around(node, &address.module);
                let of_node = applied.entry((node, extent)).or_default();
                of_node.push((&address.key, *step));
            }
        }
        for ((resource, keys), part) in &self.parts {
            // A part waits for the expansion if there is one, otherwise for the unchanged resource.
            let first = opened.get(resource).map(|(open, _)| *open);
            let first = first.or(self.of_node.get(resource).copied());
            let own = applied
                .get(resource)
                .into_iter()
                .flatten()
                .filter(|(key, _)| keys.contains(key))
                .map(|(_, step)| *step);
            first
                .into_iter()
                .chain(own)
                .for_each(|needed| self.steps.graph.add_need(*part, needed));
        }
    }

    pub(super) fn instances(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        let mut opened: Opened = HashMap::new();
        for &i in taken {
            let change = &changes[i];
            if applies(change)
                && let Some(node) = self.nodes.step(&Node::Resource(change.address.config()))
                && let extent = self.extents.around(node, &change.address.module)
                && let Some(close) = self.of_node.get(&(node, extent)).copied()
            {
                // The expansion is evaluated once, before the first instance.
                let (open, single) = opened
                    .entry((node, extent))
                    .or_insert_with(|| self.open((node, extent), close))
                    .clone();
                let step = self.add(Task::Apply(i));
                self.steps.graph.add_need(step, open);
                self.need_single(step, &single, change, changes);
                self.steps.graph.add_need(close, step);
                self.apply.insert(i, step);
            }
            if destroys(change.action()) {
                let step = self.add(Task::Destroy(i));
                if let Some(provider) = self.provider_step(change) {
                    self.steps.graph.add_need(step, provider);
                }
                self.destroy.insert(i, step);
            }
        }
        self.chains(&opened);
        self.parts(changes, &opened);
        self.siblings(changes);
    }

    /// Adds the step that evaluates the expansion of a resource; returns it with the nodes that the
    /// instances need one by one.
    fn open(&mut self, (node, extent): NodePart, close: Step) -> (Step, Vec<SingleNeed>) {
        let single = self.single_needs(node);
        let apart = single
            .iter()
            .filter_map(|(through, _)| self.needed((node, extent), *through));
        let apart: BTreeSet<Step> = apart.collect();
        let open = self.add(Task::Open(node, extent));
        // Its expansion may need everything else that the resource as a whole needs.
        let needs: Vec<Step> = self.steps.graph.needs(close).collect();
        for need in needs.into_iter().filter(|need| !apart.contains(need)) {
            self.steps.graph.add_need(open, need);
        }
        // Instead of a local value, its elements are evaluated.
        for (local, on) in single.iter().filter(|(through, need)| through != need) {
            let of_local = (*local, self.extents.enclosing(node, extent, *local));
            let others: Vec<Step> = self.nodes.graph.needs(*local).collect();
            for other in others.into_iter().filter(|other| other != on) {
                if let Some(needed) = self.needed(of_local, other) {
                    self.steps.graph.add_need(open, needed);
                }
            }
        }
        (open, single)
    }

    /// Lets the expansion of a resource follow that of the one whose keys it has, if it does not
    /// wait for the whole of it.
    fn chains(&mut self, opened: &Opened) {
        for ((node, extent), (open, single)) in opened {
            let on = self.nodes.chained_on(*node);
            let Some(on) = on.filter(|on| single.contains(&(*on, *on))) else {
                continue;
            };
            let on = (on, self.extents.enclosing(*node, *extent, on));
            let first = opened.get(&on).map(|(open, _)| *open);
            if let Some(first) = first.or(self.of_node.get(&on).copied()) {
                self.steps.graph.add_need(*open, first);
            }
        }
    }

    /// Adds edges between instances of a resource whose provisioners refer to each other. If a
    /// provisioner refers to all instances, the edges form a cycle, which OpenTofu reports as well.
    fn siblings(&mut self, changes: &[Change]) {
        for (config, named) in self.nodes.siblings() {
            let mut within: BTreeMap<&ModuleInstance, BTreeMap<&InstanceKey, Step>> =
                BTreeMap::new();
            for (i, step) in &self.apply {
                let address = &changes[*i].address;
                if address.config() == *config {
                    let module = within.entry(&address.module).or_default();
                    module.insert(&address.key, *step);
                }
            }
            for instances in within.values() {
                let steps: Vec<Step> = instances.values().copied().collect();
                let keyed = named.iter().flatten().filter_map(|key| instances.get(key));
                for (needed, step) in keyed.flat_map(|n| steps.iter().map(move |s| (n, s))) {
                    if step != needed {
                        self.steps.graph.add_need(*step, *needed);
                    }
                }
                // A ring is the smallest graph with a cycle through all instances.
                if named.contains(&None) && steps.len() > 1 {
                    for (at, step) in steps.iter().enumerate() {
                        self.steps
                            .graph
                            .add_need(*step, steps[(at + 1) % steps.len()]);
                    }
                }
            }
        }
    }

    /// Adds the edges that order destroys.
    pub(super) fn destruction_order(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
        if self.destroy.is_empty() {
            return;
        }
        let managed = |i: &&usize| changes[**i].address.resource.mode == Mode::Managed;
        let taken: Vec<(usize, &Change)> = taken
            .iter()
            .filter(managed)
            .map(|&i| (i, &changes[i]))
            .collect();
        let resources = self.by_resource(&taken);
        let none = Group::default();
        for ((on, config, within, one), dependents) in self.dependents(changes, &taken, &resources)
        {
            let Some(needed) = resources.get(on) else {
                continue;
            };
            let needed = match &one {
                Some(address) => needed.by_instance.get(address),
                None => needed.by_module.get(&within),
            };
            let needed = needed.unwrap_or(&none);
            // An early destroy precedes the changes of its dependencies, a late one follows them.
            self.add_edges(&dependents.late, &needed.apply);
            let (before_apply, before_destroy) =
                self.early_destroys_by_batch(on, &dependents.early);
            self.add_edges(&needed.apply, &before_apply);
            // Instances of one resource need no further order among themselves.
            if *on == *config {
                continue;
            }
            for destroyed in [&needed.early, &needed.late] {
                self.add_edges(destroyed, &before_destroy);
                self.add_edges(destroyed, &dependents.late);
            }
            // The old object of a create-first replacement stays until its dependents use the new
            // one.
            self.add_edges(&needed.late, &dependents.apply);
            // Dependents of the old object are changed after its early destroy.
            self.add_edges(&dependents.apply_depended, &needed.early);
        }
    }

    /// Returns the early destroys of dependents that precede the changes of a resource, and those
    /// that precede its destroys. The batches order the others: a need of all members changes while
    /// they exist, and what depends on several batches is replaced after them.
    fn early_destroys_by_batch(
        &self,
        on: &str,
        early: &[(usize, Step)],
    ) -> (Vec<(usize, Step)>, Vec<(usize, Step)>) {
        let is_in_batch = self.single.is_single(on);
        let precedes_change = |(i, _): &&(usize, Step)| match self.spans.get(i) {
            None => true,
            Some(span) => is_in_batch && *span == Span::Batch,
        };
        let precedes_destroy = |(i, _): &&(usize, Step)| match self.spans.get(i) {
            None | Some(Span::Batch) => true,
            Some(Span::Batches | Span::Group) => !is_in_batch,
        };
        let before_change = early.iter().copied().filter(|one| precedes_change(&one));
        let before_destroy = early.iter().copied().filter(|one| precedes_destroy(&one));
        (before_change.collect(), before_destroy.collect())
    }

    /// Groups selected changes by resource, and orders the two halves of each replacement.
    fn by_resource(&mut self, taken: &[(usize, &Change)]) -> HashMap<String, SelectedSteps> {
        let mut resources: HashMap<String, SelectedSteps> = HashMap::new();
        for &(i, change) in taken {
            let ConfigResource { module, resource } = change.address.config();
            let config = ConfigResource {
                module: module.clone(),
                resource,
            }
            .to_string();
            let resource = resources.entry(config.clone()).or_default();
            resource.path = module;
            let add = |group: &mut Group| {
                group.apply.extend(self.apply.get(&i).map(|s| (i, *s)));
                let destroyed = if is_destroyed_late(change) {
                    &mut group.late
                } else {
                    &mut group.early
                };
                destroyed.extend(self.destroy.get(&i).map(|s| (i, *s)));
            };
            for module in change.address.module.enclosing() {
                add(resource.by_module.entry(module).or_default());
            }
            if self.single.is_separate(&config) {
                let by_instance = &mut resource.by_instance;
                add(by_instance.entry(change.address.to_string()).or_default());
            }
            if let (Some(&apply), Some(&destroy)) = (self.apply.get(&i), self.destroy.get(&i)) {
                let (after, before) = if is_destroyed_late(change) {
                    (destroy, apply)
                } else {
                    (apply, destroy)
                };
                self.steps.graph.add_need(after, before);
                self.steps.second_halves.insert(before, after);
            }
        }
        resources
    }

    /// Groups dependents by dependency and by the module instance that encloses both, because names
    /// are relative to it; and by instance, if those are ordered one by one.
    fn dependents<'c>(
        &self,
        changes: &'c [Change],
        taken: &[(usize, &'c Change)],
        resources: &HashMap<String, SelectedSteps>,
    ) -> BTreeMap<Pair<'c>, DependentSteps> {
        let mut edges: BTreeMap<Pair<'_>, DependentSteps> = BTreeMap::new();
        let mut reaching: HashMap<&str, Reaching<'_>> = HashMap::new();
        for &(i, change) in taken {
            let config: Arc<str> = change.address.config().to_string().into();
            // Former dependencies order the change too, because the old object still uses them.
            for on in change.dependencies.iter().chain(
                change
                    .recorded
                    .dependencies
                    .difference(&change.dependencies),
            ) {
                let Some(needed) = resources.get(on) else {
                    continue;
                };
                let own = &change.address.module;
                let within = self.nodes.shared_instance(own, &needed.path);
                let depended = change.recorded.dependencies.contains(on);
                let apply = self.apply.get(&i).map(|s| (i, *s));
                let instances =
                    |reach: Reach| reach.instances(&within, || own.shared_with(&needed.path));
                let (new, old) = match self.single.is_separate(on) {
                    false => (instances(Reach::All), instances(Reach::All)),
                    true => {
                        let reaching = reaching
                            .entry(on)
                            .or_insert_with(|| self.single.reaching(changes, on));
                        let new = change.dependencies.contains(on);
                        let new = new.then(|| instances(reaching.of(Side::New, i)));
                        let old = depended.then(|| instances(reaching.of(Side::Old, i)));
                        (new.unwrap_or_default(), old.unwrap_or_default())
                    }
                };
                for one in new.union(&old) {
                    let (within, instance) = one.clone();
                    let key = (on.as_str(), config.clone(), within, instance);
                    let dependents = edges.entry(key).or_default();
                    dependents.apply.extend(apply);
                    if depended && old.contains(one) {
                        dependents.apply_depended.extend(apply);
                        let destroyed = if is_destroyed_late(change) {
                            &mut dependents.late
                        } else {
                            &mut dependents.early
                        };
                        destroyed.extend(self.destroy.get(&i).map(|s| (i, *s)));
                    }
                }
            }
        }
        edges
    }

    /// Makes data sources of checks wait for all other changes.
    pub(super) fn order_checks_last(&mut self, changes: &[Change], taken: &BTreeSet<usize>) {
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
        self.add_edges(&asked, &all);
    }

    /// Adds edges from all `steps` to all `needed`, except within one change.
    fn add_edges(&mut self, steps: &[(usize, Step)], needed: &[(usize, Step)]) {
        let apart = |(i, _): &(usize, Step)| needed.binary_search_by_key(i, |(j, _)| *j).is_err();
        // A gate replaces n × m edges by n + m. It would connect the halves of a change that is in
        // both groups, so those need single edges.
        if steps.len().saturating_mul(needed.len()) >= self.gated && steps.iter().all(apart) {
            let gate = self.add(Task::Gate);
            needed
                .iter()
                .for_each(|(_, step)| self.steps.graph.add_need(gate, *step));
            steps
                .iter()
                .for_each(|(_, step)| self.steps.graph.add_need(*step, gate));
            return;
        }
        for (i, step) in steps {
            for (_, before) in needed.iter().filter(|(j, _)| j != i) {
                self.steps.graph.add_need(*step, *before);
            }
        }
    }
}

/// Returns true if the object is destroyed after its replacement or its dependents are done.
pub(super) fn is_destroyed_late(change: &Change) -> bool {
    change.deposed.is_some()
        || change.action() == Action::ReplaceCreateFirst
        || (change.create_first() && change.action() == Action::Destroy)
}
