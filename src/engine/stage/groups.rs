//! Groups in a stage: the members whose instances change, and the order in which they change.

use super::change::Change;
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
                change.address.config() == self.declared.instance
                    && change.deposed.is_none()
                    && change.action() == Action::NoOp
                    && member_key(&change.address) == *key
            };
            let change = changes.iter().position(|change| of_key(&change));
            self.unproven.extend(change.map(|change| Target {
                key: key.clone(),
                change,
            }));
        }
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

/// Returns the groups of a configuration whose instances the selected changes change. `created` has
/// the times at which instances were created, by address, as far as they are known.
///
/// # Errors
/// A policy is invalid, or it allows no order.
pub fn changed_groups(
    root: &Module,
    changes: &[Change],
    selected: &BTreeSet<usize>,
    created: &BTreeMap<String, UnixMs>,
    to: &ConfigHash,
    now: UnixMs,
) -> Result<Vec<ChangedGroup>, Diagnostics> {
    if root.groups.is_empty() {
        return Ok(Vec::new());
    }
    let (declared, mut diags) = group::declared::declared_groups(root);
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
struct Instance<'a> {
    index: usize,
    change: &'a Change,
    selected: bool,
}

impl Instance<'_> {
    fn exists(&self) -> bool {
        !self.change.before.value.is_null()
    }

    fn removes(&self) -> bool {
        matches!(self.change.action(), Action::Destroy | Action::Forget)
    }
}

fn changed_group(
    mut declared: DeclaredGroup,
    changes: &[Change],
    selected: &BTreeSet<usize>,
    created: &BTreeMap<String, UnixMs>,
    to: &ConfigHash,
    now: UnixMs,
) -> Result<Option<ChangedGroup>, OrderError> {
    let of_group = changes.iter().enumerate().filter(|(_, change)| {
        change.deposed.is_none() && change.address.config() == declared.instance
    });
    let instances: BTreeMap<MemberKey, Instance<'_>> = of_group
        .map(|(index, change)| {
            let selected = selected.contains(&index) && has_effect(change);
            let instance = Instance {
                index,
                change,
                selected,
            };
            (member_key(&change.address), instance)
        })
        .collect();
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
    let rollout = Rollout::new(&plan, &declared.policy, None, to.clone(), now);
    let index = |step: &MemberStep| instances.get(&step.member).map(|i| i.index);
    let steps = rollout.steps();
    Ok(Some(ChangedGroup {
        changes: steps.iter().filter_map(index).collect(),
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
                .collect();
            MemberKey::name(&texts.join("/"))
        }
    }
}
