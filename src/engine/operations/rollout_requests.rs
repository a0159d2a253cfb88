//! Requests of operators about rollouts: to the deploy that runs one, which may be another process,
//! or to the record of a rollout that no process runs.

use super::command::{Operations, Staged};
use super::rollouts::rollout_view;
use super::stale_check::Purpose;
use crate::deploy::run::{Recorded, find_member, parse_rollout};
use crate::error::{EngineError, NotFound};
use crate::stage::change::Change;
use crate::stage::groups::{key_in, member_key};
use crate::stage::steps::has_effect;
use group::declared::{DeclaredGroup, declared_groups};
use group::rollout::{Event, Rollout, RolloutState, StepState};
use model::lock_owner::this_process;
use model::*;
use std::collections::BTreeSet;
use std::time::Duration;
use store::records::{RolloutRecord, RolloutRequestRecord};

/// Time limit for the answer of a running deploy.
const ANSWER_DEADLINE: Duration = Duration::from_secs(20);
/// Interval of looks for the answer.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Reasons why a request about a rollout is refused.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("group {0:?} has no rollout; stage a change and deploy it")]
    NoRollout(String),
    /// The deploy that runs it refused.
    #[error("deploy #{deploy} refused to {verb} the rollout of group {group:?}: {why}")]
    Refused {
        deploy: DeployId,
        verb: &'static str,
        group: String,
        why: String,
    },
    #[error(
        "deploy #{0} did not answer within {ANSWER_DEADLINE:?}, and the request is withdrawn; see if its process is stopped"
    )]
    NoAnswer(DeployId),
    /// The record of the rollout does not allow it.
    #[error("group {group:?}: {why}")]
    NotPossible { group: String, why: String },
}

impl From<RequestError> for EngineError {
    fn from(error: RequestError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Makes a request about the newest rollout of a group. A deploy that runs it answers;
    /// otherwise the request changes the record. A resume without a running deploy needs a new
    /// stage.
    pub async fn request_rollout(
        &self,
        group: &str,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<RolloutAnswer, EngineError> {
        let (record, _) = self.newest_record(group).await?;
        match self.running_deploys().await?.contains(&record.deploy) {
            true => self.ask_deploy(&record, verb, member).await,
            false if verb == RolloutVerb::Resume => self.check_resume(group).await,
            false => self.change_record(group, verb, member).await,
        }
    }

    /// Newest rollout of a group.
    async fn newest_record(&self, group: &str) -> Result<(RolloutRecord, Rollout), EngineError> {
        let newest = self.memory.store().rollouts(Some(group.to_owned()), 1);
        let newest = newest.await?.into_iter().next();
        let found = newest.and_then(|record| {
            let rollout = parse_rollout(&record)?;
            Some((record, rollout))
        });
        match found {
            Some(found) => Ok(found),
            None if self.groups().await?.iter().any(|g| g.group == group) => {
                Err(RequestError::NoRollout(group.to_owned()).into())
            }
            None => Err(NotFound::Group(group.to_owned()).into()),
        }
    }

    /// Sends a request to the deploy that runs the rollout, and waits for its answer.
    async fn ask_deploy(
        &self,
        record: &RolloutRecord,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<RolloutAnswer, EngineError> {
        let store = self.memory.store();
        let request = RolloutRequestRecord {
            id: 0,
            rollout: record.id.unwrap_or_default(),
            verb: verb.label().to_owned(),
            member: member.map(str::to_owned),
            who: this_process("request").who,
            requested: now_ms(),
            answered: None,
            refusal: None,
        };
        let id = store.put_rollout_request(request).await?;
        self.rollout_requests.notify_one();
        let deadline = tokio::time::Instant::now() + ANSWER_DEADLINE;
        let answer = loop {
            let answer = store.rollout_request(id).await?;
            if let Some(answer) = answer.filter(|answer| answer.answered.is_some()) {
                break answer;
            }
            let now = tokio::time::Instant::now();
            // One that was taken is answered soon, unless its process has ended.
            if now > deadline
                && (store.withdraw_rollout_request(id).await? || now > deadline + ANSWER_DEADLINE)
            {
                return Err(RequestError::NoAnswer(record.deploy).into());
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        };
        if let Some(why) = answer.refusal {
            let (deploy, verb, group) = (record.deploy, verb.label(), record.name.clone());
            return Err(RequestError::Refused {
                deploy,
                verb,
                group,
                why,
            }
            .into());
        }
        let (now, rollout) = self.newest_record(&record.name).await?;
        Ok(RolloutAnswer {
            rollout: rollout_view(&now, &rollout),
            deploy: Some(record.deploy),
            stage: None,
        })
    }

    /// Changes the record of a rollout that no process runs.
    async fn change_record(
        &self,
        group: &str,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<RolloutAnswer, EngineError> {
        // Another process that begins to deploy meanwhile would not see the change.
        let command = self.begin().await.with_workspace_lock(verb.label()).await?;
        let changed = self.change_locked(group, verb, member).await;
        command.release().await;
        changed
    }

    async fn change_locked(
        &self,
        group: &str,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<RolloutAnswer, EngineError> {
        let (record, rollout) = self.newest_record(group).await?;
        let not_possible = |why: String| RequestError::NotPossible {
            group: group.to_owned(),
            why,
        };
        let member = || find_member(&rollout, member.unwrap_or_default()).map_err(not_possible);
        let event = match verb {
            RolloutVerb::Pause => Event::Pause,
            RolloutVerb::Resume => Event::Resume,
            RolloutVerb::Abort => Event::Abort,
            RolloutVerb::Supersede => Event::NewCommit,
            RolloutVerb::RollBack => Event::RollBack,
            RolloutVerb::Skip => Event::SkipMember { member: member()? },
            RolloutVerb::Retry => Event::RetryLater { member: member()? },
        };
        let store = self.memory.store().clone();
        if let Some(recorded) = Recorded::of_record(store, &record) {
            recorded.apply(event).await.map_err(not_possible)?;
        }
        let (record, rollout) = self.newest_record(group).await?;
        Ok(RolloutAnswer {
            rollout: rollout_view(&record, &rollout),
            deploy: None,
            stage: None,
        })
    }

    /// Checks that a rollout without a process can be resumed by a new stage.
    async fn check_resume(&self, group: &str) -> Result<RolloutAnswer, EngineError> {
        let (record, mut rollout) = self.newest_record(group).await?;
        // Its flightdeck may have ended without a chance to record the pause.
        drop(rollout.handle(Event::Interrupted, record.updated));
        let resumed = rollout.clone().handle(Event::Resume, now_ms());
        resumed.map_err(|error| RequestError::NotPossible {
            group: group.to_owned(),
            why: error.to_string(),
        })?;
        let view = self.groups().await?.into_iter().find(|g| g.group == group);
        let again: BTreeSet<String> = rollout.replaced_again().map(ToString::to_string).collect();
        let members = view.map(|group| group.members).unwrap_or_default();
        let replaced = members
            .into_iter()
            .filter(|member| again.contains(&member.key));
        let replaced = replaced.map(|member| member.address);
        Ok(RolloutAnswer {
            rollout: rollout_view(&record, &rollout),
            deploy: None,
            stage: Some(replaced.collect()),
        })
    }

    /// Selects the changes of a stage that resume the rollout of a group: those of its resources,
    /// without skipped members.
    pub async fn select_resumed(
        &self,
        stage: StageId,
        group: &str,
    ) -> Result<ResumeSelection, EngineError> {
        let staged = self.load_stage(stage, Purpose::Display).await?;
        let declared = self.group_of_stage(&staged, group).await?;
        let (_, rollout) = self.newest_record(group).await?;
        let is_skipped = |change: &&Change| is_skipped(&declared, &rollout, change);
        let all = || staged.stage.changes.iter().filter(|c| has_effect(c));
        let of_group = || all().filter(|change| is_of_group(&declared, change));
        let skipped: Vec<String> = of_group().filter(is_skipped).map(Change::id).collect();
        let wanted = of_group().filter(|change| !is_skipped(change));
        let wanted: Vec<String> = wanted.map(Change::id).collect();
        let only = Select::Only(wanted.clone());
        let mut selection = self.select(stage, only).await?;
        // What needs all members takes the skipped ones with it, because it is replaced around
        // them. It stays as it is, and the other members change without it.
        if skipped.iter().any(|id| selection.taken.contains(id)) {
            let leave = Select::Many {
                take: false,
                addresses: skipped.clone(),
            };
            selection = self.select(stage, leave).await?;
            selection.left.retain(|id| !wanted.contains(id));
            selection.taken.extend(wanted);
            selection.taken.sort();
            selection.taken.dedup();
            self.store_selection(stage, &selection).await?;
        }
        let others = all().count() - selection.taken.len();
        Ok(ResumeSelection {
            group: group.to_owned(),
            others: others.saturating_sub(skipped.len()),
            selected: selection.taken,
            skipped,
        })
    }

    /// Returns a group of the stage's configuration, or a committed one with the resources of its
    /// files.
    async fn group_of_stage(
        &self,
        staged: &Staged,
        name: &str,
    ) -> Result<DeclaredGroup, EngineError> {
        let (mut declared, _) = declared_groups(&staged.root);
        for newest in self.newest_commits().await? {
            let mut group = newest.declared();
            group.dedicated = newest.resources();
            declared.push(group);
        }
        let found = declared.into_iter().find(|group| &*group.name == name);
        Ok(found.ok_or_else(|| NotFound::Group(name.to_owned()))?)
    }
}

/// Returns true if a change belongs to a resource of the group.
fn is_of_group(group: &DeclaredGroup, change: &Change) -> bool {
    let resource = change.address.config();
    let mut others = group.dedicated.iter().chain(&group.global);
    key_in(group, change).is_some() || others.any(|of_group| *of_group == resource)
}

/// Returns true if an operator skipped the member in an unfinished rollout.
fn is_skipped(group: &DeclaredGroup, rollout: &Rollout, change: &Change) -> bool {
    let key = key_in(group, change).unwrap_or_else(|| member_key(&change.address));
    let step = rollout.step(&key);
    let is_open = rollout.state() != RolloutState::Converged;
    is_open && step.is_some_and(|step| step.state == StepState::Skipped)
}
