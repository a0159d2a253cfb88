//! Runs every target with its seeds and a few thousand deterministic mutations of them.
//!
//! `FLIGHTDECK_FUZZ_SEED` is the seed of the mutations (printed), `FLIGHTDECK_FUZZ_RUNS` their
//! number.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use fuzz::mutate::{Dice, mutate};

/// Stack size, as small as that of the program's threads.
const STACK: usize = 2 << 20;
/// Time limit of one input in a debug build on a busy machine; it detects hangs.
const LONG: Duration = Duration::from_secs(20);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Reads the seeds of a target; binary ones are stored as hex.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let bytes = if path.extension().is_some_and(|e| e == "hex") {
                let digits = bytes.into_iter().filter(|b| !b.is_ascii_whitespace());
                hex::decode(digits.collect::<Vec<u8>>()).unwrap()
            } else {
                bytes
            };
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                bytes,
            )
        })
        .collect();
    all.sort();
    assert!(!all.is_empty(), "{} has no seeds", folder.display());
    all
}

fn one(target: &str, body: fn(&[u8]), name: &str, input: &[u8]) {
    let began = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| body(input)));
    let took = began.elapsed();
    let shown = || {
        format!(
            "{target}, {name}:\n{}\nas text: {:?}",
            hex::encode(input),
            String::from_utf8_lossy(input)
        )
    };
    assert!(done.is_ok(), "a promise is broken by {}", shown());
    assert!(took < LONG, "{took:?} for {}", shown());
}

fn smoke(target: &'static str) {
    let body = fuzz::TARGETS
        .iter()
        .find(|(name, _)| *name == target)
        .unwrap()
        .1;
    let seed = number("FLIGHTDECK_FUZZ_SEED", 1);
    let runs = number("FLIGHTDECK_FUZZ_RUNS", 3_000);
    let run = move || {
        let seeds = seeds(target);
        println!(
            "{target}: {} seeds, {runs} mutations of FLIGHTDECK_FUZZ_SEED={seed}",
            seeds.len()
        );
        for (name, input) in &seeds {
            one(target, body, name, input);
        }
        let mut dice = Dice::new(seed);
        for n in 0..runs {
            let (name, input) = &seeds[dice.below(seeds.len())];
            let other = &seeds[dice.below(seeds.len())].1;
            let input = mutate(&mut dice, input, other);
            one(
                target,
                body,
                &format!("mutation {n} of {name} with FLIGHTDECK_FUZZ_SEED={seed}"),
                &input,
            );
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

macro_rules! targets {
    ($($(#[$only:meta])* $name:ident),* $(,)?) => {
        $(#[test] $(#[$only])* fn $name() { smoke(stringify!($name)); })*

        #[test]
        fn every_target_has_its_smoke_run_and_its_program() {
            let here: Vec<&str> = vec![$($(#[$only])* stringify!($name)),*];
            assert_eq!(here, fuzz::TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
            for name in here {
                let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz_targets/{name}.rs"));
                assert!(std::fs::read_to_string(program).unwrap().contains(&format!("targets::{name}::run")));
            }
        }
    };
}
targets!(
    handshake,
    msgpack,
    json,
    tf,
    tf_json,
    plan_rules,
    #[cfg(feature = "engine")]
    log_line,
    #[cfg(feature = "engine")]
    state,
    #[cfg(feature = "engine")]
    plan_answer,
);
