//! One run of the reconcile loop for a group: finds the drift, and repairs what the group's policy
//! allows.

use super::command::{Operations, Staged, Switches};
use super::enforced_commands;
use super::reconcile_loop::Lead;
use crate::error::{EngineError, NotFound};
use crate::stage::change::Stage;
use crate::stage::drift::{DriftedMember, group_drift};
use crate::stage::select::{references, select_only};
use crate::stage::show;
use group::declared::{DeclaredGroup, declared_groups};
use group::drift::{Drift, Mode, Response, response};
use group::leader::is_current;
use group::rollout::RolloutState;
use model::mutex::lock;
use model::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::StoreError;
use trust::commands::{CommandError, CommandTrust, NamedBy};
use trust::words::Word;

/// End of a run.
pub(super) enum RunEnd {
    Finished,
    /// The operator has cancelled the run.
    Cancelled,
    /// Another process has the workspace lock, so nothing was looked at.
    Locked,
    /// A command of this process has cancelled the look at objects.
    Postponed,
}

/// Drift with the responses of the loop.
pub(super) struct Findings {
    /// Name of the run.
    pub(super) name: String,
    pub(super) staged: Staged,
    pub(super) summary: StageSummary,
    /// Mode in effect.
    pub(super) mode: Mode,
    /// Reason why less is done than the policy says.
    pub(super) reason: Option<String>,
    pub(super) drift: Vec<(DriftedMember, Response)>,
}

impl Operations {
    /// Reconciles a group once. Failures are part of the run.
    pub(super) async fn reconcile_group(
        &self,
        name: &str,
        mode: Mode,
        lead: &Lead,
    ) -> (ReconcileRun, RunEnd) {
        let mut run = ReconcileRun::new(name, mode_text(Mode::Observe));
        if is_look(name) && mode != Mode::Enforce {
            let end = self.look(name, &mut run).await;
            return (run, end);
        }
        let result = Box::pin(self.reconcile_unlocked(name, lead, &mut run)).await;
        let end = match &result {
            Err(EngineError::Cancelled) if !lead.lost.is_cancelled() => RunEnd::Cancelled,
            Err(EngineError::Locked(_)) => RunEnd::Locked,
            _ => RunEnd::Finished,
        };
        if let Err(error) = result {
            run.outcome = ReconcileOutcome::Failed;
            run.reason = Some(error_text(&error));
        }
        (run, end)
    }

    async fn reconcile_unlocked(
        &self,
        name: &str,
        lead: &Lead,
        run: &mut ReconcileRun,
    ) -> Result<(), EngineError> {
        let quiet = self.quiet();
        let request = StageRequest {
            target: self.resources_to_watch(&quiet, name).await?,
            ..self.backend_request()
        };
        let command = self.begin_on_state(&request, "reconcile").await?;
        let (stop, lock_lost) = (command.stop.clone(), command.lock_lost.clone());
        let result = {
            let work = self.reconcile_locked(&quiet, name, request, lead, &command, run);
            let mut work = std::pin::pin!(work);
            tokio::select! { biased;
                done = &mut work => done,
                () = lead.lost.cancelled() => {
                    // Running operations finish, and nothing more is started.
                    drop(lock_lost.set(self.lost_reason().await));
                    stop.cancel();
                    work.await
                }
            }
        };
        command.finish().await;
        result
    }

    /// Addresses of the resources that a run of a group reads.
    async fn resources_to_watch(
        &self,
        quiet: &Self,
        name: &str,
    ) -> Result<Vec<String>, EngineError> {
        let loaded = quiet.read(&self.backend_request()).await?;
        if is_look(name) {
            let overlays = quiet.parsed_overlays(&loaded);
            return self.resources_of_look(name, &loaded.root, &overlays).await;
        }
        if let Some(group) = loaded.root.groups.get(name) {
            let resources = std::iter::once(&group.instance).chain(&group.dedicated);
            return Ok(resources.map(|r| r.address.to_string()).collect());
        }
        let newest = self.committed_group(name).await?;
        let state = self.state().await?;
        let of_members = newest.committed.addresses();
        // Instances that the configuration has no longer, but the state still has.
        let current = state.objects.iter().map(|object| &object.address);
        let former = current.filter(|address| of_members.contains_key(*address));
        let declared = newest.resources();
        let declared = declared.iter().map(ToString::to_string);
        let all: BTreeSet<String> = declared.chain(former.cloned()).collect();
        Ok(all.into_iter().collect())
    }

    async fn reconcile_locked(
        &self,
        quiet: &Self,
        name: &str,
        request: StageRequest,
        lead: &Lead,
        switches: &Switches,
        run: &mut ReconcileRun,
    ) -> Result<(), EngineError> {
        self.refuse_former_leader(lead).await?;
        let staged = quiet.plan(0, request, switches).await?;
        self.observe_reads(&staged.stage, "reconcile").await;
        let found = self.findings(name, staged).await?;
        run.mode = mode_text(found.mode).to_owned();
        run.reason.clone_from(&found.reason);
        run.drift = found.drift.iter().map(view).collect();
        run.outcome = match run.drift.is_empty() {
            true => ReconcileOutcome::InSync,
            false => ReconcileOutcome::Drifted,
        };
        let (repairs, approvals) = found.changes();
        if !repairs.is_empty() {
            return self
                .repair(quiet, found, repairs, lead, switches, run)
                .await;
        }
        if !approvals.is_empty() {
            run.stage = Some(self.ask_approval(quiet, found, &approvals).await?);
            run.outcome = ReconcileOutcome::AwaitsApproval;
        }
        Ok(())
    }

    /// Checks under the workspace lock that no later leader has begun.
    async fn refuse_former_leader(&self, lead: &Lead) -> Result<(), EngineError> {
        let lease = self.memory.store().leader().await?.unwrap_or_default();
        let highest = u64::try_from(lease.token).unwrap_or(u64::MAX);
        match !lead.lost.is_cancelled() && is_current(lead.token, highest) {
            true => Ok(()),
            false => Err(StoreError::NotLeader { owner: lease.owner }.into()),
        }
    }

    /// Reason for the end of a run whose process leads no longer.
    async fn lost_reason(&self) -> String {
        let lease = self.memory.store().leader().await;
        let owner = lease.ok().flatten().map(|lease| lease.owner);
        let owner = owner.unwrap_or_default();
        StoreError::NotLeader { owner }.to_string()
    }

    /// Finds the drift in a stage, and the responses to it.
    async fn findings(&self, name: &str, staged: Staged) -> Result<Findings, EngineError> {
        if is_look(name) {
            let mut found = self.findings_of_look(name, staged).await?;
            found.ask_about_others();
            return Ok(found);
        }
        let (declared, orphans) = match staged.root.groups.contains_key(name) {
            true => (self.native_group(name, &staged)?, Vec::new()),
            false => {
                let newest = self.committed_group(name).await?;
                let directory = self.group_directory(name).await?;
                (newest.declared(), newest.orphans(&directory))
            }
        };
        let reason = match declared.reconcile.mode {
            Mode::Enforce => self.obstacle(&declared, &staged).await?,
            Mode::Observe | Mode::Paused => None,
        };
        let mode = match reason {
            Some(_) => Mode::Observe,
            None => declared.reconcile.mode,
        };
        let summary = show::redacted_summary(&staged.stage, self.pool.secrets());
        let drift = group_drift(&declared, &staged.stage, &summary, &orphans);
        let allow_replace = declared.reconcile.allow_replace;
        let drift = drift.into_iter().map(|found| {
            let repair = found.drift.repair(found.replaces);
            let repair = repair.filter(|_| !found.changes.is_empty());
            let response = response(mode, repair, allow_replace);
            (found, response)
        });
        let mut found = Findings {
            drift: drift.collect(),
            name: name.to_owned(),
            staged,
            summary,
            mode,
            reason,
        };
        found.ask_about_others();
        Ok(found)
    }

    /// A group of the configuration, with its policies.
    fn native_group(&self, name: &str, staged: &Staged) -> Result<DeclaredGroup, EngineError> {
        let (groups, diags) = declared_groups(&staged.root);
        let declared = groups.into_iter().find(|group| &*group.name == name);
        declared.ok_or_else(|| {
            let sources = &staged.loaded.sources;
            let secrets = self.pool.secrets();
            let diags = crate::diagnostics::convert_all(diags.iter(), sources, secrets);
            EngineError::Diagnostics(diags)
        })
    }

    /// Reason why the loop repairs nothing, although the group says `enforce`.
    async fn obstacle(
        &self,
        declared: &DeclaredGroup,
        staged: &Staged,
    ) -> Result<Option<String>, EngineError> {
        let name = declared.name.to_string();
        let ended_early = [RolloutState::Aborted, RolloutState::RolledBack];
        let ended_early = ended_early.map(|state| state.to_string());
        if let Some(rollout) = self.newest_rollout(&name).await?
            && (rollout.state.starts_with("paused") || ended_early.contains(&rollout.state))
        {
            return Ok(Some(format!(
                "rollout #{} is {}, so nothing is repaired before you decide: correct the cause and deploy",
                rollout.rollout, rollout.state
            )));
        }
        let group = staged.root.groups.get(&declared.name);
        let source = group.and_then(|group| staged.loaded.sources.get(group.span.file));
        let file = match &source {
            Some(source) => source.name.to_string(),
            // The store, which has the specification, may come with a clone.
            None => format!("the committed specification of {name}"),
        };
        // Otherwise a later version could put other resources under the decision. A commit, which
        // gives the resources of its group new names, is made by its operator.
        let others = declared.dedicated.iter().chain(&declared.global);
        let resources = [&declared.instance].into_iter().chain(others);
        let resources: Vec<String> = resources.map(ToString::to_string).collect();
        let subject = match source {
            Some(_) => format!("group {name} of {}", resources.join(", ")),
            None => format!("group {name}"),
        };
        Ok(self.untrusted(&subject, &file, declared.reconcile.allow_replace, staged))
    }

    /// Reason why the mode `enforce` of a file of the workspace has no effect.
    pub(super) fn untrusted(
        &self,
        subject: &str,
        file: &str,
        allow_replace: bool,
        staged: &Staged,
    ) -> Option<String> {
        let trust = CommandTrust::new(&staged.root.dir, |name| std::env::var(name).ok());
        let mut text = format!("reconcile {subject}: enforce, allow_replace = {allow_replace}");
        let commands = enforced_commands::of_stage(staged);
        let secrets = self.pool.secrets();
        for command in &commands {
            text.push_str(&format!("; {}", secrets.redact(&command.text)));
        }
        if let Some(open) = commands.iter().find(|command| command.is_open) {
            return Some(format!(
                "a value of an object could choose what a command runs, so it is not run without a look at it: {}; pass the value in its `environment`, or deploy the changes yourself",
                secrets.redact(&open.text)
            ));
        }
        let words = commands
            .iter()
            .map(|command| (&command.words[..], &*command.dir));
        let words: Vec<(&[Word], &Path)> = words.collect();
        let named_by = NamedBy::Workspace(Path::new(file));
        let trusted = trust.check_setting(&text, &words, named_by);
        trusted.err().map(|error| match error {
            CommandError::Untrusted { .. } => format!(
                "the mode \"enforce\" in {file} needs your trust, because it belongs to the workspace: run `flightdeck reconcile --trust-workspace` once; {text}"
            ),
            other => other.to_string(),
        })
    }

    /// Deploys the changes of these members.
    async fn repair(
        &self,
        quiet: &Self,
        found: Findings,
        repairs: BTreeSet<String>,
        lead: &Lead,
        switches: &Switches,
        run: &mut ReconcileRun,
    ) -> Result<(), EngineError> {
        let staged = self.stored(quiet, found, &repairs).await?;
        let changes = staged.stage.changes.iter().enumerate();
        let selected: BTreeSet<usize> = changes
            .filter(|(_, change)| repairs.contains(&change.id()))
            .map(|(index, _)| index)
            .collect();
        self.report_unknown().await?;
        let parallelism = self.settings.parallelism;
        let token = i64::try_from(lead.token).ok();
        let deployed = self
            .deploy_staged(staged, selected, parallelism, token, switches)
            .await?;
        run.deploy = Some(deployed.deploy);
        run.outcome = match deployed.outcome {
            DeployOutcome::Succeeded => ReconcileOutcome::Repaired,
            DeployOutcome::Cancelled
                if !lead.lost.is_cancelled() && switches.lock_lost.get().is_none() =>
            {
                return Err(EngineError::Cancelled);
            }
            outcome => {
                let label = outcome.label();
                run.reason = Some(match switches.lock_lost.get() {
                    Some(lost) => format!("deploy #{}: {label}: {lost}", deployed.deploy),
                    None => format!("deploy #{}: {label}", deployed.deploy),
                });
                ReconcileOutcome::Failed
            }
        };
        Ok(())
    }

    /// Stores a stage of the changes that need an approval, unless the last one is the same.
    async fn ask_approval(
        &self,
        quiet: &Self,
        found: Findings,
        approvals: &BTreeSet<String>,
    ) -> Result<StageId, EngineError> {
        let store = self.memory.store();
        let last = store.reconcile_runs(&found.name, 1).await?;
        if let Some(id) = last.first().and_then(|run| run.stage)
            && let Some(record) = store.stage(id).await?
        {
            let stage = &found.staged.stage;
            let selected = |c: &&ChangeView| approvals.contains(&c.address);
            let shown = record.summary.read::<StageSummary>().ok();
            let same = shown.is_some_and(|shown| {
                let before = shown.changes.iter().filter(selected);
                before.eq(found.summary.changes.iter().filter(selected))
            });
            if same
                && record.state_serial == stage.state_serial
                && record.config_digest == stage.digests.config
                && store
                    .history(1)
                    .await?
                    .first()
                    .is_none_or(|d| d.stage != id)
            {
                return Ok(id);
            }
        }
        let staged = self.stored(quiet, found, approvals).await?;
        Ok(staged.stage.id)
    }

    /// Stores the stage of a run, with only these changes selected.
    async fn stored(
        &self,
        quiet: &Self,
        found: Findings,
        selected: &BTreeSet<String>,
    ) -> Result<Arc<Staged>, EngineError> {
        let mut staged = found.staged;
        let mut stage = Arc::unwrap_or_clone(staged.stage);
        stage.id = self.memory.store().next_stage_id().await?;
        let ids = stage.changes.iter().filter(|c| c.action() != Action::NoOp);
        let left = ids.map(|change| change.id());
        stage.deselected = left.filter(|id| !selected.contains(id)).collect();
        staged.stage = Arc::new(stage);
        quiet.store_stage(staged, None).await?;
        let stored = lock(&quiet.newest).clone();
        stored.ok_or_else(|| NotFound::AnyStage.into())
    }
}

impl Findings {
    /// Asks for an approval of repairs that would change other resources, too.
    fn ask_about_others(&mut self) {
        let (repairs, _) = self.changes();
        let changes = references(&self.staged.stage);
        let is_closed = |ids: &BTreeSet<String>| {
            let only: Vec<String> = ids.iter().cloned().collect();
            let selection = select_only(&changes, &only);
            selection.is_ok_and(|s| s.taken.iter().all(|id| repairs.contains(id)))
        };
        // Usually no repair needs another resource, and one question settles it.
        if repairs.is_empty() || is_closed(&repairs) {
            return;
        }
        for (found, response) in &mut self.drift {
            if *response == Response::Repair && !is_closed(&ids(&self.staged.stage, found)) {
                *response = Response::AskApproval;
            }
        }
    }

    /// Ids of the changes to make, and of those that need an approval.
    fn changes(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let with = |wanted: Response| {
            let drift = self.drift.iter().filter(move |(_, is)| *is == wanted);
            drift.flat_map(|(found, _)| ids(&self.staged.stage, found))
        };
        (
            with(Response::Repair).collect(),
            with(Response::AskApproval).collect(),
        )
    }
}

/// Ids of the changes that repair a member.
fn ids(stage: &Stage, found: &DriftedMember) -> BTreeSet<String> {
    let changes = found.changes.iter();
    changes.map(|index| stage.changes[*index].id()).collect()
}

/// Text of an error, with the detail of its first diagnostic.
pub(super) fn error_text(error: &EngineError) -> String {
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    match error.diagnostics().iter().find(is_error) {
        Some(first) if !first.detail.is_empty() => format!("{}: {}", first.summary, first.detail),
        _ => error.to_string(),
    }
}

/// Name of a mode in the configuration.
pub(super) fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::Enforce => "enforce",
        Mode::Paused => "paused",
    }
}

fn view((found, response): &(DriftedMember, Response)) -> MemberDrift {
    let (kind, member, attributes) = match &found.drift {
        Drift::Missing { member } => ("missing", member.to_string(), &[][..]),
        Drift::OutdatedHash { member } => ("outdated_hash", member.to_string(), &[][..]),
        Drift::UnknownMember { member } => ("unknown_member", member.to_string(), &[][..]),
        Drift::AttributeDrift { member, attributes } => {
            ("attribute_drift", member.to_string(), &attributes[..])
        }
        Drift::OrphanedAttachment { set } => ("orphaned_attachment", set.clone(), &[][..]),
    };
    MemberDrift {
        kind: kind.to_owned(),
        member,
        attributes: attributes.to_vec(),
        response: match response {
            Response::Ignore => "ignore",
            Response::Report => "report",
            Response::Repair => "repair",
            Response::AskApproval => "ask_approval",
        }
        .to_owned(),
    }
}
