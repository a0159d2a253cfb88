//! Rollouts of groups: their hooks and records in a deploy, and the rollouts that the store has.

use super::command::{Operations, Staged};
use super::deploying::BegunDeploy;
use crate::deploy::run::{HookTrust, Recorded, RequestSettings, Rollouts, parse_rollout};
use crate::diagnostics::convert_all;
use crate::error::{EngineError, NotFound};
use crate::stage::groups::{ChangedGroup, changed_groups, member_key};
use crate::stage::member_hash;
use group::declared::DeclaredGroup;
use group::rollout::{
    Event, MemberAction, Phase, Rollout, RolloutState, Step, StepState, Transition,
};
use group::{ConfigHash, MemberKey};
use lang::addr::AbsInstance;
use model::*;
use shell::Prober;
use std::collections::{BTreeMap, BTreeSet};
use store::records::{MemberHash, RolloutRecord, State};

/// Rollouts of one group to show.
const SHOWN: u32 = 20;

impl Operations {
    /// Returns the groups that these changes update, and checks that their hooks may run.
    pub(super) async fn groups_to_update(
        &self,
        staged: &Staged,
        selected: &BTreeSet<usize>,
    ) -> Result<Vec<ChangedGroup>, EngineError> {
        let stage = &staged.stage;
        let to = ConfigHash::from_text(&stage.digests.config);
        let committed = self.committed_groups().await?;
        let (root, changes) = (&staged.root, &stage.changes);
        let of_groups = changes.iter().map(|change| &change.address);
        let of_groups = of_groups.filter(|address| {
            let mut groups = root.groups.values();
            groups.any(|group| group.instance.address == address.config())
        });
        let addresses = of_groups.map(ToString::to_string).collect();
        let created = self.memory.store().creation_times(addresses).await?;
        let groups = changed_groups(
            (root, &committed),
            changes,
            selected,
            &created,
            &to,
            now_ms(),
        );
        let mut groups = groups.map_err(|diags| {
            let sources = &staged.loaded.sources;
            EngineError::Diagnostics(convert_all(diags.iter(), sources, self.pool.secrets()))
        })?;
        for group in &mut groups {
            let name = group.declared.name.to_string();
            let old = self.memory.store().member_hashes(name.clone()).await?;
            group.rollout.set_old_hashes(&old);
            let earlier = self.memory.store().rollouts(Some(name), 1).await?;
            if let Some(earlier) = earlier.first().and_then(parse_rollout) {
                group.add_unproven(&stage.changes, &earlier);
            }
            if group.declared.drain.is_some() || group.declared.health.is_some() {
                let trust = HookTrust::new(&staged.root.dir, &staged.loaded.sources);
                trust.check_group(group, &stage.changes)?;
            }
        }
        Ok(groups)
    }

    /// Records the hashes of the members that a stage does not change, so that later rollouts show
    /// which configuration they replace.
    pub(super) async fn record_unchanged_members(
        &self,
        staged: &Staged,
    ) -> Result<(), EngineError> {
        let (mut declared, _) = group::declared::declared_groups(&staged.root);
        declared.extend(self.committed_groups().await?);
        let store = self.memory.store();
        for group in declared {
            let known = store.member_hashes(group.name.to_string()).await?;
            let mut found = member_hash::of_unchanged(&group, &staged.stage.changes);
            found.retain(|member, hash| known.get(member) != Some(hash));
            let hash = |(member, hash)| MemberHash {
                member,
                hash: Some(hash),
            };
            let found: Vec<MemberHash> = found.into_iter().map(hash).collect();
            if !found.is_empty() {
                store
                    .put_member_hashes(group.name.to_string(), found)
                    .await?;
            }
        }
        Ok(())
    }

    /// Creates the rollouts of a deploy.
    pub(super) fn rollouts(&self, begun: &BegunDeploy, groups: Vec<ChangedGroup>) -> Rollouts {
        let hooked = groups
            .iter()
            .any(|group| group.declared.drain.is_some() || group.declared.health.is_some());
        let dir = begun.staged.root.dir.clone();
        let prober = hooked.then(|| Prober::new(dir)).and_then(|prober| {
            let text = |error| format!("health probes cannot run: {error}");
            let report = |error| self.bus.emit(EventKind::Notice { text: text(error) });
            prober.map_err(report).ok()
        });
        let recorded = groups.into_iter().map(|group| {
            let name = group.declared.name.to_string();
            let store = self.memory.store().clone();
            let record = Recorded::new(store, name, begun.deploy, group.rollout.clone());
            (group, record)
        });
        let requests = RequestSettings {
            longest_pause: self.settings.rollout_pause,
            stored: self.rollout_requests.clone(),
        };
        let trust = HookTrust::new(&begun.staged.root.dir, &begun.staged.loaded.sources);
        Rollouts::new(recorded.collect(), prober, requests).with_trust(trust)
    }

    /// Groups of the configuration, with their newest rollouts.
    pub async fn groups(&self) -> Result<Vec<GroupView>, EngineError> {
        let loaded = self.read_with(&StageRequest::default(), true).await?;
        let state = self.state().await?;
        let (declared, _) = group::declared::declared_groups(&loaded.root);
        let mut views = Vec::new();
        for group in loaded.root.groups.values() {
            let addresses = || {
                let current = state.objects.iter().filter(|o| o.deposed.is_empty());
                current.filter_map(|object| object.address.parse::<AbsInstance>().ok())
            };
            let instance = &group.instance.address;
            let store = self.memory.store();
            let hashes = store.member_hashes(group.name.to_string()).await?;
            let of_group = addresses().filter(|address| address.config() == *instance);
            let mut members: BTreeMap<MemberKey, GroupMember> = of_group
                .map(|address| {
                    let key = member_key(&address);
                    let member = GroupMember {
                        key: key.to_string(),
                        address: address.to_string(),
                        dedicated: Vec::new(),
                        hash: hashes.get(&key.to_string()).cloned(),
                    };
                    (key, member)
                })
                .collect();
            let dedicated: Vec<_> = group.dedicated.iter().map(|d| &d.address).collect();
            for address in addresses().filter(|a| dedicated.contains(&&a.config())) {
                if let Some(member) = members.get_mut(&member_key(&address)) {
                    member.dedicated.push(address.to_string());
                }
            }
            let newest = self.newest_rollouts(Some(&group.name), 1).await?;
            let policy = declared.iter().find(|declared| declared.name == group.name);
            let policy = policy.map(|declared| &declared.reconcile);
            views.push(GroupView {
                group: group.name.to_string(),
                instance: instance.to_string(),
                members: members.into_values().collect(),
                global: group.global.iter().map(|g| g.address.to_string()).collect(),
                rollout: newest.into_iter().next(),
                reconcile: self.reconcile_view(&group.name, policy).await?,
            });
        }
        for group in self.committed_groups().await? {
            views.push(self.committed_view(group, &state).await?);
        }
        Ok(views)
    }

    /// Group without a block in the configuration.
    async fn committed_view(
        &self,
        group: DeclaredGroup,
        state: &State,
    ) -> Result<GroupView, EngineError> {
        let store = self.memory.store();
        let hashes = store.member_hashes(group.name.to_string()).await?;
        let keys = group.committed.unwrap_or_default();
        let current = state.objects.iter().filter(|o| o.deposed.is_empty());
        let members = current.filter_map(|object| {
            let key = keys.get(&object.address)?.clone();
            let member = GroupMember {
                key: key.to_string(),
                address: object.address.clone(),
                dedicated: Vec::new(),
                hash: hashes.get(&key.to_string()).cloned(),
            };
            Some((key, member))
        });
        let members: BTreeMap<MemberKey, GroupMember> = members.collect();
        let newest = self.newest_rollouts(Some(&group.name), 1).await?;
        let policy = Some(&group.reconcile);
        Ok(GroupView {
            group: group.name.to_string(),
            instance: format!("{} (committed)", group.instance.resource.kind),
            members: members.into_values().collect(),
            global: Vec::new(),
            rollout: newest.into_iter().next(),
            reconcile: self.reconcile_view(&group.name, policy).await?,
        })
    }

    /// The newest rollouts of a group, newest first.
    pub async fn rollouts_of(&self, group: &str) -> Result<Vec<RolloutView>, EngineError> {
        let found = self.newest_rollouts(Some(group), SHOWN).await?;
        if found.is_empty() && !self.groups().await?.iter().any(|g| g.group == group) {
            return Err(NotFound::Group(group.to_owned()).into());
        }
        Ok(found)
    }

    /// The newest rollout of a group, if it has one.
    pub async fn newest_rollout(&self, group: &str) -> Result<Option<RolloutView>, EngineError> {
        let found = self.newest_rollouts(Some(group), 1).await?;
        Ok(found.into_iter().next())
    }

    async fn newest_rollouts(
        &self,
        group: Option<&str>,
        limit: u32,
    ) -> Result<Vec<RolloutView>, EngineError> {
        let store = self.memory.store();
        let records = store.rollouts(group.map(str::to_owned), limit).await?;
        let running = match records.is_empty() {
            true => BTreeSet::new(),
            false => self.running_deploys().await?,
        };
        let views = records.iter().filter_map(|record| {
            let mut rollout = parse_rollout(record)?;
            if !running.contains(&record.deploy) {
                // Its flightdeck has ended without a chance to record the pause.
                drop(rollout.handle(Event::Interrupted, record.updated));
            }
            Some(rollout_view(record, &rollout))
        });
        Ok(views.collect())
    }

    /// Deploys that a process runs.
    pub(super) async fn running_deploys(&self) -> Result<BTreeSet<DeployId>, EngineError> {
        let history = self.memory.store().history(0).await?.into_iter();
        let running = history.filter(|deploy| deploy.outcome == DeployOutcome::Running);
        Ok(running.map(|deploy| deploy.deploy).collect())
    }

    /// Marks rollouts as interrupted whose flightdeck has ended. The workspace lock is held, so no
    /// other process runs them.
    pub(super) async fn settle_rollouts(&self) -> Result<(), EngineError> {
        let store = self.memory.store();
        let unfinished = [
            RolloutState::Planned,
            RolloutState::Running,
            RolloutState::WaitingHealth,
        ];
        let unfinished = unfinished.iter().map(ToString::to_string);
        for record in store.rollouts_in(unfinished.collect()).await? {
            let Some(rollout) = parse_rollout(&record) else {
                continue;
            };
            let paused = rollout.clone().handle(Event::Interrupted, now_ms());
            if paused.is_ok_and(|next| next.is_empty()) {
                continue;
            }
            let Some(recorded) = Recorded::of_record(store.clone(), &record) else {
                continue;
            };
            if let Err(text) = recorded.apply(Event::Interrupted).await {
                self.bus.emit(EventKind::Notice { text });
            }
        }
        Ok(())
    }
}

pub(super) fn rollout_view(record: &RolloutRecord, rollout: &Rollout) -> RolloutView {
    RolloutView {
        rollout: record.id.unwrap_or_default(),
        group: record.name.clone(),
        deploy: record.deploy,
        state: rollout.state().to_string(),
        reason: rollout.reason().map(str::to_owned),
        began: record.began,
        updated: record.updated,
        batch: counted(rollout.batch().0.saturating_add(1).min(rollout.batch().1)),
        batches: counted(rollout.batch().1),
        transitions: rollout.transitions().iter().map(transition_view).collect(),
        members: rollout.steps().iter().map(member_view).collect(),
    }
}

fn counted(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn transition_view(transition: &Transition) -> RolloutTransition {
    RolloutTransition {
        at: transition.at,
        state: transition.state.to_string(),
        reason: transition.reason.clone(),
    }
}

fn member_view(step: &Step) -> RolloutMember {
    let action = |record: &group::rollout::ActionRecord| RolloutAction {
        action: action_text(record.action).to_owned(),
        began: record.started,
        ended: record.ended,
        failure: record.failure.clone(),
    };
    let phase = match step.phase {
        Phase::Shrink => "remove",
        Phase::Roll => "update",
        Phase::Grow => "add",
    };
    let state = match step.state {
        StepState::Pending if step.records.is_empty() => "waiting".to_owned(),
        StepState::Pending => "changed".to_owned(),
        StepState::Running(action) => format!("{} in progress", action_text(action)),
        StepState::Unknown(action) => format!("{} interrupted", action_text(action)),
        StepState::Failed(action) => format!("{} failed", action_text(action)),
        StepState::Unhealthy => "unhealthy".to_owned(),
        StepState::Skipped => "skipped".to_owned(),
        StepState::Left => "drained, this machine".to_owned(),
        StepState::Done => "done".to_owned(),
    };
    RolloutMember {
        key: step.member.to_string(),
        phase: phase.to_owned(),
        batch: counted(step.batch + 1),
        state,
        is_over: step.state.is_over(),
        note: step.note.clone(),
        actions: step.records.iter().map(action).collect(),
        old_hash: step.old.as_ref().map(ToString::to_string),
        new_hash: step.new.as_ref().map(ToString::to_string),
    }
}

fn action_text(action: MemberAction) -> &'static str {
    match action {
        MemberAction::Drain => "drain",
        MemberAction::Replace => "change",
        MemberAction::Create => "creation",
        MemberAction::Destroy => "destroy",
    }
}
