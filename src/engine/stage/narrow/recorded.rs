//! Dependencies as recorded in the state, for a destroy with targets or excludes.

use super::super::nodes::Nodes;
use super::super::objects::has_recorded_needs;
use super::super::prior::PriorState;
use super::super::select::keys;
use lang::addr::{AbsInstance, AbsResource, ModuleInstance};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use store::records::StateObject;

/// Dependencies as recorded in the state.
pub(super) struct Dependencies<'s> {
    nodes: &'s Nodes,
    /// Direct dependencies by instance; `None` if an object of the instance does not record them.
    needs: BTreeMap<AbsInstance, Option<BTreeSet<&'s str>>>,
    /// Instances by the names that direct dependencies give them.
    by_name: HashMap<String, Vec<AbsInstance>>,
    pub(super) all: BTreeMap<AbsInstance, BTreeSet<&'s str>>,
    of_resource: HashMap<String, Vec<AbsInstance>>,
    dependents: HashMap<&'s str, Vec<AbsInstance>>,
}

impl<'s> Dependencies<'s> {
    pub(super) fn new(nodes: &'s Nodes, prior: &'s PriorState) -> Self {
        let is_connected = !nodes.connected_modules().is_empty();
        let mut web = Self {
            nodes,
            needs: BTreeMap::new(),
            by_name: HashMap::new(),
            all: BTreeMap::new(),
            of_resource: HashMap::new(),
            dependents: HashMap::new(),
        };
        for (resource, instances) in &prior.resources {
            for (key, objects) in instances {
                let instance = resource.instance(key.clone());
                let objects = objects.current.iter().chain(&objects.deposed);
                if is_connected {
                    web.add_needs(&instance, objects.clone());
                }
                let needs: BTreeSet<&str> = objects
                    .flat_map(|o| o.dependencies.iter().map(String::as_str))
                    .collect();
                needs
                    .iter()
                    .for_each(|on| web.dependents.entry(on).or_default().push(instance.clone()));
                web.of_resource
                    .entry(resource.config().to_string())
                    .or_default()
                    .push(instance.clone());
                web.all.insert(instance, needs);
            }
        }
        web
    }

    pub(super) fn with_dependencies(
        &self,
        mut seen: BTreeSet<AbsInstance>,
    ) -> BTreeSet<AbsInstance> {
        let mut queue: Vec<AbsInstance> = seen.iter().cloned().collect();
        // Instances of one resource mostly have the same dependencies, so each is followed once per
        // module instance.
        let mut looked: HashSet<(&str, ModuleInstance)> = HashSet::new();
        while let Some(instance) = queue.pop() {
            for on in self.all.get(&instance).into_iter().flatten() {
                if looked.insert((on, instance.module.clone())) {
                    let all = self.of_resource.get(*on).into_iter().flatten();
                    let stays = |other: &&AbsInstance| !self.are_apart(&instance, other);
                    add_reachable(&mut seen, &mut queue, all.filter(stays));
                }
            }
        }
        seen
    }

    pub(super) fn with_dependents(&self, mut seen: BTreeSet<AbsInstance>) -> BTreeSet<AbsInstance> {
        let mut queue: Vec<AbsInstance> = seen.iter().cloned().collect();
        let mut looked: HashSet<AbsResource> = HashSet::new();
        while let Some(instance) = queue.pop() {
            // Recorded dependencies name resources, so one instance of a resource finds all its
            // dependents.
            if looked.insert(instance.abs()) {
                let config = instance.config().to_string();
                let all = self.dependents.get(config.as_str()).into_iter().flatten();
                let depends = |other: &&AbsInstance| !self.are_apart(other, &instance);
                add_reachable(&mut seen, &mut queue, all.filter(depends));
            }
        }
        seen
    }
}

impl<'s> Dependencies<'s> {
    fn add_needs(
        &mut self,
        instance: &AbsInstance,
        mut objects: impl Iterator<Item = &'s StateObject> + Clone,
    ) {
        for name in keys(instance) {
            self.by_name.entry(name).or_default().push(instance.clone());
        }
        let all = objects.clone().flat_map(|o| &o.needs);
        let all = all.map(String::as_str).collect();
        let is_recorded = objects.all(has_recorded_needs);
        self.needs
            .insert(instance.clone(), is_recorded.then_some(all));
    }

    /// Returns true if the first object does not depend on the second one, because they are in
    /// different instances of one module. Objects of nested modules count as dependencies and
    /// dependents of all instances, as in OpenTofu.
    fn are_apart(&self, dependent: &AbsInstance, needed: &AbsInstance) -> bool {
        let path = needed.module.path();
        let is_same_module = dependent.module.path() == path;
        if dependent.module == needed.module || !is_same_module {
            return false;
        }
        let is_connected = self.nodes.shared_instance(&dependent.module, &path) != dependent.module;
        !is_connected || !self.reaches(dependent, needed)
    }

    /// Follows direct dependencies. An object that does not record them may depend on any other.
    fn reaches(&self, from: &AbsInstance, to: &AbsInstance) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut queue = vec![from];
        while let Some(instance) = queue.pop() {
            let Some(Some(needs)) = self.needs.get(instance) else {
                return true;
            };
            let needed = needs.iter().filter_map(|name| self.by_name.get(*name));
            for other in needed.flatten() {
                if other == to {
                    return true;
                }
                if seen.insert(other) {
                    queue.push(other);
                }
            }
        }
        false
    }
}

fn add_reachable<'a>(
    seen: &mut BTreeSet<AbsInstance>,
    queue: &mut Vec<AbsInstance>,
    to: impl Iterator<Item = &'a AbsInstance>,
) {
    for other in to {
        if seen.insert(other.clone()) {
            queue.push(other.clone());
        }
    }
}
