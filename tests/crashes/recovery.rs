//! One kill and its recovery: a start that reports unknown outcomes, their settlement, and the
//! deploy of the rest.

use crate::attack::Attack;
use crate::attacked_deploy::{self, Moment, Random, UndisturbedDeploy};
use crate::support::Run;
use crate::workspace::{AttackedWorkspace, Records, Template, WANTED};
use crate::{invariants, tofu_comparison};
use model::OperationStep;
use serde_json::Value;
use std::collections::BTreeSet;
use store::records::RolloutRecord;

/// Counts of situations that the kills met.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct SituationCounts {
    attacks: u32,
    /// Attacks before the deploy began, after it had ended, or at a moment that was not reached.
    before_the_deploy: u32,
    in_the_deploy: u32,
    after_the_deploy: u32,
    ended_by_itself: u32,
    unknown_creations_that_were_made: u32,
    unknown_creations_that_were_not: u32,
    unknown_updates: u32,
    unknown_destructions: u32,
    refused_to_create_twice: u32,
    imported: u32,
    forgotten: u32,
    locks_taken_over: u32,
    locks_of_homes_taken_over: u32,
    half_replaced: u32,
    rescued: u32,
    /// Attacks while at least one rollout changed members.
    in_a_rollout: u32,
    rollouts_interrupted: u32,
}

impl SituationCounts {
    pub(crate) fn add(&mut self, more: &Self) {
        self.attacks += more.attacks;
        self.half_replaced += more.half_replaced;
        self.rescued += more.rescued;
        self.in_a_rollout += more.in_a_rollout;
        self.rollouts_interrupted += more.rollouts_interrupted;
        self.before_the_deploy += more.before_the_deploy;
        self.in_the_deploy += more.in_the_deploy;
        self.after_the_deploy += more.after_the_deploy;
        self.ended_by_itself += more.ended_by_itself;
        self.unknown_creations_that_were_made += more.unknown_creations_that_were_made;
        self.unknown_creations_that_were_not += more.unknown_creations_that_were_not;
        self.unknown_updates += more.unknown_updates;
        self.unknown_destructions += more.unknown_destructions;
        self.refused_to_create_twice += more.refused_to_create_twice;
        self.imported += more.imported;
        self.forgotten += more.forgotten;
        self.locks_taken_over += more.locks_taken_over;
        self.locks_of_homes_taken_over += more.locks_of_homes_taken_over;
    }
}

/// Attacks one deploy and completes it.
pub(crate) fn attack_and_recover(
    template: &Template,
    whole: &UndisturbedDeploy,
    attack: Attack,
    random: &mut Random,
) -> Result<SituationCounts, String> {
    let world = template.copy();
    let moment = Moment::random(whole, attack, random);
    complete_deploy(&world, moment, attack, random).map_err(|what| format!("{moment:?}: {what}"))
}

fn complete_deploy(
    world: &AttackedWorkspace,
    moment: Moment,
    attack: Attack,
    random: &mut Random,
) -> Result<SituationCounts, String> {
    let mut tally = SituationCounts {
        attacks: 1,
        ..SituationCounts::default()
    };
    let killed = attacked_deploy::attack_deploy(world, moment, attack, random);
    attacked_deploy::wait_until_no_process_works(world)?;
    let met = !killed.ended;
    if met && !attack.restore_rescue_file(world)? {
        tally.after_the_deploy = 1;
        return Ok(tally);
    }
    tally.rescued = u32::from(met && attack == Attack::LoseStore);
    let known = world.known();
    match (&known.deploy, killed.ended) {
        (_, true) => tally.ended_by_itself = 1,
        (None, _) => tally.before_the_deploy = 1,
        (Some(record), _) if met && record.summary.outcome.label() != "succeeded" => {
            tally.in_the_deploy = 1;
            tally.half_replaced = record.summary.operations.half_replaced;
        }
        (Some(_), _) => tally.after_the_deploy = 1,
    }
    let lab = world.lab();
    invariants::assert_agreement(&lab, &known).map_err(|what| format!("after the kill: {what}"))?;

    tally.locks_of_homes_taken_over = u32::from(world.home.is_locked());
    assert_unknown_outcomes_reported(world, &known, random, &mut tally)?;
    // The records now match the reported outcomes.
    let after = world.known();
    invariants::assert_agreement(&lab, &after)
        .map_err(|what| format!("after the start: {what}"))?;
    if world.lab() != lab {
        return Err("the start changed the lab".to_owned());
    }
    assert_rollouts_paused(&known, &after, &mut tally)?;
    if killed.was_deploying() && attack == Attack::Kill {
        if !after.taken_over.contains(&killed.pid) {
            return Err(format!(
                "the lock of {} was not taken over: {:?}",
                killed.pid, after.taken_over
            ));
        }
        tally.locks_taken_over = 1;
    }

    settle_unknown_outcomes(world, &known, random, &mut tally)?;
    let run = world.workspace.run(&["deploy", "--auto-approve", "--json"]);
    if run.code != Some(0) {
        return Err(format!(
            "the deploy after it: {:?} {:#?}",
            run.code,
            diagnostics_and_result(&run)
        ));
    }
    invariants::assert_final_state(world)?;
    let run = world
        .workspace
        .run(&["stage", "--json", "--detailed-exitcode"]);
    if run.code != Some(0)
        || run.result()["changes"]["no_op"] != WANTED
        || !unknown_in(&run).is_empty()
    {
        return Err(format!(
            "the stage after all: {:?} {:#?}",
            run.code,
            diagnostics_and_result(&run)
        ));
    }
    attacked_deploy::wait_until_no_process_works(world)?;
    tofu_comparison::assert_tofu_plans_no_changes(world)?;
    Ok(tally)
}

/// The next command pauses each rollout that an attack has interrupted. Members with a finished
/// change are as the record says, and only the members in progress may be unknown.
fn assert_rollouts_paused(
    known: &Records,
    after: &Records,
    tally: &mut SituationCounts,
) -> Result<(), String> {
    let unfinished = |rollout: &&RolloutRecord| {
        ["planned", "running", "waiting for health"].contains(&rollout.state.as_str())
    };
    let interrupted: Vec<&RolloutRecord> = known.rollouts.iter().filter(unfinished).collect();
    tally.rollouts_interrupted = u32::try_from(interrupted.len()).unwrap();
    tally.in_a_rollout = u32::from(!interrupted.is_empty());
    for before in interrupted {
        let now = after.rollouts.iter().find(|now| now.id == before.id);
        let state = now.map(|now| now.state.as_str());
        if state != Some("paused (interrupted)") {
            return Err(format!("rollout of {} is {state:?}", before.name));
        }
        let done = |rollout: &RolloutRecord| -> BTreeSet<u32> {
            let steps = rollout.steps.iter();
            let done = steps.filter(|(_, step)| {
                serde_json::from_str::<Value>(step).unwrap()["state"] == "done"
            });
            done.map(|(position, _)| *position).collect()
        };
        if now.map(done) != Some(done(before)) {
            return Err(format!("rollout of {} has lost members", before.name));
        }
    }
    match after.rollouts.iter().find(unfinished) {
        Some(rollout) => Err(format!("rollout of {} is not paused", rollout.name)),
        None => Ok(()),
    }
}

fn diagnostics_and_result(run: &Run) -> (Vec<Value>, Value) {
    (run.diagnostics(), run.result())
}

/// Addresses that a run reported as unknown.
fn unknown_in(run: &Run) -> BTreeSet<String> {
    let all = run
        .diagnostics()
        .into_iter()
        .filter(|d| d["summary"] == "Unknown outcome");
    all.map(|d| d["address"].as_str().unwrap().to_owned())
        .collect()
}

/// The next command of any kind reports unknown outcomes; a deploy does not create objects that may
/// exist.
fn assert_unknown_outcomes_reported(
    world: &AttackedWorkspace,
    known: &Records,
    random: &mut Random,
    tally: &mut SituationCounts,
) -> Result<(), String> {
    let expected: BTreeSet<String> = known.unknown.iter().map(|u| u.address.clone()).collect();
    let creations: BTreeSet<String> = known
        .unknown
        .iter()
        .filter(|u| u.is_creation())
        .map(|u| u.address.clone())
        .collect();
    let readers = [&["state", "list", "--json"][..], &["history", "--json"]];
    let reader = readers[usize::from(random.one_in(2))];
    let twice = !creations.is_empty() && random.one_in(2);
    let writer: &[&str] = if twice {
        &["deploy", "--auto-approve", "--json"]
    } else {
        &["stage", "--json"]
    };
    for args in [reader, writer] {
        let run = world.workspace.run(args);
        if run.code != Some(i32::from(twice && args == writer)) {
            return Err(format!(
                "{args:?}: {:?} {:#?}",
                run.code,
                diagnostics_and_result(&run)
            ));
        }
        if unknown_in(&run) != expected {
            return Err(format!(
                "{args:?} names {:?} as unknown instead of {expected:?}",
                unknown_in(&run)
            ));
        }
        if twice && args == writer {
            let refused = run
                .diagnostics()
                .into_iter()
                .filter(|d| d["severity"] == "error");
            let refused: BTreeSet<String> = refused
                .map(|d| d["address"].as_str().unwrap_or_default().to_owned())
                .collect();
            if refused != creations {
                return Err(format!("refused are {refused:?} instead of {creations:?}"));
            }
            tally.refused_to_create_twice = 1;
        }
    }
    Ok(())
}

/// Imports unknown creations that exist in the lab, and discards the others. Other unknown outcomes
/// are usually read back by the next stage; now and then they are discarded and imported instead.
fn settle_unknown_outcomes(
    world: &AttackedWorkspace,
    known: &Records,
    random: &mut Random,
    tally: &mut SituationCounts,
) -> Result<(), String> {
    let lab = world.lab();
    let ids: BTreeSet<String> = known
        .state
        .objects
        .iter()
        .map(|o| {
            serde_json::from_str::<Value>(&o.attributes).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let (mut import, mut forget) = (Vec::new(), Vec::new());
    for unknown in &known.unknown {
        let address = unknown.address.clone();
        match unknown.step {
            OperationStep::Create => match lab
                .iter()
                .find(|(id, real)| real.address == address && !ids.contains(*id))
            {
                Some((id, _)) => {
                    tally.unknown_creations_that_were_made += 1;
                    import.push((address, id.clone()));
                }
                None => {
                    tally.unknown_creations_that_were_not += 1;
                    forget.push(address);
                }
            },
            OperationStep::Update => {
                tally.unknown_updates += 1;
                let real = lab
                    .iter()
                    .find(|(id, real)| real.address == address && ids.contains(*id));
                if let Some((id, _)) = real.filter(|_| random.one_in(4)) {
                    forget.push(address.clone());
                    import.push((address, id.clone()));
                }
            }
            _ => tally.unknown_destructions += 1,
        }
    }
    tally.forgotten += u32::try_from(forget.len()).unwrap();
    tally.imported += u32::try_from(import.len()).unwrap();
    if !forget.is_empty() {
        let args: Vec<&str> = ["state", "forget", "--json"]
            .into_iter()
            .chain(forget.iter().map(String::as_str))
            .collect();
        let run = world.workspace.run(&args);
        if run.code != Some(0)
            || run.result()["state_changes"].as_array().map(Vec::len) != Some(forget.len())
        {
            return Err(format!(
                "{args:?}: {:?} {:#?}",
                run.code,
                diagnostics_and_result(&run)
            ));
        }
    }
    for (address, id) in &import {
        let run = world
            .workspace
            .run(&["state", "import", "--json", address, id]);
        if run.code != Some(0) || run.result()["state_changes"][0]["id"] != **id {
            return Err(format!(
                "import {address} {id}: {:?} {:#?}",
                run.code,
                diagnostics_and_result(&run)
            ));
        }
    }
    let left: Vec<_> = world
        .known()
        .unknown
        .into_iter()
        .filter(|u| u.is_creation())
        .map(|u| u.address)
        .collect();
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("still unknown: {left:?}"))
    }
}
