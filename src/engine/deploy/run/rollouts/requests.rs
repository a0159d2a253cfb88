//! Requests of operators about rollouts of the running deploy. They come through the store, because
//! the operator may use another process.

use super::{RunningRollout, goes_on};
use crate::deploy::run::deploying::Deploying;
use crate::stage::steps::{Steps, Task};
use graph::Step;
use group::MemberKey;
use group::rollout::{Event, PauseReason, Rollout, RolloutState, StepState};
use model::mutex::lock;
use model::{RolloutVerb, now_ms};
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::records::RolloutRequestRecord;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Interval of looks for requests of other processes.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Permission to begin an action on a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// An operator has skipped the member; the rollout continues without its change.
    Skip,
    /// The rollout has stopped.
    Closed,
}

impl Deploying {
    /// Answers requests until the walk over the steps is `done`.
    pub(in crate::deploy::run) async fn serve_requests(&self, done: &CancellationToken) {
        if self.rollouts.groups.is_empty() {
            return;
        }
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = done.cancelled() => return,
                _ = looks.tick() => {}
                () = self.rollouts.requests.stored.notified() => {}
            }
            self.answer_requests().await;
        }
    }

    /// Answers all open requests.
    pub(super) async fn answer_requests(&self) {
        for running in &self.rollouts.groups {
            for request in self.open_requests(running).await {
                let refusal = self.obey(running, &request).await.err();
                self.answer(&request, refusal).await;
            }
        }
    }

    /// Refuses the requests that the end of the deploy leaves open.
    pub(in crate::deploy::run) async fn refuse_requests(&self) {
        for running in &self.rollouts.groups {
            for request in self.open_requests(running).await {
                let refusal = "the deploy has ended; run the command again".to_owned();
                self.answer(&request, Some(refusal)).await;
            }
        }
    }

    /// Takes the open requests about a rollout.
    async fn open_requests(&self, running: &RunningRollout) -> Vec<RolloutRequestRecord> {
        let Some(id) = running.recorded.stored_id().await else {
            return Vec::new();
        };
        let store = running.recorded.store();
        let mut taken = Vec::new();
        // Without an answer the operator's command reports its deadline.
        for request in store.open_rollout_requests(id).await.unwrap_or_default() {
            let took = store.take_rollout_request(request.id, now_ms()).await;
            if took.unwrap_or_default() {
                taken.push(request);
            }
        }
        taken
    }

    async fn answer(&self, request: &RolloutRequestRecord, refusal: Option<String>) {
        let Some(running) = self.rollouts.groups.first() else {
            return;
        };
        let store = running.recorded.store();
        let answered = store.answer_rollout_request(request.id, now_ms(), refusal);
        if let Err(error) = answered.await {
            tracing::warn!(%error, "failed to answer a request about a rollout");
        }
    }

    /// Applies a request.
    ///
    /// # Errors
    /// The reason of the refusal.
    async fn obey(
        &self,
        running: &RunningRollout,
        request: &RolloutRequestRecord,
    ) -> Result<(), String> {
        let verb = RolloutVerb::parse(&request.verb);
        let verb = verb.ok_or("this flightdeck does not know the request")?;
        let mut refusal = None;
        let choose = |rollout: &Rollout| {
            let event = self.event(running, rollout, verb, request.member.as_deref());
            event.map_err(|why| refusal = Some(why)).ok()
        };
        let recorder = &self.recorder;
        running.recorded.handle_if(choose, recorder).await?;
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let who = &request.who;
        let key = request.member.as_deref().unwrap_or_default();
        match verb {
            RolloutVerb::Abort => {
                let text = format!("{who} aborted the rollout; the other members are unchanged");
                self.report(running, None, &text, false);
            }
            RolloutVerb::Supersede => {
                let text = format!("{who} committed another configuration of the group");
                self.report(running, None, &text, false);
            }
            RolloutVerb::RollBack => {
                let text = format!("{who} rolled back the group to the configuration before");
                self.report(running, None, &text, false);
            }
            RolloutVerb::Skip => {
                let text = format!("{who} skipped the member {key}");
                self.report(running, None, &text, true);
            }
            RolloutVerb::Pause | RolloutVerb::Resume | RolloutVerb::Retry => {}
        }
        Ok(())
    }

    /// Chooses the event of a request.
    fn event(
        &self,
        running: &RunningRollout,
        rollout: &Rollout,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<Event, String> {
        let ends = running.given_up.load(Ordering::Relaxed);
        let later = "this deploy is ending; run the command again when it has ended";
        Ok(match verb {
            RolloutVerb::Pause => Event::Pause,
            RolloutVerb::Abort => Event::Abort,
            RolloutVerb::Supersede => Event::NewCommit,
            RolloutVerb::RollBack => Event::RollBack,
            RolloutVerb::Resume => match rollout.state() {
                RolloutState::Paused(PauseReason::ByOperator) if !ends => Event::Resume,
                RolloutState::Paused(_) => return Err(later.to_owned()),
                _ => Event::Resume,
            },
            RolloutVerb::Skip | RolloutVerb::Retry => {
                let member = find_member(rollout, member.unwrap_or_default())?;
                let step = rollout.step(&member);
                let state = step.map(|step| step.state);
                // The operation of a failed change has ended, and nothing of the batch follows it.
                if matches!(state, Some(StepState::Failed(_))) {
                    return Err(format!(
                        "the change of {member} failed, and this deploy does not repeat it; run the command again when it has ended"
                    ));
                }
                if ends {
                    return Err(later.to_owned());
                }
                match verb {
                    RolloutVerb::Skip => Event::SkipMember { member },
                    _ if lock(&running.passed).contains(&member) => {
                        return Err(format!(
                            "this deploy has passed over {member}; run the command again when it has ended"
                        ));
                    }
                    _ if state == Some(StepState::Skipped) => Event::RetryMember { member },
                    // The replacement that it would need is not approved.
                    _ if step.is_some_and(group::rollout::Step::has_changed) => {
                        return Err(format!(
                            "the change of {member} succeeded, and to replace it needs a new stage; cancel the deploy, and run the command again when it has ended"
                        ));
                    }
                    _ => {
                        return Err(format!(
                            "no change of {member} failed; while the deploy runs, only a skipped member can be retried"
                        ));
                    }
                }
            }
        })
    }

    /// Waits while an operator pauses the rollout. Returns true if it goes on.
    pub(super) async fn may_go_on(&self, running: &RunningRollout) -> bool {
        let mut states = running.recorded.states();
        let stopping = &self.scheduler.stops().starting;
        loop {
            let state = *states.borrow_and_update();
            if state != RolloutState::Paused(PauseReason::ByOperator) {
                return goes_on(state);
            }
            let (since, failed) = running.recorded.read(paused_since).await;
            let paused = Duration::from_millis(u64::try_from(now_ms() - since).unwrap_or(0));
            let rest = self.rollouts.requests.longest_pause.checked_sub(paused);
            // Nothing can follow a failed change in this deploy.
            let Some(rest) = rest.filter(|_| !failed && !stopping.is_cancelled()) else {
                self.give_up(running, failed || stopping.is_cancelled());
                return false;
            };
            tokio::select! {
                changed = states.changed() => if changed.is_err() { return false },
                () = stopping.cancelled() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Ends the deploy without the rest of a paused rollout.
    fn give_up(&self, running: &RunningRollout, has_other_reason: bool) {
        if running.given_up.swap(true, Ordering::Relaxed) || has_other_reason {
            return;
        }
        let limit = self.rollouts.requests.longest_pause;
        let name = &running.group.declared.name;
        let text = format!(
            "the rollout was paused for {limit:?}, so that the deploy ends without the rest; run `flightdeck group resume {name}` to continue"
        );
        self.report(running, None, &text, false);
    }

    /// Waits until an action on a member may begin.
    pub(super) async fn gate(&self, running: &RunningRollout, member: usize) -> Gate {
        loop {
            let look = |rollout: &Rollout| self.look(running, rollout, member);
            let (gate, begun) = running.recorded.read(look).await;
            if gate != Gate::Closed {
                return gate;
            }
            if begun {
                let member = running.group.member(member).member.clone();
                let not_begun = |rollout: &Rollout| {
                    let step = rollout.step(&member)?;
                    let member = member.clone();
                    matches!(step.state, StepState::Running(_))
                        .then_some(Event::NotBegun { member })
                };
                let recorded = &running.recorded;
                // A failure to store it is reported by the next event.
                drop(recorded.handle_if(not_begun, &self.recorder).await);
            }
            if !self.may_go_on(running).await {
                return Gate::Closed;
            }
        }
    }

    /// Looks at the state of a member: its gate, and if the rollout records an action as begun.
    fn look(&self, running: &RunningRollout, rollout: &Rollout, member: usize) -> (Gate, bool) {
        let step = &rollout.steps()[member];
        if step.state == StepState::Skipped && !step.has_changed() {
            lock(&running.passed).insert(step.member.clone());
            return (Gate::Skip, false);
        }
        let gate = match goes_on(rollout.state()) {
            true => Gate::Open,
            false => Gate::Closed,
        };
        (gate, matches!(step.state, StepState::Running(_)))
    }

    /// Waits until the operation of a change may begin. Changes outside of rollouts always may.
    pub(in crate::deploy::run) async fn gate_of(&self, change: usize) -> Gate {
        match self.rollouts.member_of(change) {
            Some((running, member)) => self.gate(running, member).await,
            None => Gate::Open,
        }
    }

    /// Returns true if the operation of a change may not begin now.
    pub(in crate::deploy::run) fn is_held(&self, change: usize) -> bool {
        let member = self.rollouts.member_of(change);
        member.is_some_and(|(running, _)| !goes_on(*running.recorded.states().borrow()))
    }

    /// Returns true if this deploy has passed over a change, because its member is skipped.
    pub(in crate::deploy::run) fn is_passed(&self, change: usize) -> bool {
        let member = self.rollouts.member_of(change);
        member.is_some_and(|(running, member)| {
            lock(&running.passed).contains(&running.group.member(member).member)
        })
    }

    /// Passes over the skipped members that the second half of a replacement needs: without it the
    /// object would be destroyed, and not created again.
    pub(in crate::deploy::run) async fn pass_over_skipped(&self, steps: &Steps, step: Step) {
        let Some(second) = second_half(steps, step) else {
            return;
        };
        if !self.has_skipped().await {
            return;
        }
        for needed in steps
            .graph
            .closure_up_to([second], |step| orders(steps, step))
        {
            let (Task::Apply(change) | Task::Destroy(change)) = &steps.tasks[needed] else {
                continue;
            };
            if let Some((running, member)) = self.rollouts.member_of(*change) {
                let look = |rollout: &Rollout| self.look(running, rollout, member);
                running.recorded.read(look).await;
            }
        }
    }

    /// Returns true if an operator has skipped a member.
    async fn has_skipped(&self) -> bool {
        let is_skipped = |step: &group::rollout::Step| step.state == StepState::Skipped;
        for running in &self.rollouts.groups {
            let any = |rollout: &Rollout| rollout.steps().iter().any(is_skipped);
            if running.recorded.read(any).await {
                return true;
            }
        }
        false
    }

    /// Returns true if a step needs the change of a skipped member, other than by the order of its
    /// rollout.
    pub(in crate::deploy::run) fn needs_skipped(&self, steps: &Steps, step: Step) -> bool {
        let own = |step: Step| match &steps.tasks[step] {
            Task::Apply(change) | Task::Destroy(change) => self.is_passed(*change),
            _ => false,
        };
        let groups = &self.rollouts.groups;
        let any = groups
            .iter()
            .any(|running| !lock(&running.passed).is_empty());
        if !any || orders(steps, step) || own(step) {
            return false;
        }
        let halves = second_half(steps, step).into_iter().chain([step]);
        let closure = steps
            .graph
            .closure_up_to(halves, |step| orders(steps, step));
        closure.into_iter().any(own)
    }
}

/// Returns true for a step of a rollout.
fn orders(steps: &Steps, step: Step) -> bool {
    matches!(steps.tasks[step], Task::Rollout(..))
}

/// Returns the creation that follows a destroy.
fn second_half(steps: &Steps, step: Step) -> Option<Step> {
    let destroys = matches!(steps.tasks[step], Task::Destroy(_));
    steps.second_halves.get(&step).copied().filter(|_| destroys)
}

/// Time of the last change of the state, and if a change of a member has failed.
fn paused_since(rollout: &Rollout) -> (model::UnixMs, bool) {
    let since = rollout.transitions().last().map_or(0, |last| last.at);
    let mut steps = rollout.steps().iter();
    (
        since,
        steps.any(|step| matches!(step.state, StepState::Failed(_))),
    )
}

/// Finds a member by its key, as `web[2]`, `[2]` or `2`.
///
/// # Errors
/// The rollout has no such member; the text names the keys.
pub fn find_member(rollout: &Rollout, text: &str) -> Result<MemberKey, String> {
    let inner = match (text.find('['), text.strip_suffix(']')) {
        (Some(open), Some(text)) => &text[open + 1..],
        _ => text,
    };
    let name = inner.trim_matches('"');
    let mut steps = rollout.steps().iter();
    let found = steps.find(|step| step.member.to_string() == name);
    found.map(|step| step.member.clone()).ok_or_else(|| {
        let keys = rollout.steps().iter().map(|step| step.member.to_string());
        let keys: Vec<String> = keys.take(MAX_NAMED).collect();
        format!(
            "the rollout has no member {text}; its members are {}",
            keys.join(", ")
        )
    })
}

/// Members that an error names.
const MAX_NAMED: usize = 20;
