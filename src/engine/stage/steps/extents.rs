//! Module instances that the steps of a deploy cover. A node has a step for each instance of a
//! repeated module if it depends on changes inside of the module, so that the instances do not wait
//! for each other. All other nodes have one step for all instances. Pure.

use crate::stage::nodes::{Node, Nodes};
use crate::stage::values::Extent;
use graph::Step;
use lang::addr::{InstanceKey, ModuleInstance, ModulePath};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// Index of an extent.
pub type ExtentId = usize;

/// Extent with the one around it, in the calling module.
struct Entry {
    instances: Extent,
    parent: ExtentId,
    /// By name of the call.
    children: BTreeMap<Arc<str>, Vec<ExtentId>>,
}

/// Extents of all modules: one for each instance with changes, and one for the others.
pub(super) struct Extents {
    all: Vec<Entry>,
    by_path: HashMap<ModulePath, Vec<ExtentId>>,
    by_instance: HashMap<ModuleInstance, ExtentId>,
    /// Innermost module by whose extents each node is divided.
    divided: Vec<ModulePath>,
}

impl Extents {
    /// Divides the nodes by the instances that contain changes, `changed`. Nodes wait for each
    /// other only through the nodes `waited`.
    pub(super) fn new(
        nodes: &Nodes,
        changed: BTreeSet<&ModuleInstance>,
        waited: &BTreeSet<Step>,
    ) -> Self {
        let changed = changed.into_iter().flat_map(ModuleInstance::enclosing);
        let mut out = Self::of_modules(nodes, &changed.collect());
        let dependents = nodes.graph.dependents();
        for path in nodes.repeated_modules() {
            let inside = |step: &Step| nodes.nodes[*step].module().starts_with(path);
            let mut queue: VecDeque<Step> = waited.iter().copied().filter(inside).collect();
            let mut seen: BTreeSet<Step> = queue.iter().copied().collect();
            while let Some(step) = queue.pop_front() {
                // A provider configuration has one process for all instances.
                let is_deeper = path.0.len() > out.divided[step].0.len();
                let divisible = !matches!(nodes.nodes[step], Node::Provider(_));
                if is_deeper && divisible && inside(&step) {
                    out.divided[step] = path.clone();
                }
                let next = dependents[step].iter().filter(|next| seen.insert(**next));
                queue.extend(next);
            }
        }
        out
    }

    fn of_modules(nodes: &Nodes, changed: &BTreeSet<ModuleInstance>) -> Self {
        let root = Entry {
            instances: Extent::all(),
            parent: 0,
            children: BTreeMap::new(),
        };
        let mut out = Self {
            all: vec![root],
            by_path: HashMap::from([(ModulePath::root(), vec![0])]),
            by_instance: HashMap::from([(ModuleInstance::root(), 0)]),
            divided: vec![ModulePath::root(); nodes.nodes.len()],
        };
        let mut by_call: HashMap<(ModuleInstance, &Arc<str>), BTreeSet<ModuleInstance>> =
            HashMap::new();
        for instance in changed {
            if let (Some(parent), Some((name, _))) = (instance.parent(), instance.0.last()) {
                let of_call = by_call.entry((parent, name)).or_default();
                of_call.insert(instance.clone());
            }
        }
        let calls = nodes.nodes.iter().filter_map(|node| match node {
            Node::Call(path, name) => Some((path, name)),
            _ => None,
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|(path, _)| path.0.len());
        for (path, name) in calls {
            let called = path.child(name);
            let repeated = nodes.repeated_modules().contains(&called);
            for parent in out.by_path.get(path).cloned().unwrap_or_default() {
                let instances = out.all[parent].instances.clone();
                let Extent::Within(around) = &instances else {
                    out.add(parent, &called, instances);
                    continue;
                };
                let own = by_call.remove(&(around.clone(), name)).unwrap_or_default();
                for instance in &own {
                    out.add(parent, &called, Extent::Within(instance.clone()));
                }
                if repeated || own.is_empty() {
                    let others = Extent::Except(around.clone(), Arc::new(own));
                    out.add(parent, &called, others);
                }
            }
        }
        out
    }

    fn add(&mut self, parent: ExtentId, path: &ModulePath, instances: Extent) {
        let id = self.all.len();
        if let Extent::Within(instance) = &instances {
            self.by_instance.insert(instance.clone(), id);
        }
        self.all.push(Entry {
            instances,
            parent,
            children: BTreeMap::new(),
        });
        self.by_path.entry(path.clone()).or_default().push(id);
        if let Some(name) = path.0.last() {
            let children = &mut self.all[parent].children;
            children.entry(name.clone()).or_default().push(id);
        }
    }

    /// Returns the extents of a node's steps.
    pub(super) fn of_node(&self, node: Step) -> &[ExtentId] {
        self.by_path
            .get(&self.divided[node])
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the extent of the step that covers a node in a module instance.
    pub(super) fn around(&self, node: Step, instance: &ModuleInstance) -> ExtentId {
        let depth = self.divided[node].0.len().min(instance.0.len());
        let outer = ModuleInstance(instance.0[..depth].to_vec());
        self.by_instance.get(&outer).copied().unwrap_or_default()
    }

    /// Returns the extent of another node of the same module that encloses `extent` of `node`.
    pub(super) fn enclosing(&self, node: Step, extent: ExtentId, other: Step) -> ExtentId {
        let (from, to) = (self.divided[node].0.len(), self.divided[other].0.len());
        self.ancestor(extent, from.saturating_sub(to))
    }

    /// Returns the innermost extent, after the depth of its module, that encloses `extent` of
    /// `node` and its needs of another node. `place` is the depth of the enclosing module in which
    /// the reference is evaluated.
    pub(super) fn shared(
        &self,
        (node, extent): (Step, ExtentId),
        needed: Step,
        place: usize,
    ) -> (usize, ExtentId) {
        let own = &self.divided[node];
        let base = own.shared_depth(&self.divided[needed]).min(place);
        (base, self.ancestor(extent, own.0.len() - base))
    }

    /// Returns the extents of a node within an extent of the depth `base`. With `keys`, only those
    /// of the instances of a call with these keys; the calling module has the given depth.
    pub(super) fn within(
        &self,
        (base, around): (usize, ExtentId),
        node: Step,
        keys: Option<(usize, &BTreeSet<InstanceKey>)>,
    ) -> Vec<ExtentId> {
        let mut found = vec![around];
        let path = self.divided[node].0.iter().enumerate();
        for (depth, name) in path.skip(base) {
            let children = found
                .iter()
                .filter_map(|id| self.all[*id].children.get(name));
            let next: Vec<ExtentId> = children.flatten().copied().collect();
            found = match keys {
                Some((calling, keys)) if calling == depth => self.with_keys(next, keys),
                _ => next,
            };
        }
        found
    }

    fn with_keys(&self, all: Vec<ExtentId>, keys: &BTreeSet<InstanceKey>) -> Vec<ExtentId> {
        let key = |id: &ExtentId| match &self.all[*id].instances {
            Extent::Within(instance) => instance.0.last().map(|(_, key)| key),
            Extent::Except(..) => None,
        };
        let known: BTreeSet<&InstanceKey> = all.iter().filter_map(key).collect();
        // Instances without changes have one extent.
        let others = !keys.iter().all(|key| known.contains(key));
        let named = |id: &ExtentId| key(id).map_or(others, |key| keys.contains(key));
        all.iter().copied().filter(named).collect()
    }

    fn ancestor(&self, mut extent: ExtentId, levels: usize) -> ExtentId {
        for _ in 0..levels {
            extent = self.all[extent].parent;
        }
        extent
    }

    /// Returns the module instances of all extents, by id.
    pub(super) fn into_instances(self) -> Vec<Extent> {
        self.all.into_iter().map(|entry| entry.instances).collect()
    }
}
