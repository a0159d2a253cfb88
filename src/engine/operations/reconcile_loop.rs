//! Reconcile loop: runs each group at its interval, in one process of the workspace at a time. The
//! store's lock lease decides which one leads.

use super::command::Operations;
use super::error::WorkError;
use super::reconciling::{RunEnd, mode_text};
use crate::error::{EngineError, NotFound};
use group::declared::{ReconcilePolicy, declared_groups};
use group::drift::Mode;
use group::leader::{Candidate, LeaderAction, Leadership, LockLease, Observation};
use lang::config::OWN_EXTENSION;
use model::lock_owner::this_process;
use model::mutex::lock;
use model::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::records::LeaderLease;
use tokio_util::sync::CancellationToken;
use workspace::load::Loaded;

/// Duration of the leader's lock lease.
const LEASE: Duration = Duration::from_secs(15);
/// Interval between two polls of the lock lease.
const POLL: Duration = Duration::from_secs(3);
/// Interval between two reads of the configuration without a run.
const RELOAD_MS: UnixMs = 30_000;
/// Longest pause after a run that found the workspace locked.
const LOCKED_MS: UnixMs = 30_000;
/// Longest wait of a console for the first run of a group.
const FIRST_RUN_MS: UnixMs = 60_000;

/// Leadership of this process.
#[derive(Debug)]
pub(super) struct Lead {
    /// Fencing token.
    pub(super) token: u64,
    /// Cancelled when the leadership is lost.
    pub(super) lost: CancellationToken,
}

/// Group or look with its policy.
struct Scheduled {
    policy: ReconcilePolicy,
    next: UnixMs,
}

struct ReconcileLoop<'o> {
    operations: &'o Operations,
    options: ReconcileOptions,
    candidate: Candidate,
    lead: Option<Lead>,
    groups: BTreeMap<String, Scheduled>,
    loaded: UnixMs,
    /// Reported problem of the configuration.
    problem: Option<String>,
}

impl Operations {
    /// Runs the reconcile loop until this engine ends, or once for each group.
    ///
    /// # Errors
    /// The engine is read-only, a group is not declared, or the store fails; with `once`, also an
    /// invalid configuration, or another leader; with `at_once`, a cancelled run.
    pub async fn reconcile(&self, options: ReconcileOptions) -> Result<(), EngineError> {
        if !self.settings.access.can_write() {
            return Err(WorkError::ReadOnly.into());
        }
        let owner = owner();
        let mut looping = ReconcileLoop {
            operations: self,
            candidate: Candidate::new(&owner, LEASE),
            lead: None,
            groups: BTreeMap::new(),
            loaded: 0,
            problem: None,
            options,
        };
        let result = looping.run().await;
        // Also after an error, so that another process can lead without a wait.
        self.resign().await;
        result
    }

    /// Runs the reconcile loop of a console.
    pub async fn reconcile_until_shutdown(self: Arc<Self>) {
        if let Err(error) = self.reconcile(ReconcileOptions::default()).await {
            tracing::warn!(%error, "the reconcile loop has ended");
        }
    }

    /// Releases the lock lease of the leader, if this process has it.
    pub(super) async fn resign(&self) {
        let Some(owner) = lock(&self.leads_as).take() else {
            return;
        };
        let store = self.memory.store();
        let Ok(Some(lease)) = store.leader().await else {
            return;
        };
        // Another process may lead since the lease has expired, and must keep it.
        if lease.owner == owner {
            let released = LeaderLease {
                owner: String::new(),
                expires: 0,
                ..lease.clone()
            };
            // Without a release, the lease ends by itself.
            drop(store.swap_leader(Some(lease), released).await);
        }
    }

    /// Reconcile loop of a group, as declared and as recorded.
    pub(super) async fn reconcile_view(
        &self,
        name: &str,
        policy: Option<&ReconcilePolicy>,
    ) -> Result<ReconcileView, EngineError> {
        let store = self.memory.store();
        let lease = store.leader().await?;
        // The owner of an expired lease does not lead any more.
        let lease = lease.filter(|lease| !lease.owner.is_empty() && lease.expires > now_ms());
        let runs = store.reconcile_runs(name, 1).await?;
        let policy = policy.cloned().unwrap_or_default();
        Ok(ReconcileView {
            mode: mode_text(policy.mode).to_owned(),
            every_s: policy.every.as_secs(),
            run: runs.into_iter().next(),
            leader: lease.map(|lease| lease.owner),
        })
    }
}

impl ReconcileLoop<'_> {
    async fn run(&mut self) -> Result<(), EngineError> {
        self.check_names().await?;
        // Ends with the engine, or after one run of each group.
        loop {
            if let Err(error) = self.schedule().await {
                self.configuration_failed(error)?;
            }
            // Without groups no process needs to lead, and nothing is written to the store.
            if !self.groups.is_empty() {
                self.poll_leader().await;
            }
            self.run_due().await?;
            if self.options.once {
                return self.end_once();
            }
            tokio::select! { biased;
                () = self.operations.shutdown.cancelled() => return Ok(()),
                () = tokio::time::sleep(self.pause()) => {}
            }
        }
    }

    async fn check_names(&self) -> Result<(), EngineError> {
        if self.options.groups.is_empty() {
            return Ok(());
        }
        let request = self.operations.backend_request();
        let loaded = self.operations.read_with(&request, true).await?;
        let committed = self.operations.committed_groups().await?;
        let exists = |name: &str| {
            let mut committed = committed.iter();
            loaded.root.groups.contains_key(name) || committed.any(|group| &*group.name == name)
        };
        let mut names = self.options.groups.iter();
        match names.find(|name| !exists(name)) {
            Some(name) => Err(NotFound::Group(name.clone()).into()),
            None => Ok(()),
        }
    }

    /// Reads the declared groups, if the last read is old.
    async fn schedule(&mut self) -> Result<(), EngineError> {
        let now = now_ms();
        // A clock that was set back must not put off the next run: the schedule is made again.
        let is_new = (0..RELOAD_MS).contains(&(now - self.loaded));
        if is_new && !self.is_due(now) {
            return Ok(());
        }
        // Set before the read, so that a configuration with errors is not read at each poll.
        self.loaded = now;
        let mut declared = self.operations.committed_groups().await?;
        let mut looks = BTreeMap::new();
        let all = self.options.at_once || self.options.once;
        let has_files = self.has_group_files().await;
        let user = self.operations.settings.types.as_deref();
        // A console looks at objects outside of groups only if files may ask for it. Most
        // workspaces have neither such files nor groups, and need no read of the configuration.
        let may_look = all || has_files || user.is_some_and(Path::is_dir);
        if may_look {
            let loaded = self.configuration().await?;
            // A group of the configuration comes last, because it replaces a committed one of its
            // name.
            declared.extend(declared_groups(&loaded.root).0);
            if self.options.groups.is_empty() {
                looks = self.operations.scheduled_looks(&loaded, all).await?;
            }
        }
        let policies = declared
            .into_iter()
            .map(|d| (d.name.to_string(), d.reconcile));
        let mut groups = BTreeMap::new();
        for (name, policy) in policies.chain(looks) {
            // A later declaration replaces an earlier one, also if it pauses the group.
            groups.remove(&name);
            let wanted = self.options.groups.is_empty() || self.options.groups.contains(&name);
            if !wanted || policy.mode == Mode::Paused {
                continue;
            }
            let next = self.next_run(&name, &policy, now).await?;
            groups.insert(name, Scheduled { policy, next });
        }
        self.groups = groups;
        self.problem = None;
        Ok(())
    }

    /// Reads the configuration. Its errors are those of the loop, and its warnings are not shown.
    async fn configuration(&self) -> Result<Loaded, EngineError> {
        let request = self.operations.backend_request();
        match self.operations.load(&request, true).await? {
            Ok((loaded, _)) => Ok(loaded),
            Err((sources, diags)) => {
                let secrets = self.operations.pool.secrets();
                let diags = crate::diagnostics::convert_all(diags.iter(), &sources, secrets);
                Err(EngineError::Diagnostics(diags))
            }
        }
    }

    /// Returns true if files of the workspace may declare groups.
    async fn has_group_files(&self) -> bool {
        let dir = self.operations.settings.workspace.clone();
        let search = move || {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().ends_with(OWN_EXTENSION))
        };
        // A search that failed must not hide groups.
        tokio::task::spawn_blocking(search).await.unwrap_or(true)
    }

    /// Time of the next run of a group, from this loop or from an earlier one.
    async fn next_run(
        &self,
        name: &str,
        policy: &ReconcilePolicy,
        now: UnixMs,
    ) -> Result<UnixMs, EngineError> {
        let every = milliseconds(self.options.every.unwrap_or(policy.every));
        // A shorter interval applies at once.
        let latest = now.saturating_add(every * i64::from(100 + policy.jitter) / 100);
        if let Some(known) = self.groups.get(name) {
            return Ok(known.next.min(latest));
        }
        if self.options.at_once || self.options.once {
            return Ok(now);
        }
        // The last run is recorded, so that a restart does not run all groups at once.
        let store = self.operations.memory.store();
        let last = store.reconcile_runs(name, 1).await?.into_iter().next();
        Ok(match last {
            Some(run) => run.next.clamp(now, latest),
            None => now.saturating_add(every.min(FIRST_RUN_MS)),
        })
    }

    /// Reports an invalid configuration once; the loop continues with the groups that it knows.
    fn configuration_failed(&mut self, error: EngineError) -> Result<(), EngineError> {
        if self.options.once {
            return Err(error);
        }
        let text = format!("the reconcile loop cannot read the configuration: {error}");
        if self.problem.as_ref() != Some(&text) {
            // A console reports these errors itself.
            if self.options.at_once {
                let text = text.clone();
                self.operations.bus.emit(EventKind::Notice { text });
            }
            self.problem = Some(text);
        }
        Ok(())
    }

    fn is_due(&self, now: UnixMs) -> bool {
        self.groups.values().any(|group| group.next <= now)
    }

    /// Runs the groups that are due, while this process leads.
    async fn run_due(&mut self) -> Result<(), EngineError> {
        let now = now_ms();
        let due = self.groups.iter().filter(|(_, group)| group.next <= now);
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            // Taken out, because the run borrows it while `poll_leader` changes the loop.
            let Some(lead) = self.lead.take() else {
                return Ok(());
            };
            let mode = self
                .groups
                .get(&name)
                .map_or(Mode::Observe, |g| g.policy.mode);
            let (mut run, end) = self.run_as_leader(&name, mode, &lead).await;
            if !lead.lost.is_cancelled() {
                self.lead = Some(lead);
            }
            let Some(group) = self.groups.get_mut(&name) else {
                continue;
            };
            let every = self.options.every.unwrap_or(group.policy.every);
            if matches!(end, RunEnd::Locked | RunEnd::Postponed) {
                let pause = milliseconds(every).min(LOCKED_MS);
                group.next = now_ms().saturating_add(pause);
                if matches!(end, RunEnd::Postponed) {
                    continue;
                }
                let reason = run.reason.clone().unwrap_or_default();
                let text = format!(
                    "{}: {reason}; next attempt in {} s",
                    run.subject(),
                    pause / 1_000
                );
                self.operations.bus.emit(EventKind::Notice { text });
                continue;
            }
            // A further run finds the repairs that still need an approval.
            let again = run.outcome == ReconcileOutcome::Repaired
                && run
                    .drift
                    .iter()
                    .any(|drift| drift.response == "ask_approval");
            group.next = match again {
                true => now_ms(),
                false => now_ms().saturating_add(jittered(every, group.policy.jitter)),
            };
            run.next = group.next;
            let stored = self
                .operations
                .memory
                .store()
                .put_reconcile_run(run.clone());
            stored.await?;
            self.operations.bus.emit(EventKind::Reconcile(run));
            // In a console the operator cancels the run, and not the loop.
            if matches!(end, RunEnd::Cancelled) && self.options.at_once {
                return Err(EngineError::Cancelled);
            }
        }
        Ok(())
    }

    /// Runs one group, and keeps the lock lease meanwhile. If it is lost, the run starts nothing
    /// more.
    async fn run_as_leader(
        &mut self,
        name: &str,
        mode: Mode,
        lead: &Lead,
    ) -> (ReconcileRun, RunEnd) {
        let operations = self.operations;
        let mut run = std::pin::pin!(operations.reconcile_group(name, mode, lead));
        loop {
            tokio::select! { biased;
                done = &mut run => return done,
                () = tokio::time::sleep(POLL) => self.poll_leader().await,
            }
            let token = match self.candidate.leadership() {
                Leadership::Leader { token } => Some(*token),
                Leadership::NotLeader { .. } | Leadership::Unknown => None,
            };
            // A different token means that the lease was lost, even if it is held again.
            if token != Some(lead.token) {
                lead.lost.cancel();
            }
        }
    }

    /// Reads the lock lease, and acquires or renews it.
    async fn poll_leader(&mut self) {
        let store = self.operations.memory.store();
        // A second poll tells if an acquisition succeeded.
        for _ in 0..2 {
            let observed = store.leader().await;
            let observation = observation(&observed);
            let observed = observed.ok().flatten();
            let mut acquired = false;
            for action in self.candidate.poll(&observation, now_ms()) {
                match action {
                    LeaderAction::StepDown => {
                        if let Some(lead) = self.lead.take() {
                            lead.lost.cancel();
                        }
                        lock(&self.operations.leads_as).take();
                    }
                    LeaderAction::Acquire(next) => {
                        let swapped = store.swap_leader(observed.clone(), record(&next));
                        acquired = swapped.await.unwrap_or(false);
                    }
                    LeaderAction::Renew(next) => {
                        // If it failed, the next poll tells who leads.
                        drop(store.swap_leader(observed.clone(), record(&next)).await);
                    }
                    LeaderAction::Lead => self.lead(),
                }
            }
            if !acquired {
                break;
            }
        }
        self.show_leader();
    }

    fn lead(&mut self) {
        if let Leadership::Leader { token } = self.candidate.leadership() {
            self.lead = Some(Lead {
                token: *token,
                lost: CancellationToken::new(),
            });
            *lock(&self.operations.leads_as) = Some(self.candidate.owner().to_owned());
        }
    }

    fn show_leader(&self) {
        let (owner, ours) = match self.candidate.leadership() {
            Leadership::Leader { .. } => (Some(self.candidate.owner().to_owned()), true),
            Leadership::NotLeader { owner } => (owner.clone(), false),
            Leadership::Unknown => (None, false),
        };
        let bus = &self.operations.bus;
        // An event at each poll would only repeat the last one.
        if bus.with_view(|view| view.leader != owner || view.leader_is_ours != ours) {
            bus.emit(EventKind::ReconcileLeader { owner, ours });
        }
    }

    /// Ends a loop that runs each group once.
    fn end_once(&self) -> Result<(), EngineError> {
        match self.candidate.leadership() {
            Leadership::Leader { .. } => Ok(()),
            _ if self.groups.is_empty() => Ok(()),
            Leadership::NotLeader { owner: Some(owner) } => {
                Err(WorkError::Led(owner.clone()).into())
            }
            Leadership::NotLeader { owner: None } | Leadership::Unknown => {
                Err(WorkError::NoLeader.into())
            }
        }
    }

    /// Time until something is to be done.
    fn pause(&self) -> Duration {
        let next = self.groups.values().map(|group| group.next).min();
        let left = next.map(|next| next.saturating_sub(now_ms()).max(1));
        let left = left.and_then(|left| u64::try_from(left).ok());
        match left {
            // Only the leader has something to do before the next poll of the lease.
            Some(left) if self.lead.is_some() => POLL.min(Duration::from_millis(left)),
            _ => POLL,
        }
    }
}

/// Text of this process as the leader, which no other start of it has.
fn owner() -> String {
    let process = this_process("");
    // Systems use the ids of ended processes again, so that a random part is needed.
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!(
        "pid {} on {} ({}, {})",
        process.pid,
        process.host,
        process.who,
        &id[..8]
    )
}

fn observation(observed: &Result<Option<LeaderLease>, store::StoreError>) -> Observation {
    let token = |token: i64| u64::try_from(token).unwrap_or_default();
    match observed {
        // A store that cannot be read must not count as a free lease.
        Err(_) => Observation::Unknown,
        Ok(None) => Observation::Free { token: 0 },
        // A released lease keeps its token, because tokens must grow with each leader.
        Ok(Some(lease)) if lease.owner.is_empty() => Observation::Free {
            token: token(lease.token),
        },
        Ok(Some(lease)) => Observation::Held(LockLease {
            owner: lease.owner.clone(),
            token: token(lease.token),
            expires: lease.expires,
        }),
    }
}

fn record(lease: &LockLease) -> LeaderLease {
    LeaderLease {
        owner: lease.owner.clone(),
        token: i64::try_from(lease.token).unwrap_or(i64::MAX),
        expires: lease.expires,
    }
}

pub(super) fn milliseconds(duration: Duration) -> UnixMs {
    // The fallback leaves room for calculations, which would overflow otherwise.
    UnixMs::try_from(duration.as_millis()).unwrap_or(UnixMs::MAX / 1_000)
}

/// Returns the interval with a random deviation of at most `jitter` percent, so that many
/// workspaces do not call their providers at the same moment.
fn jittered(every: Duration, jitter: u32) -> UnixMs {
    let every = milliseconds(every);
    let spread = every / 100 * i64::from(jitter.min(100));
    let random = i64::from(uuid::Uuid::new_v4().as_fields().0);
    every - spread + random % (2 * spread + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_deviates_by_its_percentage_at_most() {
        let every = Duration::from_secs(100);
        let all: Vec<UnixMs> = (0..200).map(|_| jittered(every, 20)).collect();
        assert!(
            all.iter().all(|ms| (80_000..=120_000).contains(ms)),
            "{all:?}"
        );
        assert!(all.iter().any(|ms| *ms != all[0]), "all are equal");
        assert_eq!(jittered(every, 0), 100_000);
    }

    #[test]
    fn released_lease_is_free_and_keeps_its_token() {
        let lease = |owner: &str| {
            Ok(Some(LeaderLease {
                owner: owner.to_owned(),
                token: 7,
                expires: 9,
            }))
        };
        assert_eq!(observation(&lease("")), Observation::Free { token: 7 });
        assert!(matches!(observation(&lease("pid 1")), Observation::Held(_)));
        assert_eq!(observation(&Ok(None)), Observation::Free { token: 0 });
        assert_eq!(
            observation(&Err(store::StoreError::Closed)),
            Observation::Unknown
        );
    }
}
