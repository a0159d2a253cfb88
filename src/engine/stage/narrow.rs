//! Extent of a stage with targets or excludes: nodes to evaluate, instances to plan, and objects to
//! destroy. Same rules as OpenTofu: targets include their dependencies; dependents of excluded
//! resources are excluded. A destroy uses the recorded dependencies the other way: it includes
//! dependents only. Pure.

mod recorded;

use super::change::Change;
use super::nodes::{Node, Nodes};
use super::prior::PriorState;
use super::select::{self, ChangeRef};
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, Mode, ModulePath, Target};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use model::{ConfigKey, Selection, StageMode};
use recorded::Dependencies;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use workspace::provider_addr::{self};

/// Limits of a stage, from targets and excludes.
pub struct StageScope {
    targets: Vec<Target>,
    excludes: Vec<Target>,
    /// Nodes to evaluate; resources outside keep their state.
    steps: BTreeSet<Step>,
    /// Resources of which only targeted instances are planned; of all others every instance is.
    targeted: HashSet<ConfigResource>,
    /// Instances to destroy, by resource; `None` unless the mode is destroy.
    destroyed: Option<HashMap<ConfigResource, BTreeSet<AbsInstance>>>,
}

impl StageScope {
    /// Computes the limits; `None` without targets and excludes.
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
            targeted: HashSet::new(),
            destroyed: None,
        };
        narrow.steps = if narrow.targets.is_empty() {
            narrow.included_nodes(nodes)
        } else {
            narrow.targeted(nodes)
        };
        // After the resources, because an output follows from the resources that it depends on.
        let outputs = narrow.outputs(nodes);
        narrow.steps.extend(outputs);
        if mode == StageMode::Destroy {
            let mut going: HashMap<ConfigResource, BTreeSet<AbsInstance>> = HashMap::new();
            for instance in narrow.destroyed(nodes, prior) {
                going.entry(instance.config()).or_default().insert(instance);
            }
            // Destroyed objects need their providers, even if their resources are outside of the
            // targets.
            let needed = going
                .keys()
                .filter_map(|r| destroy_needs(nodes, root, prior, r))
                .flatten();
            let needed = nodes.graph.closure(needed.collect::<Vec<_>>());
            narrow.steps.extend(needed);
            narrow.destroyed = Some(going);
        }
        Some(narrow)
    }

    /// Returns true if a node is evaluated.
    pub fn evaluates(&self, step: Step) -> bool {
        self.steps.contains(&step)
    }

    /// Returns true if an instance of an evaluated resource is planned, or read before a destroy.
    pub fn plans(&self, instance: &AbsInstance) -> bool {
        if !self.targets.is_empty() && self.targeted.contains(&instance.config()) {
            return self.is_included(instance);
        }
        !self.excludes.iter().any(|t| t.contains(instance))
    }

    /// Returns true if deposed objects of an instance are destroyed: only if it is named itself.
    pub fn destroys_deposed(&self, instance: &AbsInstance) -> bool {
        self.is_included(instance)
    }

    /// Returns true if the instance is destroyed.
    pub fn destroys(&self, instance: &AbsInstance) -> bool {
        self.destroyed
            .as_ref()
            .and_then(|g| g.get(&instance.config()))
            .is_some_and(|all| all.contains(instance))
    }

    /// Selects the changes that the targets need: their own and, also if they do not change
    /// themselves, those that they depend on. All changes are selected without targets.
    pub fn selected(
        &self,
        changes: &[Change],
        nodes: &Nodes,
        connected: &BTreeSet<ModulePath>,
    ) -> Selection {
        let refs = select::references_within(changes, connected);
        if self.targets.is_empty() {
            return select::with_needs(&refs, |_| true);
        }
        let is_included = |change: &ChangeRef| self.is_included(&change.address);
        // Data that is read while planning has no change from which to follow its needs.
        let planned: HashSet<ConfigResource> = refs.iter().map(|c| c.address.config()).collect();
        let data = resources(nodes).filter(|(_, r)| {
            r.resource.mode == Mode::Data && self.targeted.contains(r) && !planned.contains(r)
        });
        let needed = nodes.graph.closure(data.map(|(step, _)| step));
        let needed: HashSet<&ConfigResource> = needed
            .iter()
            .filter_map(|step| nodes.nodes[*step].resource())
            .collect();
        select::with_needs(&refs, |change| {
            is_included(change) || needed.contains(&change.address.config())
        })
    }

    /// Returns the changes to deselect initially: they were planned together with a needed
    /// resource, but no target needs these instances. Returns an error if the targets need an
    /// instance that they leave out.
    pub fn initially_deselected(
        &self,
        changes: &[Change],
        selection: Selection,
        prior: &PriorState,
        expansions: &BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    ) -> Result<Vec<String>, Diagnostics> {
        let taken: HashSet<&str> = selection.taken.iter().map(String::as_str).collect();
        let cut_off = self.untargeted_new_instances(prior, expansions);
        let mut faults = Diagnostics::new();
        for change in changes.iter().filter(|c| taken.contains(c.id().as_str())) {
            let needs = change.needs.iter();
            for missing in needs.flat_map(|need| missing_of_need(&cut_off, need)) {
                let detail = format!(
                    "{} depends on {missing}, which does not exist yet and is outside of the targets. Add --target '{missing}'.",
                    change.id(),
                );
                faults.push(
                    Diagnostic::error("Targets exclude a dependency", detail)
                        .with_address(change.id()),
                );
            }
        }
        if faults.has_errors() {
            Err(faults)
        } else {
            Ok(selection.left)
        }
    }

    /// Returns declared instances that do not exist yet and are outside of the targets, although
    /// other instances of their resource are targeted.
    fn untargeted_new_instances(
        &self,
        prior: &PriorState,
        expansions: &BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    ) -> HashMap<ConfigResource, Vec<AbsInstance>> {
        let mut cut_off: HashMap<ConfigResource, Vec<AbsInstance>> = HashMap::new();
        for (resource, keys) in expansions {
            let config = resource.config();
            if !self.targeted.contains(&config) {
                continue;
            }
            let instances = keys.iter().map(|key| resource.instance(key.clone()));
            let missing: Vec<AbsInstance> = instances
                .filter(|i| {
                    let exists = prior.objects(i).is_some_and(|o| o.current.is_some());
                    !exists && !self.is_included(i)
                })
                .collect();
            if !missing.is_empty() {
                cut_off.entry(config).or_default().extend(missing);
            }
        }
        cut_off
    }

    /// Returns true if targets or excludes leave the instance in.
    fn is_included(&self, instance: &AbsInstance) -> bool {
        if self.targets.is_empty() {
            !self.excludes.iter().any(|t| t.contains(instance))
        } else {
            self.targets.iter().any(|t| t.contains(instance))
        }
    }

    /// Returns the targeted nodes and their dependencies.
    fn targeted(&mut self, nodes: &Nodes) -> BTreeSet<Step> {
        let direct: Vec<Step> = resources(nodes)
            .filter(|(_, r)| self.targets.iter().any(|t| t.may_contain(r)))
            .map(|(s, _)| s)
            .collect();
        self.targeted = direct
            .iter()
            .filter_map(|s| nodes.nodes[*s].resource().cloned())
            .collect();
        nodes.graph.closure(direct)
    }

    /// Returns all nodes except excluded ones and dependents of partly excluded ones, with the
    /// dependencies of the rest.
    fn included_nodes(&self, nodes: &Nodes) -> BTreeSet<Step> {
        let excluded = |by: fn(&Target, &ConfigResource) -> bool| {
            resources(nodes)
                .filter(move |(_, r)| self.excludes.iter().any(|t| by(t, r)))
                .map(|(s, _)| s)
        };
        // Dependents of a partly excluded resource are excluded, but its other instances are not.
        let in_part: BTreeSet<Step> = excluded(Target::may_contain).collect();
        let needing = nodes
            .graph
            .dependents()
            .into_iter()
            .enumerate()
            .filter(|(s, _)| in_part.contains(s))
            .flat_map(|(_, d)| d);
        let mut out = nodes.graph.dependents_closure(needing.collect::<Vec<_>>());
        out.extend(excluded(contains_all));
        let kept: Vec<Step> = resources(nodes)
            .map(|(s, _)| s)
            .filter(|s| !out.contains(s))
            .collect();
        nodes.graph.closure(kept)
    }

    /// Returns root outputs that depend only on evaluated resources, with their dependencies.
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
            // An output without any resource has no relation to the targets, so it stays as it is.
            if rests.peek().is_some() && rests.all(|s| self.steps.contains(s)) {
                all.extend(below);
            }
        }
        all
    }

    /// Returns the instances to destroy: targets and their dependents, or everything except
    /// excluded instances and their dependencies.
    fn destroyed(&self, nodes: &Nodes, prior: &PriorState) -> BTreeSet<AbsInstance> {
        let web = Dependencies::new(nodes, prior);
        let named = |wanted: bool| {
            web.all
                .keys()
                .filter(move |i| self.is_included(i) == wanted)
                .cloned()
                .collect()
        };
        if self.targets.is_empty() {
            // Excluded objects stay, so their dependencies must stay too.
            let stay = web.with_dependencies(named(false));
            return web.all.into_keys().filter(|i| !stay.contains(i)).collect();
        }
        web.with_dependents(named(true))
    }
}

/// Returns the missing instances that a need stands for: one, or all of a resource if the instance
/// is not known.
fn missing_of_need<'m>(
    missing: &'m HashMap<ConfigResource, Vec<AbsInstance>>,
    need: &str,
) -> Vec<&'m AbsInstance> {
    let (Ok(target), Ok(address)) = (need.parse::<Target>(), need.parse::<AbsInstance>()) else {
        return Vec::new();
    };
    let all = missing.get(&address.config()).into_iter().flatten();
    all.filter(|instance| target.contains(instance)).collect()
}

/// Returns all resource nodes, declared or orphaned.
fn resources(nodes: &Nodes) -> impl Iterator<Item = (Step, &ConfigResource)> {
    nodes
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(step, node)| Some((step, node.resource()?)))
}

/// Returns true if all instances of a resource lie in a target.
fn contains_all(target: &Target, resource: &ConfigResource) -> bool {
    let keyless = target
        .module()
        .0
        .iter()
        .all(|(_, k)| *k == InstanceKey::None);
    keyless && !matches!(target, Target::Instance(_)) && target.may_contain(resource)
}

/// Returns the steps needed to destroy objects of a resource: its provider and the expression of
/// `prevent_destroy`.
fn destroy_needs(
    nodes: &Nodes,
    root: &Module,
    prior: &PriorState,
    resource: &ConfigResource,
) -> Option<Vec<Step>> {
    let module = root.descendant(&resource.module.0);
    let Some((module, declared)) =
        module.and_then(|m| Some((m, m.resources.get(&resource.resource)?)))
    else {
        // An undeclared resource has no block; the state records the provider of each object.
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
