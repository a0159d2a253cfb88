//! Order of the changes of a group: members to remove first, batches of the rolling update, members
//! to add last.

use serde::{Deserialize, Serialize};

use crate::policy::{Order, UpdatePolicy};
use crate::{ConfigHash, Health, MemberKey, UnixMs};

/// Relation of a member's configuration to the desired one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Configuration {
    /// Equal to the desired one.
    Matches,
    /// Different, or unknown.
    Differs,
}

impl Configuration {
    /// Compares a member's hash, if it has one.
    pub fn compare(member: Option<&ConfigHash>, desired: &ConfigHash) -> Configuration {
        match member {
            Some(hash) if hash == desired => Configuration::Matches,
            _ => Configuration::Differs,
        }
    }
}

/// An observed member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key.
    pub key: MemberKey,
    /// Relation to the desired configuration.
    pub configuration: Configuration,
    /// Time of its creation, if known.
    pub created: Option<UnixMs>,
    /// Health at the last poll.
    pub health: Health,
    /// True for the machine that this process runs on.
    pub is_this_machine: bool,
    /// False if it is declared but missing.
    pub exists: bool,
}

impl Member {
    /// An existing member of unknown health.
    pub fn new(key: MemberKey, configuration: Configuration) -> Member {
        Member {
            key,
            configuration,
            created: None,
            health: Health::Unknown,
            is_this_machine: false,
            exists: true,
        }
    }

    /// Sets the health.
    #[must_use]
    pub fn with_health(self, health: Health) -> Member {
        Member { health, ..self }
    }

    fn differs(&self) -> bool {
        self.configuration == Configuration::Differs
    }
}

/// Ordered changes of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutPlan {
    /// Members to destroy before the rolling update.
    pub shrink: Vec<MemberKey>,
    /// Batches of the rolling update.
    pub batches: Vec<Vec<MemberKey>>,
    /// Members to create after the rolling update.
    pub grow: Vec<MemberKey>,
    /// Member of a batch that is this machine: it is drained, and never destroyed.
    pub this_machine: Option<MemberKey>,
    /// True if the members to destroy come last, because others use them until then.
    #[serde(default)]
    pub shrink_last: bool,
    /// True if old members stay until all new ones exist, because others use them until then. The
    /// rollout then ends with the last new member.
    #[serde(default)]
    pub keep_old: bool,
}

/// Reasons why no order of changes exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Up-to-date members are unhealthy, so that no other member may become unavailable.
    #[error(
        "cannot replace {next}: the update does not repair all unhealthy members ({unhealthy} stay \
         as they are, max_unavailable is {max_unavailable}). Repair them, commit another \
         configuration, or raise max_unavailable"
    )]
    TooManyUnhealthy {
        /// First member that would be replaced.
        next: MemberKey,
        /// Unhealthy members that the update does not replace.
        unhealthy: usize,
        /// Limit of the policy.
        max_unavailable: usize,
    },
}

/// Orders the changes that lead from the observed to the desired members. Members without a desired
/// key are removed, desired keys without an existing member are added, and the others roll if they
/// differ.
///
/// # Errors
/// `max_unavailable` allows no batch.
pub fn plan(
    members: &[Member],
    desired: &[MemberKey],
    policy: &UpdatePolicy,
) -> Result<RolloutPlan, OrderError> {
    let existing: Vec<&Member> = members.iter().filter(|member| member.exists).collect();
    let (kept, surplus): (Vec<&Member>, Vec<&Member>) = existing
        .into_iter()
        .partition(|member| desired.contains(&member.key));
    let missing = desired
        .iter()
        .filter(|key| kept.iter().all(|member| member.key != **key));
    let mut grow: Vec<MemberKey> = missing.cloned().collect();
    grow.sort();
    let rolling: Vec<&Member> = kept
        .iter()
        .copied()
        .filter(|member| member.differs())
        .collect();
    Ok(RolloutPlan {
        shrink: removal_order(surplus),
        batches: batches(rolling, &kept, desired.len(), policy)?,
        grow,
        this_machine: kept
            .iter()
            .find(|member| member.is_this_machine && member.differs())
            .map(|member| member.key.clone()),
        shrink_last: false,
        keep_old: false,
    })
}

/// Chooses the members to remove from a group whose size decides: outdated ones first, then the
/// lowest keys. This machine is removed last.
pub fn choose_shrink(members: &[Member], size: usize) -> Vec<MemberKey> {
    let existing: Vec<&Member> = members.iter().filter(|member| member.exists).collect();
    let surplus = existing.len().saturating_sub(size);
    let mut keys = removal_order(existing);
    keys.truncate(surplus);
    keys
}

/// Order in which all members of a group are destroyed: this machine comes last.
pub fn destroy_order(members: &[Member]) -> Vec<MemberKey> {
    let mut existing: Vec<&Member> = members.iter().filter(|member| member.exists).collect();
    existing.sort_by_key(|member| (member.is_this_machine, &member.key));
    existing
        .into_iter()
        .map(|member| member.key.clone())
        .collect()
}

fn removal_order(mut members: Vec<&Member>) -> Vec<MemberKey> {
    members.sort_by_key(|member| (member.is_this_machine, !member.differs(), &member.key));
    members
        .into_iter()
        .map(|member| member.key.clone())
        .collect()
}

/// Splits keys into groups that are changed at once; a limit of 0 means no limit.
pub fn waves(keys: &[MemberKey], max_parallel: u32) -> Vec<Vec<MemberKey>> {
    let width = match max_parallel {
        0 => keys.len().max(1),
        limit => limit as usize,
    };
    keys.chunks(width).map(<[MemberKey]>::to_vec).collect()
}

/// Splits the members that roll into batches. A batch takes an unhealthy member at any time, since
/// it is unavailable already; healthy ones only within `max_unavailable`.
fn batches(
    mut rolling: Vec<&Member>,
    kept: &[&Member],
    size: usize,
    policy: &UpdatePolicy,
) -> Result<Vec<Vec<MemberKey>>, OrderError> {
    let unhealthy = |member: &&Member| member.health == Health::Unhealthy;
    rolling.sort_by_key(|member| {
        let rank = match policy.order {
            Order::OutdatedFirst => i64::from(!unhealthy(member)),
            // A member of unknown age is taken for a new one.
            Order::Oldest => member.created.unwrap_or(i64::MAX),
            Order::Key => 0,
        };
        (member.is_this_machine, rank, &member.key)
    });
    let width = policy.batch.of(size).max(1);
    // With surge a batch makes nothing unavailable.
    let limit = policy
        .max_unavailable
        .filter(|_| !policy.surge)
        .map(|limit| limit.of(size));
    // This machine is drained and left, so that it does not become healthy.
    let stays = |member: &&Member| !member.differs() || member.is_this_machine;
    let lasting = kept.iter().filter(|m| unhealthy(m) && stays(m)).count();
    let mut batches = Vec::new();
    while let Some(first) = rolling.first() {
        if first.is_this_machine {
            batches.push(vec![first.key.clone()]);
            rolling.remove(0);
            continue;
        }
        let replaced = rolling.iter().filter(|m| unhealthy(m) && !stays(m));
        let pending = lasting + replaced.count();
        let mut budget = limit.map_or(width, |limit| limit.saturating_sub(pending));
        let mut batch = Vec::new();
        rolling.retain(|member| {
            let free = unhealthy(member);
            let fits = batch.len() < width && !member.is_this_machine && (free || budget > 0);
            if fits {
                budget -= usize::from(!free);
                batch.push(member.key.clone());
            }
            !fits
        });
        if batch.is_empty() {
            return Err(OrderError::TooManyUnhealthy {
                next: rolling[0].key.clone(),
                unhealthy: lasting,
                max_unavailable: limit.unwrap_or(width),
            });
        }
        batches.push(batch);
    }
    Ok(batches)
}

#[cfg(test)]
mod tests;
