//! Tests that no plugin of either dialect survives a killed flightdeck, and that invalid limits of
//! processes are refused.

use crate::workspace::TestWorkspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::time::{Duration, Instant};

const MAIN: &str = r#"
terraform {
  required_providers {
    fake = { source = "bluelink/fake" }
    lab  = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "cloud.json"
}
resource "lab_thing" "l" {
  count = 2
  name  = "hanging-${count.index}"
  fault {
    kind = "hang"
  }
}
resource "fake_slow_thing" "s" {
  name  = "s"
  looks = 100000
}
"#;

fn is_alive(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn no_plugin_of_either_dialect_survives_a_killed_flightdeck() {
    let mut bench = TestWorkspace::empty(MAIN);
    bench.install(crate::workspace::USUAL);
    bench.set("FLIGHTDECK_PROCESSES", "2");
    bench.set("FLIGHTDECK_SLOTS", "1");
    let kills = std::env::var("FLIGHTDECK_TEST_HOST_KILLS").ok();
    let kills = kills.map_or(3, |n| n.parse().unwrap());
    for round in 0..kills {
        let mut host = bench
            .command(&["deploy", "--auto-approve", "--json"])
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(host.stdout.take().unwrap()).lines();
        let (mut pids, mut applying) = (BTreeSet::new(), BTreeSet::new());
        // Wait until all three apply, two of them in processes of the same configuration.
        while applying.len() < 3 {
            let Some(Ok(line)) = lines.next() else {
                panic!("it ended by itself, in round {round}: {applying:?}")
            };
            let event: Value = serde_json::from_str(&line).unwrap();
            pids.extend(event["attempt"]["pid"].as_u64());
            let method = event["method"].as_str().unwrap_or_default();
            let is_apply = matches!(method, "ApplyResourceChange" | "DeployResource");
            if is_apply && event["type"] == "call_started" {
                applying.insert(event["resource"].to_string());
            }
        }
        assert!(pids.len() >= 3, "{pids:?}");
        let pid = Pid::from_raw(i32::try_from(host.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        host.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while pids.iter().any(|pid| is_alive(*pid)) {
            assert!(Instant::now() < until, "{pids:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let doctor = bench.run(&["doctor", "--json"]);
        assert!(
            doctor.stdout.contains("no orphaned plugin process"),
            "{doctor:#?}"
        );
        std::fs::remove_dir_all(bench.workspace.path().join(".flightdeck")).unwrap();
        for file in ["terraform.tfstate", "cloud.json"] {
            std::fs::remove_file(bench.workspace.path().join(file)).ok();
        }
    }
}

#[test]
fn invalid_process_limits_are_refused() {
    let table = [
        (
            "FLIGHTDECK_RENEW_ABOVE",
            "much",
            "needs a number of bytes, optionally with the suffix k, M or G",
        ),
        ("FLIGHTDECK_PROCESSES", "two", "needs a whole number"),
        ("FLIGHTDECK_IDLE_S", "-1", "needs a whole number"),
    ];
    for (name, value, words) in table {
        let mut bench = TestWorkspace::with_plugin("");
        bench.set(name, value);
        let run = bench.run(&["plugins"]).expect(1);
        assert!(
            run.stderr.contains(name) && run.stderr.contains(words),
            "{run:#?}"
        );
        assert!(run.stderr.contains(value), "{run:#?}");
    }
}
