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

#[path = "../../crates/state/src/backend/tests/parts.rs"]
#[allow(dead_code)]
mod parts;
#[path = "../../crates/state/src/backend/tests/server.rs"]
mod server;

mod attack;
mod attacked_deploy;
mod backend;
mod invariants;
mod recovery;
mod tofu_comparison;
mod workspace;

use attack::Attack;
use attacked_deploy::Random;
use backend::BackendKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use workspace::Template;

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
fn attacked_deploy_loses_and_duplicates_nothing() {
    let (homes, attack) = (BackendKind::from_environment(), Attack::from_environment());
    let homes = match attack {
        Attack::Slow => Some(BackendKind::Http),
        _ => homes,
    };
    attacked(
        homes,
        number("FLIGHTDECK_TEST_KILLS").unwrap_or(KILLS),
        attack,
    );
}

#[test]
fn attacked_deploy_with_an_http_backend_loses_and_duplicates_nothing() {
    attacked(
        Some(BackendKind::Http),
        kills_of_other_backends(),
        Attack::from_environment(),
    );
}

#[test]
fn attacked_deploy_with_an_s3_backend_loses_and_duplicates_nothing() {
    match Attack::from_environment() {
        Attack::Slow => {}
        attack => attacked(BackendKind::on_moto(), kills_of_other_backends(), attack),
    }
}

#[test]
fn stopped_deploy_with_a_slow_backend_loses_and_duplicates_nothing() {
    attacked(
        Some(BackendKind::Http),
        kills_of_other_backends(),
        Attack::Slow,
    );
}

/// Number of kills for other backends: a fifth of those for a state file.
fn kills_of_other_backends() -> u64 {
    number("FLIGHTDECK_TEST_KILLS").unwrap_or(KILLS).div_ceil(5)
}

fn attacked(homes: Option<BackendKind>, kills: u64, attack: Attack) {
    let Some(homes) = homes else { return };
    let seed = number("FLIGHTDECK_TEST_SEED").unwrap_or_else(now);
    println!("{kills} times {attack:?}, FLIGHTDECK_TEST_SEED={seed}");
    let template = Template::new(homes);
    let whole = attacked_deploy::measure_deploy(&template);
    println!(
        "undisturbed: {} ms, {} moments by event",
        whole.took.as_millis(),
        whole.moments
    );
    let next = AtomicU64::new(0);
    let (tally, broken) = (
        Mutex::new(recovery::SituationCounts::default()),
        Mutex::new(Vec::new()),
    );
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
                    match recovery::attack_and_recover(&template, &whole, attack, &mut random) {
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
