//! Drift of a group, found in a stage of its resources.

use super::change::{Change, Stage};
use super::groups::member_key;
use group::MemberKey;
use group::declared::DeclaredGroup;
use group::drift::{Drift, ObservedMember, find};
use group::order::Configuration;
use model::{Action, AttributeChange, ChangeView, DriftKind, StageSummary};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Drift of a member, and the change that repairs it.
#[derive(Debug)]
pub struct DriftedMember {
    pub drift: Drift,
    /// Index of the change; `None` if the stage changes nothing about it.
    pub change: Option<usize>,
}

/// Finds the drift of a group. `summary` is that of the stage.
pub fn group_drift(
    declared: &DeclaredGroup,
    stage: &Stage,
    summary: &StageSummary,
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
    let mut instances: BTreeMap<MemberKey, usize> = BTreeMap::new();
    let (mut desired, mut observed) = (Vec::new(), Vec::new());
    for (index, change) in stage.changes.iter().enumerate() {
        if change.deposed.is_some() || change.address.config() != declared.instance {
            continue;
        }
        let key = member_key(&change.address);
        let view = &summary.changes[index];
        let drifted = drifted.get(view.address.as_str()).cloned();
        if !removes(change) {
            desired.push(key.clone());
        }
        let drifted = drifted.unwrap_or_default();
        observed.push(ObservedMember {
            key: key.clone(),
            configuration: configuration(view, &drifted),
            exists: !change.before.value.is_null(),
            drifted: drifted.iter().map(|a| a.path.clone()).collect(),
        });
        instances.insert(key, index);
    }
    let found = find(&desired, &observed, &[]);
    let members = found.into_iter().map(|drift| DriftedMember {
        change: member(&drift)
            .and_then(|key| instances.get(key).copied())
            .filter(|index| super::steps::has_effect(&stage.changes[*index])),
        drift,
    });
    let mut members: Vec<DriftedMember> = members.collect();
    members.extend(orphans(declared, stage, &desired));
    members
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
        change: None,
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
