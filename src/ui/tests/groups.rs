//! Groups screen: members, the plan of the stage, and a rollout that it follows.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect, Subject};
use model::*;

fn console() -> Console {
    let mut c = Console::deploying(120, 40);
    c.press("8");
    assert_eq!(c.take_effects(), [Effect::LoadGroups]);
    c.shows("Loading…");
    c.answer(Answer::Groups(fixture::groups()));
    c
}

#[test]
fn members_are_shown_with_their_part_in_the_rollout() {
    let mut c = console();
    c.shows("groups · 2 · 5 members");
    let header = c.line("web  3 members");
    assert!(
        header.contains(" · ◐ waiting for health  ━━━━──────── batch 2/3"),
        "{header}"
    );
    assert!(header.ends_with("aws_instance.node"), "{header}");
    let member = c.line("  a  ");
    assert!(
        member.contains("✓ done") && member.contains("aws_ebs_volume.data[\"a\"]"),
        "{member}"
    );
    assert!(c.line("  b  ").contains("◐ changed"));
    assert!(c.line("  c  ").contains("· waiting"));
    assert!(c.line("workers  2").contains("■ paused (failed)"));
    let failed = c.line("  blue  ");
    assert!(
        failed.contains("✗ change failed") && failed.contains("QuotaExceeded"),
        "{failed}"
    );
    // The detail of the group has the rollout as a timeline.
    assert!(c.line("a  batch 1").contains("drain 4.0 s  change 4.8 s"));
    assert!(c.line("14:02:20").contains("◐ waiting for health  12 s"));
}

#[test]
fn screen_follows_a_rollout_and_loads_its_steps_once_at_a_time() {
    let mut c = console();
    c.event(fixture::progress("waiting for health", 2, None));
    assert_eq!(c.take_effects(), [Effect::LoadRollout("web".into())]);
    c.event(fixture::progress("waiting for health", 2, Some("●●○ 2/3")));
    let header = c.line("web  3");
    assert!(header.contains("waiting for health ●●○ 2/3"), "{header}");
    assert!(header.contains("batch 2/3 · 1 of 2 healthy"), "{header}");
    assert!(c.line("  b  ").contains("●●○ 2/3"));
    assert!(!c.line("  a  ").contains("2/3"));
    // A poll changes no step.
    assert_eq!(c.take_effects(), []);
    c.event(fixture::progress("running", 3, None));
    c.event(fixture::progress("waiting for health", 3, None));
    assert_eq!(c.take_effects(), []);
    let mut rollout = fixture::groups()[0].rollout.clone().unwrap();
    c.answer(Answer::Rollout(
        "web".into(),
        Some(Box::new(rollout.clone())),
    ));
    // It has changed since the request.
    assert_eq!(c.take_effects(), [Effect::LoadRollout("web".into())]);
    (rollout.batch, rollout.members[1].state) = (3, "done".into());
    rollout.members[2].state = "changed".into();
    c.answer(Answer::Rollout("web".into(), Some(Box::new(rollout))));
    assert_eq!(c.take_effects(), []);
    assert!(c.line("  b  ").contains("✓ done"));
    assert!(c.line("  c  ").contains("◐ changed"));
    c.event(fixture::progress("paused (unhealthy)", 3, None));
    assert!(c.line("web  3").contains("■ paused (unhealthy)"));
}

#[test]
fn unhealthy_member_is_named_and_the_next_keys_tell_when_they_act() {
    let mut c = console();
    c.event(fixture::progress("paused (unhealthy)", 2, None));
    let mut rollout = fixture::groups()[0].rollout.clone().unwrap();
    rollout.state = "paused (unhealthy)".into();
    rollout.members[1].note = Some("503 Service Unavailable".into());
    c.answer(Answer::Rollout("web".into(), Some(Box::new(rollout))));
    let member = c.line("  b  ");
    assert!(member.contains("✗ unhealthy"), "{member}");
    assert!(member.contains("503 Service Unavailable"), "{member}");
    assert!(c.line("b  batch 2").contains("  unhealthy  "));
    c.shows("■ rollout of web paused");
    c.shows("next, once deploy #31 has ended");
    c.shows("  p       resume: stages the rest for a review, and waits for health again");
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.hides("next, once");
    c.shows("  A       abort: ends the rollout");
}

#[test]
fn log_of_a_group_is_that_of_the_plugin_of_its_members() {
    let mut c = Console::staged(120, 40);
    let like = fixture::state_rows().remove(0);
    let row = StateRow {
        address: "aws_instance.node[\"a\"]".into(),
        provider: "provider[\"registry.terraform.io/hashicorp/aws\"]".into(),
        ..like
    };
    c.answer(Answer::State(vec![row]));
    c.press("8");
    c.answer(Answer::Groups(fixture::groups()));
    c.press("g l");
    assert_eq!(c.state.log.source.as_deref(), Some("hashicorp/aws"));
}

#[test]
fn failed_load_is_reported_and_can_be_repeated() {
    let mut c = Console::staged(120, 40);
    c.press("8");
    c.answer(Answer::Failed {
        what: Subject::Groups,
        text: "the configuration cannot be used".into(),
        diagnostics: Vec::new(),
    });
    c.shows("the configuration cannot be used; press r to read again");
    c.take_effects();
    c.press("r");
    assert_eq!(c.take_effects(), [Effect::LoadGroups]);
    c.answer(Answer::Groups(Vec::new()));
    c.shows("No groups. Declare one in a file");
}

#[test]
fn stage_tells_which_members_are_outdated_and_which_are_new() {
    let mut c = Console::staged(120, 40);
    let mut stage = StageSummary::clone(c.state.view.stage.as_ref().unwrap());
    let template = stage.changes[0].clone();
    let change = |key: &str, action| ChangeView {
        address: format!("aws_instance.node[{key:?}]"),
        previous_address: None,
        action,
        ..template.clone()
    };
    stage.at = fixture::NOW + 100_000;
    stage.changes = vec![
        change("a", Action::NoOp),
        change("b", Action::Replace),
        change("c", Action::Update),
        change("d", Action::Create),
    ];
    c.event(EventKind::Staged(stage.into()));
    c.press("8");
    c.answer(Answer::Groups(fixture::groups()));
    c.line("web  3 of 4 members · 2 outdated");
    assert!(c.line("  a  ").contains("✓ current"));
    assert!(c.line("  b  ").contains("-/+ to replace"));
    assert!(c.line("  c  ").contains("~ to update"));
    assert!(c.line("  d  ").contains("+ to create"));
}

#[test]
fn resumed_rollout_without_a_deploy_leads_to_its_stage() {
    let mut c = Console::staged(120, 40);
    c.press("8");
    c.answer(Answer::Groups(fixture::groups()));
    c.press("p");
    c.take_effects();
    c.press("G p");
    let resume = Effect::RequestRollout("workers".into(), RolloutVerb::Resume, None);
    assert_eq!(c.take_effects(), [resume]);
    let rollout = fixture::groups()[1].rollout.clone().unwrap();
    c.answer(Answer::RolloutRequested {
        rollout: Box::new(rollout),
        text: "stage #13 resumes the rollout of group workers: 2 changes; a applies them".into(),
        staged: true,
    });
    c.shows("stage #13 resumes the rollout of group workers");
    c.shows("[x]");
    c.press("8 g");
    let mut done = fixture::groups()[0].rollout.clone().unwrap();
    done.state = "converged".into();
    c.answer(Answer::Rollout("web".into(), Some(Box::new(done.clone()))));
    c.press("g p");
    c.shows("group-pause: the rollout is over: converged");
    c.press("g K");
    c.shows("group-skip: the rollout is over: converged");
    done.state = "rolled back".into();
    c.answer(Answer::Rollout("web".into(), Some(Box::new(done))));
    c.press("g p");
    c.shows("group-pause: the rollout is over: rolled back");
    c.shows("✗ rolled back");
}

#[test]
fn run_of_the_reconcile_loop_is_shown_with_its_drift_and_the_next_poll() {
    let mut c = Console::staged(120, 40);
    c.press("8");
    c.answer(Answer::Groups(fixture::groups()));
    c.press("g");
    c.shows("none, the loop does not run");
    c.event(EventKind::ReconcileLeader {
        owner: Some("ana@deck".into()),
        ours: true,
    });
    c.tick(100_000);
    c.event(EventKind::Reconcile(ReconcileRun {
        group: "web".into(),
        began: c.state.now,
        mode: "observe".into(),
        outcome: ReconcileOutcome::Drifted,
        drift: vec![MemberDrift {
            kind: "missing".into(),
            member: "b".into(),
            attributes: Vec::new(),
            response: "report".into(),
        }],
        stage: None,
        deploy: None,
        reason: None,
        next: c.state.now + 300_000,
    }));
    let header = c.line("web  3 members");
    assert!(
        header.contains("drift found: 1 missing · next poll in 5m00s"),
        "{header}"
    );
    assert!(c.line("  b  ").contains("✗ missing"));
    assert!(c.line("  a  ").contains("✓ done"));
    c.shows("observe, drift found: 1 missing (now)");
    c.shows("this console");
}

fn locked(holder: Option<&str>) -> EventKind {
    let holder = holder.map(|who| {
        let own = model::lock_owner::this_process("deploy");
        LockHolder {
            who: who.into(),
            ..own
        }
    });
    EventKind::Lock {
        holder,
        ours: false,
    }
}

#[test]
fn paused_rollout_names_the_keys_that_continue_it() {
    let mut c = Console::staged(120, 40);
    c.press("8");
    let mut groups = fixture::groups();
    let web = groups[0].rollout.as_mut().unwrap();
    web.state = "paused (unhealthy)".into();
    web.members[1].note = Some("503 Service Unavailable: GET http://127.0.0.1/ready".into());
    c.answer(Answer::Groups(groups));
    c.line("batch 2/3 · 1 of 2 healthy");
    // The keys act on the member that failed, so the cursor is on it.
    c.shows("─ web b  ✗ unhealthy ─");
    c.line("p       resume: stages the rest for a review, and waits for health again");
    c.line("K       skip: leaves member b unhealthy, then p");
    c.press("G");
    c.line("t       retry: changes member blue again, then p");
    c.line("p       resume: stages the rest for a review; first retry or skip");
    c.event(locked(Some("bob")));
    c.hides("first retry or skip");
}

#[test]
fn rollout_of_another_process_is_followed_until_its_lock_is_released() {
    let mut c = Console::staged(120, 40);
    c.press("8");
    c.answer(Answer::Groups(fixture::groups()));
    c.take_effects();
    c.tick(1_000);
    assert_eq!(c.take_effects(), []);
    c.event(locked(Some("bob")));
    c.tick(1_000);
    let load = |group: &str| Effect::LoadRollout(group.into());
    assert_eq!(c.take_effects(), [load("web"), load("workers")]);
    // A group is loaded once at a time.
    let mut rollout = fixture::groups()[1].rollout.clone().unwrap();
    rollout.state = "running".into();
    c.answer(Answer::Rollout("workers".into(), Some(Box::new(rollout))));
    c.line("workers  2 members · ◐ running");
    c.tick(1_000);
    assert_eq!(c.take_effects(), [load("workers")]);
    // The other process serves requests about it.
    c.press("G");
    c.press("p");
    let pause = Effect::RequestRollout("workers".into(), RolloutVerb::Pause, None);
    assert_eq!(c.take_effects(), [pause]);
    c.event(locked(None));
    assert_eq!(c.take_effects(), [Effect::LoadGroups]);
    c.tick(1_000);
    assert_eq!(c.take_effects(), []);
}
