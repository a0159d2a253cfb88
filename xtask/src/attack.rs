//! Long-running attacks on the guarantees in docs/promises.md: kills, stops, cancel ladders, lost
//! stores and slow state servers at random moments; races, full disks, foreign stores, links at
//! every written path, misbehaving and foreign plugins, secrets in every spelling; changed
//! contents, copied stores, edited plans, endless overlays, clock steps. Each attack is a test of
//! the project; this task runs them many times and prints a table.

use color_eyre::eyre::{Result, bail, eyre};
use serde_json::Value;
use std::process::Command;
use std::time::Instant;

/// Numbers of repetitions, and the seed.
pub struct Campaign {
    pub kills: u64,
    /// Runs of each other attack at a random moment.
    pub others: u64,
    /// Runs only the fixed attacks whose title contains this text.
    pub only: Option<String>,
    pub seed: Option<u64>,
}

/// Tests of one binary that run once, and the row title in the table.
struct Fixed {
    what: &'static str,
    target: &'static str,
    filter: &'static str,
}

const FIXED: &[Fixed] = &[
    Fixed {
        what: "slow or silent state servers, and a signal",
        target: "cli",
        filter: "slow_backends",
    },
    Fixed {
        what: "races, in and across pid namespaces",
        target: "cli",
        filter: "lost_store",
    },
    Fixed {
        what: "provisioner commands",
        target: "cli",
        filter: "provisioners",
    },
    Fixed {
        what: "interrupted replacements",
        target: "cli",
        filter: "replacements",
    },
    Fixed {
        what: "full disks, foreign and damaged stores, power loss",
        target: "store_trouble",
        filter: "",
    },
    Fixed {
        what: "links, hard links, pipes and devices at every written path",
        target: "cli",
        filter: "symlink_attacks",
    },
    Fixed {
        what: "state files written by other programs or truncated by a kill",
        target: "cli",
        filter: "state_file",
    },
    Fixed {
        what: "misbehaving plugins",
        target: "misbehaving",
        filter: "",
    },
    Fixed {
        what: "responses with errors, wrong objects or no object",
        target: "misbehaving",
        filter: "answers",
    },
    Fixed {
        what: "plugin provenance: ways to launch a file of a clone",
        target: "cli",
        filter: "provenance",
    },
    Fixed {
        what: "plugins with replaced contents",
        target: "cli",
        filter: "plugin_contents",
    },
    Fixed {
        what: "registrations, calls and ports of other processes",
        target: "bluelink",
        filter: "launches",
    },
    Fixed {
        what: "canaries in every spelling",
        target: "secrets",
        filter: "",
    },
    Fixed {
        what: "trust by content: a trusted command with one changed file, link or value",
        target: "attacks",
        filter: "trust_by_content",
    },
    Fixed {
        what: "clones with a store",
        target: "attacks",
        filter: "clones_with_a_store",
    },
    Fixed {
        what: "edited plans, signed and unsigned",
        target: "attacks",
        filter: "edited_plans",
    },
    Fixed {
        what: "endless overlays and settings of groups",
        target: "attacks",
        filter: "endless_overlays",
    },
    Fixed {
        what: "clock steps",
        target: "attacks",
        filter: "clock_steps",
    },
];

/// Runs all attacks. Fails if a guarantee is violated.
pub fn run(campaign: &Campaign) -> Result<()> {
    // Rows are printed at once, so that an interrupted campaign still has results.
    println!("| attack | runs | observed | minutes |\n|---|---|---|---|");
    if let Some(only) = &campaign.only {
        let mut chosen = FIXED
            .iter()
            .filter(|fixed| fixed.what.contains(only))
            .peekable();
        if chosen.peek().is_none() {
            bail!("no attack has {only:?} in its title");
        }
        return chosen.try_for_each(|fixed| {
            println!("{}", fixed_tests(fixed, campaign)?);
            Ok(())
        });
    }
    for (attack, home, times) in [
        ("kill", "file", campaign.kills),
        ("kill", "http", campaign.kills),
        ("kill", "s3", campaign.kills),
        ("stop", "file", campaign.others),
        ("ladder", "file", campaign.others),
        ("lose-store", "file", campaign.others),
        ("slow", "http", campaign.others),
    ] {
        println!("{}", at_any_moment(attack, home, times, campaign.seed)?);
    }
    for fixed in FIXED {
        println!("{}", fixed_tests(fixed, campaign)?);
    }
    Ok(())
}

fn minutes(began: Instant) -> String {
    format!("{:.1}", began.elapsed().as_secs_f64() / 60.0)
}

/// Runs `cargo test` with arguments and variables, and returns its output.
fn test(words: &[&str], variables: &[(&str, String)]) -> Result<String> {
    eprintln!("cargo test {}", words.join(" "));
    let mut command = Command::new("cargo");
    command
        .args(["test", "--locked"])
        .args(words)
        .envs(variables.iter().map(|(name, value)| (*name, value)));
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Skipped tests are reported on stderr, outside of the test harness.
    let aside = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("a guarantee was violated:\n{text}{aside}");
    }
    Ok(text + &aside)
}

fn at_any_moment(attack: &str, home: &str, times: u64, seed: Option<u64>) -> Result<String> {
    let began = Instant::now();
    let mut variables = vec![
        ("FLIGHTDECK_TEST_ATTACK", attack.to_owned()),
        ("FLIGHTDECK_TEST_HOME", home.to_owned()),
        ("FLIGHTDECK_TEST_KILLS", times.to_string()),
    ];
    variables.extend(seed.map(|seed| ("FLIGHTDECK_TEST_SEED", seed.to_string())));
    let words = [
        "--test",
        "crashes",
        "a_deploy_that_is_attacked",
        "--",
        "--nocapture",
    ];
    let text = test(&words, &variables)?;
    if let Some(why) = text.lines().find(|l| l.starts_with("skipped: ")) {
        return Ok(format!("| {attack}, state in {home} | 0 | {why} | 0 |"));
    }
    let tally = text
        .lines()
        .find_map(|l| l.strip_prefix("tally: "))
        .ok_or_else(|| eyre!("the test printed no tally:\n{text}"))?;
    let tally: Value = serde_json::from_str(tally)?;
    // Counters of events that did not occur are left out.
    let met = tally
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, n)| *name != "attacks" && n.as_u64() != Some(0));
    let met: Vec<String> = met
        .map(|(name, n)| format!("{n} {}", name.replace('_', " ")))
        .collect();
    Ok(format!(
        "| {attack} at any moment of a deploy, state in {home} | {} | {} | {} |",
        tally["attacks"],
        met.join(", "),
        minutes(began)
    ))
}

fn fixed_tests(fixed: &Fixed, campaign: &Campaign) -> Result<String> {
    let began = Instant::now();
    let filter: Vec<&str> = Some(fixed.filter)
        .into_iter()
        .filter(|f| !f.is_empty())
        .collect();
    let words = [
        &["--test", fixed.target],
        filter.as_slice(),
        &["--", "--nocapture"],
    ]
    .concat();
    let others = campaign.others.to_string();
    let mut variables = vec![
        ("FLIGHTDECK_TEST_RACES", others.clone()),
        ("FLIGHTDECK_TEST_EDITS", others),
    ];
    variables.extend(
        campaign
            .seed
            .map(|seed| ("FLIGHTDECK_TEST_SEED", seed.to_string())),
    );
    let text = test(&words, &variables)?;
    let result = text
        .lines()
        .find(|l| l.starts_with("test result:"))
        .unwrap_or_default();
    // The fourth word of `test result: ok. 12 passed; …` is the number.
    let passed = result.split_whitespace().nth(3).unwrap_or("0");
    // A printed line of this form is a figure for the table.
    let mut met: Vec<&str> = text
        .lines()
        .filter_map(|l| l.strip_prefix("met: "))
        .collect();
    met.extend(text.lines().filter(|l| l.starts_with("skipped: ")));
    Ok(format!(
        "| {} | {passed} tests | {} | {} |",
        fixed.what,
        met.join("; "),
        minutes(began)
    ))
}
