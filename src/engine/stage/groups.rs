//! Groups in a stage: the members whose instances change, and the order in which they change.

use super::change::Change;
use super::member_hash;
use super::steps::has_effect;
use group::declared::DeclaredGroup;
use group::order::{self, Configuration, Member, OrderError, RolloutPlan};
use group::rollout::{Phase, Rollout, Step as MemberStep};
use group::{ConfigHash, MemberKey};
use lang::addr::{AbsInstance, InstanceKey};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use model::{Action, UnixMs};
use std::collections::{BTreeMap, BTreeSet};

/// Group with changes of its instances.
pub struct ChangedGroup {
    pub declared: DeclaredGroup,
    pub plan: RolloutPlan,
    /// Planned rollout; its steps are in the order of `changes`.
    pub rollout: Rollout,
    /// Index of the change of the instance, for each step of the rollout.
    pub changes: Vec<usize>,
    /// Indexes of the destroys of former instances that the instance succeeds, for each step. Only
    /// committed groups have any.
    pub former: Vec<Vec<usize>>,
    /// Number of members that the configuration declares.
    pub size: usize,
    /// Members that an earlier rollout changed, and that have not been healthy since.
    pub unproven: Vec<Target>,
}

/// A member, and the change of its instance.
#[derive(Clone, Debug)]
pub struct Target {
    pub key: MemberKey,
    /// Index of the change.
    pub change: usize,
}

impl ChangedGroup {
    /// Returns the steps of a batch, by index.
    pub fn batch(&self, batch: usize) -> impl Iterator<Item = usize> + '_ {
        let steps = self.rollout.steps().iter().enumerate();
        steps
            .filter(move |(_, step)| step.batch == batch)
            .map(|(at, _)| at)
    }

    /// Returns the number of batches, removals and additions included.
    pub fn batches(&self) -> usize {
        self.rollout.batch().1
    }

    /// Returns a step of the rollout.
    pub fn member(&self, step: usize) -> &MemberStep {
        &self.rollout.steps()[step]
    }

    /// Returns the member of a step.
    pub fn target(&self, step: usize) -> Target {
        Target {
            key: self.member(step).member.clone(),
            change: self.changes[step],
        }
    }

    /// Adds the members of an earlier rollout that have not been healthy since, unless they change
    /// again.
    pub fn add_unproven(&mut self, changes: &[Change], earlier: &Rollout) {
        for key in earlier.unproven() {
            let of_key = |change: &&Change| {
                change.action() == Action::NoOp
                    && key_in(&self.declared, change).as_ref() == Some(key)
            };
            let change = changes.iter().position(|change| of_key(&change));
            self.unproven.extend(change.map(|change| Target {
                key: key.clone(),
                change,
            }));
        }
    }

    /// Returns the hashes of the configurations that the members get, by key.
    pub fn new_hashes(&self) -> BTreeMap<String, String> {
        let steps = self.rollout.steps().iter();
        let hashes = steps.filter_map(|step| Some((step.member.to_string(), step.new.as_ref()?)));
        hashes
            .map(|(member, hash)| (member, hash.to_string()))
            .collect()
    }

    /// Returns the phase of a batch.
    pub fn phase(&self, batch: usize) -> Option<Phase> {
        let first = self.batch(batch).next()?;
        Some(self.member(first).phase)
    }

    /// Returns the plan as text, such as "rolling update of 3 instances in 3 batches".
    pub fn summary(&self) -> String {
        self.plan.summary()
    }
}

/// Returns the groups whose instances the selected changes change: those of the configuration, and
/// committed ones. `created` has the times at which instances were created, by address, as far as
/// they are known.
///
/// # Errors
/// A policy is invalid, or it allows no order.
pub fn changed_groups(
    (root, committed): (&Module, &[DeclaredGroup]),
    changes: &[Change],
    selected: &BTreeSet<usize>,
    created: &BTreeMap<String, UnixMs>,
    to: &ConfigHash,
    now: UnixMs,
) -> Result<Vec<ChangedGroup>, Diagnostics> {
    if root.groups.is_empty() && committed.is_empty() {
        return Ok(Vec::new());
    }
    let (mut declared, mut diags) = group::declared::declared_groups(root);
    declared.extend(committed.iter().cloned());
    let mut groups = Vec::new();
    for declared in declared {
        let name = declared.name.clone();
        match changed_group(declared, changes, selected, created, to, now) {
            Ok(group) => groups.extend(group),
            Err(error) => {
                let summary = format!("Group \"{name}\" cannot be updated");
                let mut found = Diagnostic::error(summary, format!("{error}."));
                if let Some(group) = root.groups.get(&name) {
                    found = found.at(group.span);
                }
                diags.push(found);
            }
        }
    }
    match diags.has_errors() {
        true => Err(diags),
        false => Ok(groups),
    }
}

/// Change of a member's instance.
pub(super) struct Instance<'a> {
    pub(super) index: usize,
    pub(super) change: &'a Change,
    selected: bool,
    /// Selected destroys of instances that this one succeeds.
    pub(super) former: Vec<usize>,
}

impl Instance<'_> {
    pub(super) fn exists(&self) -> bool {
        !self.change.before.value.is_null() || !self.former.is_empty()
    }

    pub(super) fn removes(&self) -> bool {
        matches!(self.change.action(), Action::Destroy | Action::Forget)
    }
}

/// Returns the key of the member whose instance a change changes, if it is in the group.
pub fn key_in(group: &DeclaredGroup, change: &Change) -> Option<MemberKey> {
    if change.deposed.is_some() {
        return None;
    }
    match &group.committed {
        Some(keys) => keys.get(&change.address.to_string()).cloned(),
        None if change.address.config() == group.instance => Some(member_key(&change.address)),
        None => None,
    }
}

/// Changes of the members of a group. A former instance belongs to its successor.
pub(super) fn instances<'a>(
    group: &DeclaredGroup,
    changes: &'a [Change],
    selected: &BTreeSet<usize>,
) -> BTreeMap<MemberKey, Instance<'a>> {
    let mut all: BTreeMap<MemberKey, Instance<'a>> = BTreeMap::new();
    for (index, change) in changes.iter().enumerate() {
        let Some(key) = key_in(group, change) else {
            continue;
        };
        let mut instance = Instance {
            index,
            change,
            selected: selected.contains(&index) && has_effect(change),
            former: Vec::new(),
        };
        if let Some(mut other) = all.remove(&key) {
            if instance.removes() {
                std::mem::swap(&mut instance, &mut other);
            }
            instance.former.extend(other.former);
            instance
                .former
                .extend(other.selected.then_some(other.index));
        }
        all.insert(key, instance);
    }
    all
}

fn changed_group(
    mut declared: DeclaredGroup,
    changes: &[Change],
    selected: &BTreeSet<usize>,
    created: &BTreeMap<String, UnixMs>,
    to: &ConfigHash,
    now: UnixMs,
) -> Result<Option<ChangedGroup>, OrderError> {
    let instances = instances(&declared, changes, selected);
    if !instances.values().any(|instance| instance.selected) {
        return Ok(None);
    }
    // A deselected creation or removal leaves its member as it is.
    let desired: Vec<MemberKey> = instances
        .iter()
        .filter(|(_, i)| match i.selected {
            true => !i.removes(),
            false => i.exists(),
        })
        .map(|(key, _)| key.clone())
        .collect();
    let members: Vec<Member> = instances
        .iter()
        .map(|(key, instance)| {
            let configuration = match instance.selected {
                true => Configuration::Differs,
                false => Configuration::Matches,
            };
            let mut member = Member::new(key.clone(), configuration);
            member.exists = instance.exists();
            member.created = created.get(&instance.change.address.to_string()).copied();
            member
        })
        .collect();
    let rolling = || {
        let of_members = instances.values();
        of_members.filter(|i| i.selected && i.exists() && !i.removes())
    };
    // Updates in place have no successor to create first.
    let create_first = |i: &Instance<'_>| i.change.action() == Action::ReplaceCreateFirst;
    declared.policy.surge = rolling().next().is_some() && rolling().all(create_first);
    let mut plan = order::plan(&members, &desired, &declared.policy)?;
    let removed = instances.values().filter(|i| i.selected && i.removes());
    plan.shrink_last = removed.clone().any(|i| i.change.create_first());
    plan.keep_old = declared.policy.surge;
    let mut rollout = Rollout::new(&plan, &declared.policy, to.clone(), now);
    for instance in instances.values() {
        if let Some((key, hash)) = member_hash::of_change(&declared, instance.change) {
            rollout.set_new_hash(&key, hash);
        }
    }
    let steps = rollout.steps().iter();
    let of_steps = steps.filter_map(|step| instances.get(&step.member));
    let (changes, former) = of_steps.map(|i| (i.index, i.former.clone())).unzip();
    Ok(Some(ChangedGroup {
        changes,
        former,
        size: desired.len(),
        unproven: Vec::new(),
        declared,
        plan,
        rollout,
    }))
}

/// Key of the member that an instance is. An instance in a module with a key has the keys of both.
pub fn member_key(address: &AbsInstance) -> MemberKey {
    let modules = address.module.0.iter().map(|(_, key)| key);
    let keys: Vec<&InstanceKey> = modules
        .chain([&address.key])
        .filter(|key| **key != InstanceKey::None)
        .collect();
    match &keys[..] {
        [] => MemberKey::name(&address.resource.name),
        [key] => {
            MemberKey::from_instance(key).unwrap_or_else(|| MemberKey::name(&address.resource.name))
        }
        several => {
            let texts: Vec<String> = several
                .iter()
                .filter_map(|key| Some(MemberKey::from_instance(key)?.to_string()))
                // A key with a slash must not be taken for two keys.
                .map(|text| text.replace('\\', "\\\\").replace('/', "\\/"))
                .collect();
            MemberKey::name(&texts.join("/"))
        }
    }
}
