//! Tests of replacements: each destroyed object is created again before the next destroy, and a
//! half-done replacement is reported.

use crate::lab_deploys::{Lab, Running};
use bundled::lab::control::{self, Fault, Kind, On};
use serde_json::{Value, json};

/// Number of replaced objects.
const MANY: usize = 40;

/// Writes networks that a changed address replaces.
fn networks(lab: &Lab, second: u8) {
    let text = format!(
        "resource \"lab_network\" \"n\" {{\n  count = {MANY}\n  name = \"n${{count.index}}\"\n  cidr = \"10.{second}.${{count.index}}.0/24\"\n}}\n"
    );
    lab.workspace.write("main.tf", &text);
}

fn slow(on: On, ms: u64) -> Fault {
    Fault {
        on,
        ms: Some(ms),
        ..Fault::new(Kind::Latency)
    }
}

fn deployed() -> Lab {
    let lab = Lab::new("");
    networks(&lab, 1);
    assert_eq!(lab.deploy().expect(0).result()["operations"]["done"], MANY);
    networks(&lab, 2);
    lab
}

fn of(operations: &Value, state: &str) -> usize {
    usize::try_from(operations[state].as_u64().unwrap()).unwrap()
}

#[test]
fn stopped_deploy_completes_begun_replacements() {
    let lab = deployed();
    lab.set_fault(slow(On::Create, 300));
    lab.set_fault(slow(On::Delete, 20));
    let mut running = Running::start(&lab);
    running.read_until(|e| e["type"] == "operation" && e["state"] == "done");
    running.signal(rustix::process::Signal::INT);
    let (code, result) = running.end();
    assert_eq!(
        (code, &result["outcome"]),
        (Some(130), &json!("cancelled")),
        "{result}"
    );
    let operations = &result["operations"];
    assert_eq!(
        of(operations, "done") + of(operations, "not_attempted"),
        MANY,
        "{operations}"
    );
    assert!((1..MANY).contains(&of(operations, "done")), "{operations}");
    // No operation that is reported as not attempted has lost its object, in the lab or in the
    // state.
    assert_eq!(
        control::objects(&lab.file()).unwrap().len(),
        MANY,
        "{operations}"
    );
    assert_eq!(
        lab.run(&["state", "list", "--json"]).expect(0).result()["resources"]
            .as_array()
            .unwrap()
            .len(),
        MANY
    );
    let next = lab.run(&["stage", "--json"]).expect(0).result();
    assert_eq!(
        (&next["changes"]["replace"], &next["changes"]["create"]),
        (&operations["not_attempted"], &json!(0)),
        "{next}"
    );
}

#[test]
fn concurrent_replacements_are_limited_by_parallelism() {
    let lab = deployed();
    lab.set_fault(slow(On::Create, 20));
    let run = lab
        .run(&["deploy", "--auto-approve", "--json", "--parallelism", "3"])
        .expect(0);
    let (mut missing, mut most) = (std::collections::BTreeSet::new(), 0);
    let answers = run
        .lines()
        .into_iter()
        .filter(|e| e["type"] == "call_finished" && e["method"] == "ApplyResourceChange");
    for answer in answers {
        let resource = answer["resource"].as_str().unwrap().to_owned();
        // The first answer is the destroy, the second the create.
        if !missing.remove(&resource) {
            missing.insert(resource);
        }
        most = most.max(missing.len());
    }
    assert_eq!(
        most, 3,
        "what is destroyed is made again before the next is destroyed"
    );
}

#[test]
fn replacement_with_a_failed_create_is_half_replaced() {
    let lab = deployed();
    lab.set_fault(Fault {
        on: On::Create,
        times: Some(1),
        ..Fault::new(Kind::Permanent)
    });
    let run = lab.deploy().expect(5);
    let operations = run.result()["operations"].clone();
    assert_eq!(
        operations,
        json!({"done": MANY - 1, "failed": 0, "not_attempted": 0, "unknown": 0, "half_replaced": 1})
    );
    let record = lab.run(&["history", "2", "--json"]).expect(0).result()["history"][0].clone();
    let half = |o: &&Value| o["state"] == "half_replaced";
    let half = record["operation_list"]
        .as_array()
        .unwrap()
        .iter()
        .find(half)
        .unwrap()
        .clone();
    assert_eq!(half["step"], "destroyed, not re-created", "{half}");
    assert!(half["failure"]["summary"].is_string(), "{half}");
    let text = lab.run(&["history", "2"]).expect(0).stdout;
    assert!(
        text.contains("1 half replaced") && text.contains("destroyed, not re-created"),
        "{text}"
    );
    let said = lab.run(&["history"]).expect(0).stdout;
    assert!(said.contains("1 half replaced"), "{said}");
}

#[test]
fn replacement_killed_between_its_halves_is_half_replaced() {
    let lab = deployed();
    // The create hangs, is asked to stop, and is then killed, so the destroyed objects are missing.
    lab.set_fault(Fault {
        on: On::Create,
        times: Some(1_000),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    running.read_until(|e| e["type"] == "operation" && e["step"] == "creating");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let record = lab.run(&["history", "2", "--json"]).expect(0).result()["history"][0].clone();
    let counts = &record["operations"];
    let gone = MANY - control::objects(&lab.file()).unwrap().len();
    assert_eq!(
        of(counts, "half_replaced") + of(counts, "unknown") + of(counts, "not_attempted"),
        MANY,
        "{counts}"
    );
    // Killed calls have an unknown outcome. A known destroy counts as half replaced, and never as
    // not attempted.
    assert!(
        of(counts, "half_replaced") <= gone && gone <= MANY - of(counts, "not_attempted"),
        "{gone} gone: {counts}"
    );
}

#[test]
fn retry_keeps_requested_replacements() {
    let things = r#"
variable "size" {}
resource "lab_thing" "t" {
  for_each = toset(["done", "failed", "aside"])
  name     = each.key
}
resource "terraform_data" "size" { input = var.size }
resource "lab_thing" "u" {
  name = "triggered"
  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [terraform_data.size]
  }
}
"#;
    let lab = Lab::new(things);
    lab.run(&["deploy", "--auto-approve", "--var", "size=1"])
        .expect(0);
    for (on, name) in [(On::Delete, "failed"), (On::Create, "triggered")] {
        lab.set_fault(Fault {
            on,
            name: Some(name.to_owned()),
            ..Fault::new(Kind::Permanent)
        });
    }
    let (done, failed) = (
        "--replace=lab_thing.t[\"done\"]",
        "--replace=lab_thing.t[\"failed\"]",
    );
    let run = lab
        .run(&[
            "deploy",
            "--auto-approve",
            "--json",
            "--var",
            "size=2",
            done,
            failed,
        ])
        .expect(5)
        .result();
    assert_eq!(
        run["operations"],
        json!({"done": 2, "failed": 2, "not_attempted": 0, "unknown": 0, "half_replaced": 0})
    );
    control::clear_all(&lab.file()).unwrap();

    // A stage without `--replace` repeats neither the requested replacements nor the triggered
    // ones.
    let anew = lab
        .run(&["stage", "--json", "--var", "size=2"])
        .expect(0)
        .result();
    assert_eq!(anew["changes"]["replace"], 0, "{anew}");
    let rest = lab
        .run(&["stage", "--json", "--rest-of", "2", "--out", "rest"])
        .expect(0);
    let replaced = |c: &&Value| c["action"].as_str().unwrap().starts_with("replace");
    let staged = rest
        .lines()
        .into_iter()
        .find(|l| l["type"] == "staged")
        .unwrap();
    let replaced: Vec<&str> = staged["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(replaced)
        .map(|c| c["address"].as_str().unwrap())
        .collect();
    assert_eq!(
        replaced,
        ["lab_thing.t[\"failed\"]", "lab_thing.u"],
        "{staged}"
    );
    lab.run(&["deploy", "rest"]).expect(0);
    assert!(
        lab.run(&["stage", "--rest-of", "3"])
            .expect(1)
            .stderr
            .contains("deploy #3 has no unfinished changes")
    );
    assert!(
        lab.run(&["stage", "--rest-of", "9"])
            .expect(1)
            .stderr
            .contains("there is no deploy 9")
    );
}
