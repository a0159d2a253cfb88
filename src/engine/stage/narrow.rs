//! How far a staging reaches where targets or excludes narrow it: which nodes are worked out, which
//! instances are planned, and, destroying, which objects go. Rules as the reference engine's: a
//! target brings what it needs; what needs something that is left out is left out. Destroying turns
//! that round: what goes takes what depends on it along and nothing else, by what the state says of
//! dependencies. Pure.

use super::change::Change;
use super::nodes::{Node, Nodes};
use super::prior::PriorState;
use super::select::{self, ChangeRef};
use super::steps;
use crate::engine::graph::Step;
use crate::engine::words::{ConfigKey, StageMode};
use crate::engine::workspace::provider_addr::{self};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, ModuleInstance, Target};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a staging is limited to.
pub struct Narrow {
    targets: Vec<Target>,
    excludes: Vec<Target>,
    /// Nodes that are worked out; of all others the state is kept.
    steps: BTreeSet<Step>,
    /// Resources whose instances are planned only as far as the targets reach; all instances of the
    /// others are.
    aimed: HashSet<ConfigResource>,
    /// Destroying, the instances that go, by what declares or declared them.
    going: Option<HashMap<ConfigResource, BTreeSet<AbsInstance>>>,
}

impl Narrow {
    /// What these addresses leave of a staging; `None` where there are none, and everything is
    /// staged.
    pub fn new(
        nodes: &Nodes,
        root: &Module,
        prior: &PriorState,
        targets: Vec<Target>,
        excludes: Vec<Target>,
        mode: StageMode,
    ) -> Option<Self> {
        if targets.is_empty() && excludes.is_empty() {
            return None;
        }
        let mut narrow = Self {
            targets,
            excludes,
            steps: BTreeSet::new(),
            aimed: HashSet::new(),
            going: None,
        };
        narrow.steps = if narrow.targets.is_empty() {
            narrow.not_excluded(nodes)
        } else {
            narrow.targeted(nodes)
        };
        let outputs = narrow.outputs(nodes);
        narrow.steps.extend(outputs);
        if mode == StageMode::Destroy {
            let mut going: HashMap<ConfigResource, BTreeSet<AbsInstance>> = HashMap::new();
            for instance in narrow.destroyed(prior) {
                going.entry(instance.config()).or_default().insert(instance);
            }
            let needed = going
                .keys()
                .filter_map(|r| needed_to_destroy(nodes, root, prior, r))
                .flatten();
            let needed = nodes.graph.closure(needed.collect::<Vec<_>>());
            narrow.steps.extend(needed);
            narrow.going = Some(going);
        }
        Some(narrow)
    }

    /// Whether a node is worked out.
    pub fn works_out(&self, step: Step) -> bool {
        self.steps.contains(&step)
    }

    /// Whether an instance of a resource that is worked out is planned, or, destroying, looked at.
    pub fn plans(&self, instance: &AbsInstance) -> bool {
        if !self.targets.is_empty() && self.aimed.contains(&instance.config()) {
            return self.named(instance);
        }
        !self.excludes.iter().any(|t| t.contains(instance))
    }

    /// Whether left-over objects of an instance are destroyed: no other object brings them along.
    pub fn clears(&self, instance: &AbsInstance) -> bool {
        self.named(instance)
    }

    /// Whether a destroy takes an instance.
    pub fn destroys(&self, instance: &AbsInstance) -> bool {
        self.going
            .as_ref()
            .and_then(|g| g.get(&instance.config()))
            .is_some_and(|all| all.contains(instance))
    }

    /// Changes that were worked out with a resource which the targets need, though they need none
    /// of these instances: they are left out to begin with. The error: what the targets need of a
    /// resource that they name by other instances.
    pub fn besides(
        &self,
        changes: &[Change],
        prior: &PriorState,
        expansions: &BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    ) -> Result<Vec<String>, Diagnostics> {
        if self.targets.is_empty() {
            return Ok(Vec::new());
        }
        let refs: Vec<ChangeRef> = changes.iter().map(ChangeRef::from).collect();
        let asked: Vec<String> = changes
            .iter()
            .filter(|c| steps::acts(c) && self.named(&c.address))
            .map(Change::id)
            .collect();
        let selection = select::only(&refs, &asked)
            .map_err(|e| Diagnostic::error("Invalid target", e.to_string()))?;
        let taken: HashSet<&str> = selection.taken.iter().map(String::as_str).collect();
        let cut_off = self.cut_off(prior, expansions);
        let mut faults = Diagnostics::new();
        for change in changes.iter().filter(|c| taken.contains(c.id().as_str())) {
            let needs = change.needs.iter();
            for missing in needs.flat_map(|need| needed_of(&cut_off, need)) {
                let detail = format!(
                    "{} needs {missing}, which does not exist yet and which the targets leave out. Add --target '{missing}'.",
                    change.id(),
                );
                faults.push(
                    Diagnostic::error("Targets leave out what they need", detail)
                        .about(change.id()),
                );
            }
        }
        if faults.has_errors() {
            Err(faults)
        } else {
            Ok(selection.left)
        }
    }

    /// Declared instances that do not exist yet and that the targets leave out, though they name
    /// other instances of the same resource.
    fn cut_off(
        &self,
        prior: &PriorState,
        expansions: &BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    ) -> HashMap<ConfigResource, Vec<AbsInstance>> {
        let mut cut_off: HashMap<ConfigResource, Vec<AbsInstance>> = HashMap::new();
        for (resource, keys) in expansions {
            let config = resource.config();
            if !self.aimed.contains(&config) {
                continue;
            }
            let instances = keys.iter().map(|key| resource.instance(key.clone()));
            let missing: Vec<AbsInstance> = instances
                .filter(|i| {
                    let exists = prior.objects(i).is_some_and(|o| o.current.is_some());
                    !exists && !self.named(i)
                })
                .collect();
            if !missing.is_empty() {
                cut_off.entry(config).or_default().extend(missing);
            }
        }
        cut_off
    }

    /// Whether an instance is among what the addresses name.
    fn named(&self, instance: &AbsInstance) -> bool {
        if self.targets.is_empty() {
            !self.excludes.iter().any(|t| t.contains(instance))
        } else {
            self.targets.iter().any(|t| t.contains(instance))
        }
    }

    /// What the targets name, with all that it needs.
    fn targeted(&mut self, nodes: &Nodes) -> BTreeSet<Step> {
        let direct: Vec<Step> = resources(nodes)
            .filter(|(_, r)| self.targets.iter().any(|t| t.may_contain(r)))
            .map(|(s, _)| s)
            .collect();
        self.aimed = direct
            .iter()
            .filter_map(|s| nodes.nodes[*s].resource().cloned())
            .collect();
        nodes.graph.closure(direct)
    }

    /// What is neither left out nor needs something of which a part is left out, with all that it
    /// needs.
    fn not_excluded(&self, nodes: &Nodes) -> BTreeSet<Step> {
        let excluded = |by: fn(&Target, &ConfigResource) -> bool| {
            resources(nodes)
                .filter(move |(_, r)| self.excludes.iter().any(|t| by(t, r)))
                .map(|(s, _)| s)
        };
        let in_part: BTreeSet<Step> = excluded(Target::may_contain).collect();
        let needing = nodes
            .graph
            .dependents()
            .into_iter()
            .enumerate()
            .filter(|(s, _)| in_part.contains(s))
            .flat_map(|(_, d)| d);
        let mut out = nodes.graph.dependents_closure(needing.collect::<Vec<_>>());
        out.extend(excluded(covers));
        let kept: Vec<Step> = resources(nodes)
            .map(|(s, _)| s)
            .filter(|s| !out.contains(s))
            .collect();
        nodes.graph.closure(kept)
    }

    /// Outputs of the root that rest on resources which are worked out, and on no others, with all
    /// that they need.
    fn outputs(&self, nodes: &Nodes) -> BTreeSet<Step> {
        let mut all = BTreeSet::new();
        for (step, node) in nodes.nodes.iter().enumerate() {
            if !matches!(node, Node::Output(path, _) if path.is_root()) {
                continue;
            }
            let below = nodes.graph.closure([step]);
            let mut rests = below
                .iter()
                .filter(|s| nodes.nodes[**s].resource().is_some())
                .peekable();
            if rests.peek().is_some() && rests.all(|s| self.steps.contains(s)) {
                all.extend(below);
            }
        }
        all
    }

    /// The instances that a destroy takes: what the targets name with all that depends on it, or
    /// everything but what is left out and what that depends on.
    fn destroyed(&self, prior: &PriorState) -> BTreeSet<AbsInstance> {
        let web = Dependencies::new(prior);
        let named = |wanted: bool| {
            web.all
                .keys()
                .filter(move |i| self.named(i) == wanted)
                .cloned()
                .collect()
        };
        if self.targets.is_empty() {
            let stay = web.with_what_they_need(named(false));
            return web.all.into_keys().filter(|i| !stay.contains(i)).collect();
        }
        web.with_what_needs_them(named(true))
    }
}

/// The instances that a need stands for: one, or all of a resource where it is not known which.
fn needed_of<'m>(
    missing: &'m HashMap<ConfigResource, Vec<AbsInstance>>,
    need: &str,
) -> Vec<&'m AbsInstance> {
    let (Ok(target), Ok(address)) = (need.parse::<Target>(), need.parse::<AbsInstance>()) else {
        return Vec::new();
    };
    let all = missing.get(&address.config()).into_iter().flatten();
    all.filter(|instance| target.contains(instance)).collect()
}

/// Resources among the nodes, declared or no longer.
fn resources(nodes: &Nodes) -> impl Iterator<Item = (Step, &ConfigResource)> {
    nodes
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(step, node)| Some((step, node.resource()?)))
}

/// Whether all instances of a resource lie in a target.
fn covers(target: &Target, resource: &ConfigResource) -> bool {
    let keyless = target
        .module()
        .0
        .iter()
        .all(|(_, k)| *k == InstanceKey::None);
    keyless && !matches!(target, Target::Instance(_)) && target.may_contain(resource)
}

/// What must be worked out so that objects of a resource can be destroyed: their provider, and what
/// may forbid it.
fn needed_to_destroy(
    nodes: &Nodes,
    root: &Module,
    prior: &PriorState,
    resource: &ConfigResource,
) -> Option<Vec<Step>> {
    let module = root.descendant(&resource.module.0);
    let Some((module, declared)) =
        module.and_then(|m| Some((m, m.resources.get(&resource.resource)?)))
    else {
        let objects = prior
            .of_config(resource)
            .flat_map(|(_, i)| i.values())
            .find_map(|o| o.current.as_ref().or(o.deposed.first()))?;
        return Some(
            nodes
                .provider(&ConfigKey::parse(&objects.provider)?)
                .into_iter()
                .collect(),
        );
    };
    let provider = nodes.provider(&provider_addr::for_resource(root, module, declared));
    let forbids = declared
        .lifecycle
        .prevent_destroy
        .iter()
        .flat_map(|expr| nodes.of_expr(module, expr));
    Some(provider.into_iter().chain(forbids).collect())
}

/// What the state says of who depends on whom.
struct Dependencies<'s> {
    all: BTreeMap<AbsInstance, BTreeSet<&'s str>>,
    of_resource: HashMap<String, Vec<AbsInstance>>,
    dependents: HashMap<&'s str, Vec<AbsInstance>>,
}

impl<'s> Dependencies<'s> {
    fn new(prior: &'s PriorState) -> Self {
        let mut web = Self {
            all: BTreeMap::new(),
            of_resource: HashMap::new(),
            dependents: HashMap::new(),
        };
        for (resource, instances) in &prior.resources {
            for (key, objects) in instances {
                let instance = resource.instance(key.clone());
                let objects = objects.current.iter().chain(&objects.deposed);
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

    fn with_what_they_need(&self, mut seen: BTreeSet<AbsInstance>) -> BTreeSet<AbsInstance> {
        let mut queue: Vec<AbsInstance> = seen.iter().cloned().collect();
        // What instances need is mostly the same for all of a resource, and is looked at once.
        let mut looked: HashSet<(&str, ModuleInstance)> = HashSet::new();
        while let Some(instance) = queue.pop() {
            for on in self.all.get(&instance).into_iter().flatten() {
                if looked.insert((on, instance.module.clone())) {
                    spread(&mut seen, &mut queue, &instance, self.of_resource.get(*on));
                }
            }
        }
        seen
    }

    fn with_what_needs_them(&self, mut seen: BTreeSet<AbsInstance>) -> BTreeSet<AbsInstance> {
        let mut queue: Vec<AbsInstance> = seen.iter().cloned().collect();
        let mut looked: HashSet<AbsResource> = HashSet::new();
        while let Some(instance) = queue.pop() {
            if looked.insert(instance.abs()) {
                spread(
                    &mut seen,
                    &mut queue,
                    &instance,
                    self.dependents.get(instance.config().to_string().as_str()),
                );
            }
        }
        seen
    }
}

fn spread(
    seen: &mut BTreeSet<AbsInstance>,
    queue: &mut Vec<AbsInstance>,
    from: &AbsInstance,
    to: Option<&Vec<AbsInstance>>,
) {
    for other in to.into_iter().flatten().filter(|other| !apart(from, other)) {
        if seen.insert(other.clone()) {
            queue.push(other.clone());
        }
    }
}

/// Whether two objects are in different instances of one module: what a module says of its own
/// resources holds within each instance of it.
fn apart(a: &AbsInstance, b: &AbsInstance) -> bool {
    a.module != b.module && a.module.path() == b.module.path()
}
