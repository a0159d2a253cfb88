//! Drift of a group, found in a stage of its resources.

use super::change::{Change, Stage};
use super::groups::{Instance, instances, member_key};
use super::steps::has_effect;
use group::MemberKey;
use group::declared::DeclaredGroup;
use group::drift::{Drift, ObservedMember, find};
use group::order::Configuration;
use group::scope::FileSet;
use model::{Action, AttributeChange, ChangeView, DriftKind, StageSummary};
use std::collections::{BTreeSet, HashMap};

/// Drift of a member, and the changes that repair it.
#[derive(Debug)]
pub struct DriftedMember {
    pub drift: Drift,
    /// Indexes of the changes; empty if the stage changes nothing about it.
    pub changes: Vec<usize>,
    /// True if the changes replace the member.
    pub replaces: bool,
}

/// Finds the drift of a group. `summary` is that of the stage. `orphans` are the dedicated sets of
/// a committed group that no member uses.
pub fn group_drift(
    declared: &DeclaredGroup,
    stage: &Stage,
    summary: &StageSummary,
    orphans: &[FileSet],
) -> Vec<DriftedMember> {
    let changed = summary
        .drift
        .iter()
        .filter(|d| d.what == DriftKind::Changed);
    let drifted: HashMap<&str, Vec<&AttributeChange>> = changed
        .map(|d| {
            let attributes = d.attributes.iter().filter(|a| a.changed);
            (d.address.as_str(), attributes.collect())
        })
        .collect();
    let all = (0..stage.changes.len()).collect();
    let instances = instances(declared, &stage.changes, &all);
    let desired: Vec<MemberKey> = instances
        .iter()
        .filter(|(_, instance)| !instance.removes())
        .map(|(key, _)| key.clone())
        .collect();
    let observed = instances.iter().map(|(key, instance)| {
        let view = &summary.changes[instance.index];
        let drifted = drifted.get(view.address.as_str()).cloned();
        let drifted = drifted.unwrap_or_default();
        ObservedMember {
            key: key.clone(),
            configuration: match instance.former[..] {
                [] => configuration(view, &drifted),
                // A commit has declared a successor.
                [..] => Configuration::Differs,
            },
            exists: instance.exists(),
            drifted: drifted.iter().map(|a| a.path.clone()).collect(),
        }
    });
    let observed: Vec<ObservedMember> = observed.collect();
    let found = find(&desired, &observed, orphans);
    let parts = parts(declared, stage);
    let members = found.into_iter().map(|drift| {
        let key = member(&drift);
        let instance = key.and_then(|key| instances.get(key));
        let parts = key.and_then(|key| parts.get(key));
        let own = instance.into_iter().map(|instance| instance.index);
        let former = instance.into_iter().flat_map(|i| i.former.iter().copied());
        let all = own
            .chain(parts.into_iter().flatten().copied())
            .chain(former);
        DriftedMember {
            replaces: instance.is_some_and(replaces),
            changes: all
                .filter(|index| has_effect(&stage.changes[*index]))
                .collect(),
            drift,
        }
    });
    let mut members: Vec<DriftedMember> = members.collect();
    members.extend(self::orphans(declared, stage, &desired));
    members
}

/// Changes of the resources that live and die with the instances of members.
fn parts<'g>(declared: &'g DeclaredGroup, stage: &Stage) -> HashMap<&'g MemberKey, Vec<usize>> {
    let mut parts: HashMap<&MemberKey, Vec<usize>> = HashMap::new();
    if declared.parts.is_empty() {
        return parts;
    }
    for (index, change) in stage.changes.iter().enumerate() {
        let key = declared.parts.get(&change.address.to_string());
        if let Some(key) = key.filter(|_| change.deposed.is_none()) {
            parts.entry(key).or_default().push(index);
        }
    }
    parts
}

/// Returns true if the repair of a member destroys an instance of it that is desired.
fn replaces(instance: &Instance<'_>) -> bool {
    let action = instance.change.action();
    !instance.former.is_empty() || matches!(action, Action::Replace | Action::ReplaceCreateFirst)
}

/// Dedicated resources of members that the configuration no longer has.
fn orphans<'a>(
    declared: &'a DeclaredGroup,
    stage: &'a Stage,
    desired: &[MemberKey],
) -> impl Iterator<Item = DriftedMember> + use<'a> {
    let desired: BTreeSet<MemberKey> = desired.iter().cloned().collect();
    let changes = stage.changes.iter();
    let orphaned = changes.filter(move |change| {
        change.deposed.is_none()
            && declared.dedicated.contains(&change.address.config())
            && removes(change)
            && !desired.contains(&member_key(&change.address))
    });
    orphaned.map(|change| DriftedMember {
        drift: Drift::OrphanedAttachment {
            set: change.address.to_string(),
        },
        changes: Vec::new(),
        replaces: false,
    })
}

fn removes(change: &Change) -> bool {
    matches!(change.action(), Action::Destroy | Action::Forget)
}

/// Relation of a member to its configuration. A change that only takes back what was changed
/// outside of flightdeck is no difference of the configuration.
fn configuration(change: &ChangeView, drifted: &[&AttributeChange]) -> Configuration {
    let replaces = match change.action {
        Action::Update => false,
        Action::Replace | Action::ReplaceCreateFirst => true,
        _ => return Configuration::Matches,
    };
    // Values that are known after the change differ in any case.
    let causes = change.attributes.iter().filter(|a| match replaces {
        true => a.forces_replacement,
        false => a.changed && !a.unknown,
    });
    let takes_back = |cause: &AttributeChange| {
        let mut drifted = drifted.iter();
        drifted.any(|drift| drift.path == cause.path && drift.before == cause.after)
    };
    let mut causes = causes.peekable();
    match causes.peek().is_some() && causes.all(takes_back) {
        true => Configuration::Matches,
        false => Configuration::Differs,
    }
}

/// The member of a drift; `None` for a dedicated set.
fn member(drift: &Drift) -> Option<&MemberKey> {
    match drift {
        Drift::Missing { member }
        | Drift::OutdatedHash { member }
        | Drift::UnknownMember { member }
        | Drift::AttributeDrift { member, .. } => Some(member),
        Drift::OrphanedAttachment { .. } => None,
    }
}
