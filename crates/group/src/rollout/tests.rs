//! Scenarios of rollouts: a line is an event and the actions that follow.

use super::*;
use crate::policy::{DrainPolicy, HealthPolicy};

fn key(text: &str) -> MemberKey {
    MemberKey::name(text)
}

fn keys(text: &str) -> Vec<MemberKey> {
    text.split_whitespace().map(key).collect()
}

fn plan(shrink: &str, batches: &[&str], grow: &str) -> RolloutPlan {
    RolloutPlan {
        shrink: keys(shrink),
        batches: batches.iter().map(|batch| keys(batch)).collect(),
        grow: keys(grow),
        this_machine: None,
        ..RolloutPlan::default()
    }
}

/// Policy with drain and health.
fn full() -> UpdatePolicy {
    UpdatePolicy {
        drain: Some(DrainPolicy {
            timeout: Duration::from_secs(60),
        }),
        health: Some(HealthPolicy::default()),
        ..UpdatePolicy::default()
    }
}

fn rollout(plan: &RolloutPlan, policy: &UpdatePolicy) -> Rollout {
    Rollout::new(plan, policy, ConfigHash::from_text("new-hash"), 0)
}

/// Parses an event: `start`, `began 0`, `done a`, `fail a`, `skip a`, `healthy`, …
fn event(text: &str) -> Event {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let member = key(rest);
    match word {
        "start" => Event::Start,
        "began" => Event::BatchBegan {
            batch: rest.parse().unwrap(),
        },
        "done" => Event::Done { member },
        "fail" => Event::Failed {
            member,
            reason: "boom".to_owned(),
        },
        "healthy" => Event::BatchHealthy,
        "unhealthy" => Event::Unhealthy {
            reason: "boom".to_owned(),
            members: rest
                .split_whitespace()
                .map(|word| (key(word), format!("boom of {word}")))
                .collect(),
        },
        "pause" => Event::Pause,
        "resume" => Event::Resume,
        "abort" => Event::Abort,
        "skip" => Event::SkipMember { member },
        "retry" => Event::RetryMember { member },
        "later" => Event::RetryLater { member },
        "held" => Event::NotBegun { member },
        "interrupted" => Event::Interrupted,
        "took-place" => Event::Examined { member, done: true },
        "not-done" => Event::Examined {
            member,
            done: false,
        },
        "commit" => Event::NewCommit,
        "rollback" => Event::RollBack,
        other => panic!("{other}"),
    }
}

/// Writes actions: `begin 0`, `drain a`, `await a b`, `examine a`, `stop`, `finished`.
fn text(next: &[Next]) -> String {
    let one = |next: &Next| match next {
        Next::BeginBatch { batch, pause } if pause.is_zero() => format!("begin {batch}"),
        Next::BeginBatch { batch, pause } => format!("begin {batch} after {}s", pause.as_secs()),
        Next::Act { member, action } => format!("{action:?} {member}").to_lowercase(),
        Next::AwaitHealth { members } => {
            let members: Vec<String> = members.iter().map(MemberKey::to_string).collect();
            format!("await {}", members.join(" "))
        }
        Next::Examine { member, .. } => format!("examine {member}"),
        Next::Stop => "stop".to_owned(),
        Next::Finished => "finished".to_owned(),
    };
    next.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Runs a script such as `start -> begin 0; began 0 -> drain a`: events with the actions that
/// follow. An error is written `!` with a part of its text.
fn run(rollout: &mut Rollout, script: &str) {
    for (line, now) in script.split("; ").zip(1..) {
        let (given, expected) = line.split_once(" ->").unwrap();
        let found = match rollout.handle(event(given), now) {
            Ok(next) => text(&next),
            Err(error) => format!("! {error}"),
        };
        let expected = expected.trim();
        match expected.strip_prefix("! ") {
            Some(part) => assert!(
                found.starts_with("! ") && found.contains(part),
                "{line}: {found}"
            ),
            None => assert_eq!(found, expected, "{line}"),
        }
    }
}

fn states(rollout: &Rollout) -> String {
    let one = |step: &Step| format!("{}:{:?}", step.member, step.state);
    rollout
        .steps()
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// InfraKit: RollingUpdate, UpdateCompletes.
#[test]
fn batches_drain_change_and_wait_one_after_another() {
    let mut rollout = rollout(
        &plan("", &["a", "b"], ""),
        &UpdatePolicy {
            pause_between: Duration::from_secs(30),
            ..full()
        },
    );
    // The health of all new members counts.
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> drain a; done a -> replace a; done a -> await a; \
         healthy -> begin 1 after 30s; began 1 -> drain b; done b -> replace b; \
         done b -> await a b; healthy -> finished",
    );
    assert_eq!(rollout.state(), RolloutState::Converged);
    assert_eq!(states(&rollout), "a:done b:done");
    let drained = &rollout.steps()[0].records[0];
    assert_eq!((drained.started, drained.ended), (2, Some(3)));
    let seen: Vec<String> = rollout
        .transitions()
        .iter()
        .map(|t| t.state.to_string())
        .collect();
    assert_eq!(
        seen.join(", "),
        "planned, running, waiting for health, running, waiting for health, running, converged"
    );
}

/// InfraKit: RollAndAdjustScale, RollingUpdateNoDrain.
#[test]
fn group_shrinks_before_it_rolls_and_grows_after() {
    let policy = UpdatePolicy {
        max_parallel: 2,
        // Only between batches of the rolling update.
        pause_between: Duration::from_secs(30),
        ..UpdatePolicy::default()
    };
    let mut rollout = rollout(&plan("x", &["a b"], "c d e"), &policy);
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> destroy x; done x -> begin 1; \
         began 1 -> replace a, replace b; done b ->; done a -> begin 2; \
         began 2 -> create c, create d; done c ->; done d -> begin 3; began 3 -> create e; \
         done e -> finished",
    );
    assert_eq!(rollout.progress(), (6, 6));
}

/// InfraKit: NoopUpdate.
#[test]
fn rollout_without_members_converges_at_once() {
    let mut rollout = rollout(&plan("", &[], ""), &full());
    run(
        &mut rollout,
        "start -> finished; pause -> ! the rollout is converged",
    );
}

#[test]
fn surge_creates_before_it_destroys() {
    let policy = UpdatePolicy {
        surge: true,
        ..full()
    };
    let mut rollout = rollout(&plan("", &["a"], ""), &policy);
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> create a; done a -> await a; healthy -> drain a; \
         done a -> destroy a; done a -> finished",
    );
}

/// InfraKit: LeaderSelfRollingUpdate.
#[test]
fn this_machine_is_drained_and_never_destroyed() {
    let plan = RolloutPlan {
        this_machine: Some(key("a")),
        ..plan("", &["b", "a"], "")
    };
    let mut with_drain = rollout(&plan, &full());
    run(
        &mut with_drain,
        "start -> begin 0; began 0 -> drain b; done b -> replace b; done b -> await b; \
         healthy -> begin 1; began 1 -> drain a; done a -> finished",
    );
    assert_eq!(states(&with_drain), "b:done a:left");
}

/// InfraKit: RollingUpdateDestroyError. One member is replaced, two are drained, the third is
/// untouched.
#[test]
fn failed_change_stops_the_rollout_with_the_rest_untouched() {
    let mut rollout = rollout(&plan("", &["a", "b", "c"], ""), &full());
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> drain a; done a -> replace a; done a -> await a; \
         healthy -> begin 1; began 1 -> drain b; done b -> replace b; fail b -> stop; \
         resume -> ! retry or skip it first. Possible: resume, skip member",
    );
    assert_eq!(rollout.state(), RolloutState::Paused(PauseReason::Failed));
    assert_eq!(rollout.reason(), Some("change of b failed: boom"));
    assert_eq!(states(&rollout), "a:done b:failed(replace) c:pending");
    assert!(rollout.step(&key("c")).unwrap().records.is_empty());
    let mut skipped = rollout.clone();
    run(&mut skipped, "skip b ->; resume -> begin 2");
    // The retry repeats the failed action alone.
    run(&mut rollout, "retry b -> replace b; done b -> await a b");
}

/// A failed drain aborts a rolling update, and only warns at a removal.
#[test]
fn failed_drain_aborts_a_rolling_update_only() {
    let mut rolling = rollout(&plan("", &["a", "b"], ""), &full());
    run(
        &mut rolling,
        "start -> begin 0; began 0 -> drain a; fail a -> stop",
    );
    assert_eq!(rolling.state(), RolloutState::Aborted);
    assert_eq!(rolling.reason(), Some("drain of a failed: boom"));
    let mut removal = rollout(&plan("a", &[], ""), &full());
    run(
        &mut removal,
        "start -> begin 0; began 0 -> drain a; fail a -> destroy a; done a -> finished",
    );
    let step = &removal.steps()[0];
    assert_eq!(step.note.as_deref(), Some("drain failed: boom"));
    assert_eq!(step.records[0].failure.as_deref(), Some("boom"));
}

#[test]
fn policy_decides_about_an_unhealthy_batch() {
    let to_health = "start -> begin 0; began 0 -> drain a; done a -> replace a; done a -> await a";
    let policy = |on_unhealthy| UpdatePolicy {
        on_unhealthy,
        ..full()
    };
    let start = |on_unhealthy| {
        let mut rollout = rollout(&plan("", &["a", "b"], ""), &policy(on_unhealthy));
        run(&mut rollout, to_health);
        rollout
    };
    let mut paused = start(OnUnhealthy::Pause);
    run(
        &mut paused,
        "unhealthy a -> stop; healthy -> ! the rollout is paused (unhealthy)",
    );
    assert_eq!(paused.reason(), Some("batch 1 is unhealthy: boom"));
    run(&mut paused.clone(), "resume -> await a; healthy -> begin 1");
    run(
        &mut paused.clone(),
        "retry a -> replace a; done a -> await a",
    );
    run(&mut paused, "skip a ->; resume -> begin 1");

    let mut aborted = start(OnUnhealthy::Abort);
    run(
        &mut aborted,
        "unhealthy -> stop; resume -> ! the rollout is aborted. Stage again",
    );
    assert_eq!(states(&aborted), "a:pending b:pending");

    let mut continued = start(OnUnhealthy::Continue);
    // The unhealthy member is not awaited again.
    run(
        &mut continued,
        "unhealthy -> begin 1; retry a -> ! its batch is over; began 1 -> drain b; \
         done b -> replace b; done b -> await b; healthy -> finished",
    );
    assert_eq!(states(&continued), "a:unhealthy b:done");

    // Only the member that failed its last check is unhealthy.
    let mut both = rollout(&plan("", &["a b"], ""), &policy(OnUnhealthy::Continue));
    run(
        &mut both,
        "start -> begin 0; began 0 -> drain a, drain b; done a -> replace a; done b -> replace b; \
         done a ->; done b -> await a b; unhealthy b -> finished",
    );
    assert_eq!(states(&both), "a:done b:unhealthy");
}

#[test]
fn members_have_their_own_last_health_failure() {
    let mut rollout = rollout(&plan("", &["a", "b c"], ""), &full());
    let notes = |rollout: &Rollout| -> Vec<Option<String>> {
        rollout.steps().iter().map(|s| s.note.clone()).collect()
    };
    let boom = |member: &str| Some(format!("boom of {member}"));
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> drain a; done a -> replace a; done a -> await a; \
         healthy -> begin 1; began 1 -> drain b, drain c; done b -> replace b; \
         done c -> replace c; done b ->; done c -> await a b c; unhealthy a b -> stop",
    );
    assert_eq!(notes(&rollout), [boom("a"), boom("b"), None]);
    run(&mut rollout, "resume -> await a b c; unhealthy c -> stop");
    assert_eq!(notes(&rollout), [None, None, boom("c")]);
    run(&mut rollout, "resume -> await a b c; healthy -> finished");
    assert_eq!(notes(&rollout), [None, None, None]);
}

/// InfraKit: FreeGroupWhileConverging: a wait can be stopped at any time.
#[test]
fn operator_pauses_resumes_and_aborts() {
    let mut rollout = rollout(&plan("", &["a", "b"], ""), &full());
    // The action in progress ends, and nothing begins.
    run(
        &mut rollout,
        "resume -> ! the rollout is planned. Possible: start, skip member, abort; \
         start -> begin 0; start -> ! the rollout is running. Possible: pause; pause -> stop; \
         began 0 -> ! the rollout is paused (by operator); resume -> begin 0; began 0 -> drain a; \
         began 0 -> ! batch 1 is in progress; skip a -> ! an action on it is in progress; \
         pause -> stop; done a ->; resume -> replace a; done a -> await a; pause -> stop; \
         resume -> await a; skip b ->; healthy -> finished; abort -> ! the rollout is converged",
    );
    assert_eq!(states(&rollout), "a:done b:skipped");
}

#[test]
fn restart_pauses_and_never_resumes_by_itself() {
    let mut rollout = rollout(&plan("", &["a b"], ""), &full());
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> drain a, drain b; done a -> replace a; interrupted -> stop",
    );
    assert_eq!(
        rollout.state(),
        RolloutState::Paused(PauseReason::Interrupted)
    );
    assert_eq!(states(&rollout), "a:unknown(replace) b:unknown(drain)");
    let stored = serde_json::to_string(&rollout).unwrap();
    let mut rollout: Rollout = serde_json::from_str(&stored).unwrap();
    // What took place is not repeated, what did not is.
    run(
        &mut rollout,
        "interrupted ->; done a -> ! no action on a is in progress; \
         skip a -> ! resume to examine it; resume -> examine a, examine b; took-place a ->; \
         not-done b -> drain b; done b -> replace b; done b -> await a b; healthy -> finished",
    );
}

/// A retry lets the rollout run, so that it asks for interrupted actions like a resume.
#[test]
fn retry_after_a_restart_examines_the_other_members() {
    let mut rollout = rollout(&plan("", &["a b"], ""), &UpdatePolicy::default());
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> replace a, replace b; fail a -> stop; interrupted ->; \
         retry a -> examine b, replace a; done a ->; took-place b -> finished",
    );
}

#[test]
fn interrupted_before_the_start_stays_planned() {
    let mut rollout = rollout(&plan("", &["a"], ""), &full());
    run(&mut rollout, "interrupted ->; start -> begin 0");
}

/// InfraKit: FlavorChange, InstanceAndFlavorChange during an update.
#[test]
fn new_commit_stops_the_running_rollout_first() {
    let mut rollout = rollout(&plan("", &["a", "b"], ""), &full());
    // The action in progress is recorded; nothing follows.
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> drain a; commit -> stop; done a ->; commit ->; \
         resume -> ! the rollout is aborted",
    );
    let reason = Some("another configuration was committed");
    assert_eq!(rollout.reason(), reason);
    assert_eq!(rollout.to().as_str(), "new-hash");
}

#[test]
fn rollback_ends_an_unfinished_rollout() {
    let mut running = rollout(&plan("", &["a", "b"], ""), &full());
    run(
        &mut running,
        "start -> begin 0; began 0 -> drain a; rollback -> stop; done a ->; rollback ->; \
         start -> ! the rollout is rolled back",
    );
    let reason = Some("the configuration before it was committed again");
    assert_eq!(running.reason(), reason);
    let mut paused = rollout(&plan("", &["a", "b"], ""), &full());
    run(
        &mut paused,
        "start -> begin 0; began 0 -> drain a; pause -> stop; rollback -> stop; \
         resume -> ! the rollout is rolled back",
    );
    assert_eq!(paused.state(), RolloutState::RolledBack);
    let mut converged = rollout(&plan("", &["a"], ""), &UpdatePolicy::default());
    run(
        &mut converged,
        "start -> begin 0; began 0 -> replace a; done a -> finished; rollback ->",
    );
    assert_eq!(converged.state(), RolloutState::Converged);
}

#[test]
fn batch_of_skipped_members_is_passed() {
    let mut rollout = rollout(&plan("", &["a", "b", "c"], ""), &full());
    run(
        &mut rollout,
        "skip a ->; skip z -> ! the rollout has no member z; start -> begin 1; skip b -> begin 2; \
         began 1 -> ! batch 3 is next; retry c -> ! nothing of it failed; began 2 -> drain c",
    );
}

/// The begin of a batch is requested once, and a pause ends only for a member of its batch.
#[test]
fn choice_about_a_later_member_changes_nothing_now() {
    let mut rollout = rollout(&plan("", &["a b", "c"], ""), &full());
    run(
        &mut rollout,
        "start -> begin 0; skip a ->; retry a ->; skip c ->; retry c ->; \
         began 0 -> drain a, drain b; done a -> replace a; done b -> replace b; fail a -> stop; \
         skip c ->; retry c ->",
    );
    assert_eq!(rollout.state(), RolloutState::Paused(PauseReason::Failed));
}

#[test]
fn action_that_has_not_begun_can_be_skipped_while_paused() {
    let mut rollout = rollout(&plan("", &["a b", "c"], ""), &UpdatePolicy::default());
    run(
        &mut rollout,
        "start -> begin 0; began 0 -> replace a, replace b; \
         held b -> ! the rollout is running; pause -> stop; skip b -> ! an action on it is in progress; held b ->; done a ->; skip b ->; \
         resume -> begin 1",
    );
    assert_eq!(states(&rollout), "a:done b:skipped c:pending");
    assert!(rollout.step(&key("b")).unwrap().records.is_empty());
}

#[test]
fn later_retry_of_a_paused_rollout_starts_nothing() {
    let mut failed = rollout(&plan("", &["a", "b"], ""), &full());
    run(
        &mut failed,
        "start -> begin 0; later a -> ! the rollout is running; began 0 -> drain a; \
         done a -> replace a; fail a -> stop; later b -> ! nothing of it failed; later a ->",
    );
    assert_eq!(failed.state(), RolloutState::Paused(PauseReason::Failed));
    assert_eq!(states(&failed), "a:pending b:pending");
    // The failed change was none, so that the next stage has it in any case.
    assert_eq!(failed.replaced_again().count(), 0);
    let mut unhealthy = rollout(&plan("", &["a", "b"], ""), &full());
    run(
        &mut unhealthy,
        "start -> begin 0; began 0 -> drain a; done a -> replace a; done a -> await a; \
         unhealthy a -> stop; later a ->",
    );
    let again: Vec<&MemberKey> = unhealthy.replaced_again().collect();
    assert_eq!(again, [&key("a")]);
}
