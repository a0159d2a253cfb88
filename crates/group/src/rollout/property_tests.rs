//! Random sequences of events: no member is lost, none is changed twice unless retried, and no
//! final state is left.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::policy::{DrainPolicy, HealthPolicy};

const MEMBERS: u64 = 6;

fn events() -> impl Strategy<Value = Event> {
    let member = || (0..MEMBERS).prop_map(MemberKey::Index);
    prop_oneof![
        1 => (0..5_usize).prop_map(|batch| Event::BatchBegan { batch }),
        1 => member().prop_map(|member| Event::Done { member }),
        1 => member().prop_map(|member| Event::Failed { member, reason: "r".to_owned() }),
        1 => Just(Event::BatchHealthy),
        1 => Just(Event::Unhealthy { reason: "r".to_owned(), members: BTreeMap::new() }),
        4 => Just(Event::Pause),
        2 => Just(Event::Resume),
        4 => member().prop_map(|member| Event::SkipMember { member }),
        4 => member().prop_map(|member| Event::RetryMember { member }),
        2 => member().prop_map(|member| Event::RetryLater { member }),
        1 => member().prop_map(|member| Event::NotBegun { member }),
        4 => Just(Event::Interrupted),
        1 => (member(), any::<bool>()).prop_map(|(member, done)| Event::Examined { member, done }),
        1 => Just(Event::Start),
        1 => prop_oneof![
            Just(Event::Abort),
            Just(Event::NewCommit),
            Just(Event::RollBack),
        ],
    ]
}

fn policies() -> impl Strategy<Value = UpdatePolicy> {
    let reactions = prop_oneof![
        Just(OnUnhealthy::Pause),
        Just(OnUnhealthy::Abort),
        Just(OnUnhealthy::Continue)
    ];
    (any::<[bool; 3]>(), reactions, 0..3_u32).prop_map(
        |([surge, drain, health], on_unhealthy, max_parallel)| UpdatePolicy {
            surge,
            on_unhealthy,
            max_parallel,
            drain: drain.then_some(DrainPolicy {
                timeout: Duration::from_secs(1),
            }),
            health: health.then(HealthPolicy::default),
            ..UpdatePolicy::default()
        },
    )
}

/// Members 0 and 1 go, 2 to 4 roll, 5 is added.
fn start(policy: &UpdatePolicy, this_machine: bool) -> Rollout {
    let keys = |range: std::ops::Range<u64>| range.map(MemberKey::Index).collect::<Vec<_>>();
    let plan = RolloutPlan {
        shrink: keys(0..2),
        batches: vec![keys(2..4), keys(4..5)],
        grow: keys(5..6),
        this_machine: this_machine.then_some(MemberKey::Index(4)),
        ..RolloutPlan::default()
    };
    Rollout::new(&plan, policy, ConfigHash::from_text("to"), 0)
}

/// Allowed repetitions of an action, and the counted actions.
#[derive(Default)]
struct Counts {
    acted: BTreeMap<(MemberKey, MemberAction), u32>,
    repeats: BTreeMap<MemberKey, u32>,
}

impl Counts {
    /// Takes back an action that was requested and has not begun.
    fn take_back(&mut self, open: &mut Vec<Next>, of: &MemberKey) {
        let found = open
            .iter()
            .position(|next| matches!(next, Next::Act { member, .. } if member == of));
        if let Some(Next::Act { member, action }) = found.map(|at| open.remove(at)) {
            *self.acted.entry((member, action)).or_default() -= 1;
        }
    }

    fn add(&mut self, next: &[Next], rollout: &Rollout) {
        for action in next {
            let Next::Act { member, action } = action else {
                continue;
            };
            let acted = self.acted.entry((member.clone(), *action)).or_default();
            *acted += 1;
            let repeats = self.repeats.get(member).copied().unwrap_or_default();
            let retries = rollout.step(member).unwrap().retries;
            assert!(
                *acted <= 1 + retries + repeats,
                "{action:?} {member} ran {acted} times"
            );
            let step = rollout.step(member).unwrap();
            assert_eq!(
                step.batch,
                rollout.batch().0,
                "{member} is in the batch in progress"
            );
            let destructive = *action != MemberAction::Drain;
            assert!(
                !(step.this_machine && destructive),
                "this machine is only drained"
            );
        }
    }
}

/// Choice of the next event.
#[derive(Clone, Debug)]
enum Choice {
    /// Answer to one of the open requests; the flag tells if it succeeds.
    Answer(usize, bool),
    /// Any event, most of them illegal.
    Any(Event),
}

fn choices() -> impl Strategy<Value = Choice> {
    let success = || proptest::bool::weighted(0.95);
    prop_oneof![
        4 => (0..8_usize, success()).prop_map(|(at, success)| Choice::Answer(at, success)),
        1 => events().prop_map(Choice::Any),
    ]
}

/// Answer to an open request, or what an operator does about a paused rollout.
fn answer(open: &mut Vec<Next>, at: usize, success: bool, rollout: &Rollout) -> Event {
    if open.is_empty() {
        let failed = |step: &&Step| matches!(step.state, StepState::Failed(_));
        return match rollout.steps().iter().find(failed) {
            Some(step) if success => Event::RetryMember {
                member: step.member.clone(),
            },
            Some(step) => Event::SkipMember {
                member: step.member.clone(),
            },
            None => Event::Resume,
        };
    }
    let reason = "r".to_owned();
    match open.remove(at % open.len()) {
        Next::BeginBatch { batch, .. } => Event::BatchBegan { batch },
        Next::Act { member, .. } if success => Event::Done { member },
        Next::Act { member, .. } => Event::Failed { member, reason },
        Next::AwaitHealth { .. } if success => Event::BatchHealthy,
        Next::AwaitHealth { members } => Event::Unhealthy {
            members: members.into_iter().map(|m| (m, reason.clone())).collect(),
            reason,
        },
        Next::Examine { member, .. } => Event::Examined {
            member,
            done: success,
        },
        Next::Stop | Next::Finished => Event::Interrupted,
    }
}

/// Keeps the open requests: a stop ends waits, and an interruption ends all.
fn keep_open(open: &mut Vec<Next>, next: Vec<Next>, event: &Event) {
    if next.contains(&Next::Stop) {
        open.retain(|next| matches!(next, Next::Act { .. }));
    }
    if *event == Event::Interrupted {
        open.clear();
    }
    // A wait begins again when the members change.
    if next
        .iter()
        .any(|next| matches!(next, Next::AwaitHealth { .. }))
    {
        open.retain(|next| !matches!(next, Next::AwaitHealth { .. }));
    }
    let requests = next
        .into_iter()
        .filter(|next| !matches!(next, Next::Stop | Next::Finished));
    open.extend(requests);
}

proptest! {
    #[test]
    fn no_member_is_lost_or_changed_twice(
        policy in policies(),
        this_machine in any::<bool>(),
        choices in proptest::collection::vec(choices(), 1..120),
    ) {
        let mut rollout = start(&policy, this_machine);
        let mut counts = Counts::default();
        let mut open = Vec::new();
        for (choice, now) in std::iter::once(Choice::Any(Event::Start)).chain(choices).zip(1..) {
            let before = rollout.clone();
            let event = match choice {
                Choice::Answer(at, success) => answer(&mut open, at, success, &rollout),
                Choice::Any(event) => event,
            };
            match rollout.handle(event.clone(), now) {
                Ok(next) => {
                    if let Event::Examined { member, done: false } = &event {
                        *counts.repeats.entry(member.clone()).or_default() += 1;
                    }
                    if let Event::NotBegun { member } = &event {
                        counts.take_back(&mut open, member);
                    }
                    counts.add(&next, &rollout);
                    let acts = next.iter().any(|n| matches!(n, Next::Act { .. }));
                    prop_assert!(!acts || rollout.state() == RolloutState::Running);
                    keep_open(&mut open, next, &event);
                }
                Err(_) => prop_assert_eq!(&rollout, &before, "an illegal event changes nothing"),
            }
            prop_assert_eq!(rollout.steps().len() as u64, MEMBERS, "{:?}", event);
            if before.state().is_final() {
                prop_assert_eq!(rollout.state(), before.state(), "{:?}", event);
            }
            if rollout.state() == RolloutState::Converged {
                let over = rollout.steps().iter().all(|step| step.state.is_over());
                prop_assert!(over, "a converged rollout has no open steps");
            }
            let waits = matches!(rollout.state(), RolloutState::Running | RolloutState::WaitingHealth);
            prop_assert!(!waits || !open.is_empty(), "a rollout that goes on has an open request");
        }
        let stored = serde_json::to_string(&rollout).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Rollout>(&stored).unwrap(), &rollout);
    }

    /// An operator who answers each question brings any rollout to its end.
    #[test]
    fn rollout_ends_if_every_action_succeeds(policy in policies(), this_machine in any::<bool>()) {
        let mut rollout = start(&policy, this_machine);
        let mut open: std::collections::VecDeque<Next> =
            rollout.handle(Event::Start, 0).unwrap().into();
        let mut now = 0;
        while let Some(next) = open.pop_front() {
            now += 1;
            prop_assert!(now < 200, "the rollout ends");
            let event = match next {
                Next::BeginBatch { batch, .. } => Event::BatchBegan { batch },
                Next::Act { member, .. } => Event::Done { member },
                Next::AwaitHealth { .. } => Event::BatchHealthy,
                Next::Finished => break,
                other => panic!("{other:?}"),
            };
            open.extend(rollout.handle(event, now).unwrap());
        }
        prop_assert_eq!(rollout.state(), RolloutState::Converged);
        prop_assert_eq!(rollout.progress(), (6, 6));
    }
}
