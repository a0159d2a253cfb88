//! Drift of a group by kind, and the response of the reconcile loop to it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::MemberKey;
use crate::order::Configuration;
use crate::scope::FileSet;

/// Difference between a member and the committed configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Drift {
    /// A desired member does not exist.
    Missing {
        /// The member.
        member: MemberKey,
    },
    /// A member was created from another configuration.
    OutdatedHash {
        /// The member.
        member: MemberKey,
    },
    /// A member that the group does not declare.
    UnknownMember {
        /// The member.
        member: MemberKey,
    },
    /// Attributes were changed outside of flightdeck.
    AttributeDrift {
        /// The member.
        member: MemberKey,
        /// Names of the attributes.
        attributes: Vec<String>,
    },
    /// A dedicated set without an instance.
    OrphanedAttachment {
        /// Name of the set.
        set: String,
    },
}

/// An observed member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMember {
    /// Its key.
    pub key: MemberKey,
    /// Relation to the committed configuration.
    pub configuration: Configuration,
    /// Attributes that differ from the state.
    pub drifted: Vec<String>,
    /// False if it is declared but missing.
    pub exists: bool,
}

/// Finds all drift: missing members, then that of each existing one, then orphaned sets. An
/// outdated member is reported as such alone, because a rolling update repairs its attributes too.
pub fn find(desired: &[MemberKey], observed: &[ObservedMember], orphans: &[FileSet]) -> Vec<Drift> {
    let existing = || observed.iter().filter(|member| member.exists);
    let keys: BTreeSet<&MemberKey> = existing().map(|member| &member.key).collect();
    let declared: BTreeSet<&MemberKey> = desired.iter().collect();
    let missing = desired.iter().filter(|key| !keys.contains(key));
    let mut found: Vec<Drift> = missing
        .cloned()
        .map(|member| Drift::Missing { member })
        .collect();
    for observed in existing() {
        let member = observed.key.clone();
        if !declared.contains(&member) {
            found.push(Drift::UnknownMember { member });
        } else if observed.configuration == Configuration::Differs {
            found.push(Drift::OutdatedHash { member });
        } else if !observed.drifted.is_empty() {
            let attributes = observed.drifted.clone();
            found.push(Drift::AttributeDrift { member, attributes });
        }
    }
    found.extend(orphans.iter().map(|set| Drift::OrphanedAttachment {
        set: set.to_string(),
    }));
    found
}

/// Mode of the reconcile loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reports drift and changes nothing.
    #[default]
    Observe,
    /// Repairs drift within the committed configuration.
    Enforce,
    /// Does not look.
    Paused,
}

/// Planned repair of a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Create a missing member.
    Create,
    /// Update a member in place.
    Update,
    /// Destroy and create a member.
    Replace,
    /// Destroy a member.
    Destroy,
}

/// Response of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Nothing.
    Ignore,
    /// Report it.
    Report,
    /// Repair it.
    Repair,
    /// Repair it after an approval.
    AskApproval,
}

impl Drift {
    /// Repair of the drift. `replaces` tells if the plan of the member replaces it. An orphaned set
    /// has none: it holds data, and the next new member takes it.
    pub fn repair(&self, replaces: bool) -> Option<Repair> {
        match self {
            Drift::Missing { .. } => Some(Repair::Create),
            Drift::OutdatedHash { .. } | Drift::AttributeDrift { .. } => Some(match replaces {
                true => Repair::Replace,
                false => Repair::Update,
            }),
            Drift::UnknownMember { .. } => Some(Repair::Destroy),
            Drift::OrphanedAttachment { .. } => None,
        }
    }
}

/// Response of the loop to a drift. A repair that destroys needs an approval, unless the group
/// declares `allow_replace`.
pub fn response(mode: Mode, repair: Option<Repair>, allow_replace: bool) -> Response {
    match (mode, repair) {
        (Mode::Paused, _) => Response::Ignore,
        (Mode::Observe, _) | (Mode::Enforce, None) => Response::Report,
        (Mode::Enforce, Some(Repair::Create | Repair::Update)) => Response::Repair,
        (Mode::Enforce, Some(Repair::Replace | Repair::Destroy)) => match allow_replace {
            true => Response::Repair,
            false => Response::AskApproval,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(key: &str, configuration: Configuration, drifted: &[&str]) -> ObservedMember {
        ObservedMember {
            key: MemberKey::name(key),
            configuration,
            drifted: drifted.iter().map(|name| (*name).to_owned()).collect(),
            exists: true,
        }
    }

    #[test]
    #[rustfmt::skip]
    fn drift_is_found_by_kind() {
        use Configuration::{Differs, Matches};
        let desired = ["a", "b", "c", "d", "e"].map(MemberKey::name);
        let members = [
            observed("a", Matches, &[]),
            observed("b", Differs, &["size"]),
            observed("c", Matches, &["size", "tags"]),
            ObservedMember { exists: false, ..observed("d", Matches, &["size"]) },
            observed("x", Differs, &[]),
        ];
        let orphan = FileSet::parse("w_dedicated_2").unwrap();
        let member = MemberKey::name;
        assert_eq!(
            find(&desired, &members, &[orphan]),
            [
                Drift::Missing { member: member("d") },
                Drift::Missing { member: member("e") },
                Drift::OutdatedHash { member: member("b") },
                Drift::AttributeDrift {
                    member: member("c"),
                    attributes: vec!["size".to_owned(), "tags".to_owned()],
                },
                Drift::UnknownMember { member: member("x") },
                Drift::OrphanedAttachment { set: "w_dedicated_2".to_owned() },
            ]
        );
        assert_eq!(find(&desired[..1], &members[..1], &[]), []);
    }

    #[test]
    #[rustfmt::skip]
    fn loop_repairs_only_in_enforce_mode_and_asks_before_it_destroys() {
        use Response::{AskApproval, Ignore, Report};
        let member = || MemberKey::name("a");
        let attributes = Vec::new;
        for (drift, replaces, enforced, allowed) in [
            (Drift::Missing { member: member() }, false, Response::Repair, Response::Repair),
            (Drift::OutdatedHash { member: member() }, false, Response::Repair, Response::Repair),
            (Drift::OutdatedHash { member: member() }, true, AskApproval, Response::Repair),
            (
                Drift::AttributeDrift { member: member(), attributes: attributes() },
                true,
                AskApproval,
                Response::Repair,
            ),
            (Drift::UnknownMember { member: member() }, false, AskApproval, Response::Repair),
            (Drift::OrphanedAttachment { set: String::new() }, false, Report, Report),
        ] {
            let repair = drift.repair(replaces);
            assert_eq!(response(Mode::Enforce, repair, false), enforced, "{drift:?}");
            assert_eq!(response(Mode::Enforce, repair, true), allowed, "{drift:?}");
            assert_eq!(response(Mode::Observe, repair, true), Report, "{drift:?}");
            assert_eq!(response(Mode::Paused, repair, true), Ignore, "{drift:?}");
        }
        assert_eq!(Mode::default(), Mode::Observe);
    }
}
