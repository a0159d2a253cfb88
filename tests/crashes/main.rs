//! Tests of `kill -9` of flightdeck at any moment of a deploy (or a stop, several signals, the loss
//! of its store), with the real binary and real plugin processes. Afterwards the lab, the state and
//! the records agree, or the difference is reported as an unknown outcome. Once these are settled,
//! another deploy completes the changes; no object is created twice or forgotten.
//!
//! `FLIGHTDECK_TEST_KILLS` sets the number of kills (default 12, 40 in `.ci/run`).
//! `FLIGHTDECK_TEST_SEED` repeats the choice of moments. `FLIGHTDECK_TEST_ATTACK` is `kill`,
//! `stop`, `ladder`, `lose-store` or `slow` (with a state behind http). `FLIGHTDECK_TEST_HOME`
//! selects the backend: `file`, `http` or `s3`. `FLIGHTDECK_TOFU` names a `tofu` whose plan is
//! compared with each final workspace. `cargo xtask attack` runs them all.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;

#[path = "../../src/engine/state/backend/tests/parts.rs"]
#[allow(dead_code)]
mod parts;
#[path = "../../src/engine/state/backend/tests/server.rs"]
mod server;

mod attack;
mod beside;
mod check;
mod home;
mod kill;
mod settle;
mod world;

use attack::Attack;
use home::Homes;
use kill::Random;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use world::Template;

/// Default number of kills.
const KILLS: u64 = 12;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no whole number: {text:?}")),
    )
}

fn now() -> u64 {
    u64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap()
}

#[test]
fn a_deploy_that_is_attacked_at_any_moment_loses_nothing_and_makes_nothing_twice() {
    let (homes, attack) = (Homes::from_environment(), Attack::from_environment());
    let homes = match attack {
        Attack::Slow => Some(Homes::Http),
        _ => homes,
    };
    attacked(
        homes,
        number("FLIGHTDECK_TEST_KILLS").unwrap_or(KILLS),
        attack,
    );
}

#[test]
fn nor_does_one_whose_state_is_behind_an_address() {
    attacked(Some(Homes::Http), elsewhere(), Attack::from_environment());
}

#[test]
fn nor_does_one_whose_state_is_in_a_bucket() {
    match Attack::from_environment() {
        Attack::Slow => {}
        attack => attacked(Homes::on_moto(), elsewhere(), attack),
    }
}

#[test]
fn nor_does_one_that_is_stopped_while_the_server_with_its_state_is_slow() {
    attacked(Some(Homes::Http), elsewhere(), Attack::Slow);
}

/// Number of kills for other backends: a fifth of those for a state file.
fn elsewhere() -> u64 {
    number("FLIGHTDECK_TEST_KILLS").unwrap_or(KILLS).div_ceil(5)
}

fn attacked(homes: Option<Homes>, kills: u64, attack: Attack) {
    let Some(homes) = homes else { return };
    let seed = number("FLIGHTDECK_TEST_SEED").unwrap_or_else(now);
    println!("{kills} times {attack:?}, FLIGHTDECK_TEST_SEED={seed}");
    let template = Template::new(homes);
    let whole = kill::undisturbed(&template);
    println!(
        "undisturbed: {} ms, {} moments by event",
        whole.took.as_millis(),
        whole.moments
    );
    let next = AtomicU64::new(0);
    let (tally, broken) = (Mutex::new(settle::Tally::default()), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism()
        .map_or(1, std::num::NonZero::get)
        .min(4);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while broken.lock().unwrap().is_empty() {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= kills {
                        return;
                    }
                    let mut random = Random::new(seed.wrapping_add(run));
                    match settle::one(&template, &whole, attack, &mut random) {
                        Ok(more) => tally.lock().unwrap().add(&more),
                        Err(what) => broken
                            .lock()
                            .unwrap()
                            .push(format!("kill {run} of FLIGHTDECK_TEST_SEED={seed}: {what}")),
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    println!(
        "tally: {}",
        serde_json::to_string(&tally.into_inner().unwrap()).unwrap()
    );
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}
