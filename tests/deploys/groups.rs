//! Rolling updates of groups, with real hooks: order and records, trust, and a kill in the middle.

use crate::Lab;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

const SERVERS: &str = r#"
variable "kind" { default = "v1" }
resource "lab_thing" "web" {
  count = 3
  name  = "web-${count.index}"
  kind  = var.kind
}
"#;

/// Group of the servers with these arguments of its update.
fn group(update: &str) -> String {
    format!("group \"web\" {{\n  instance = lab_thing.web\n  update {{\n{update}\n  }}\n}}\n")
}

fn lab(update: &str) -> Lab {
    let lab = Lab::new(SERVERS);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.workspace.write("web.flightdeck.hcl", &group(update));
    lab
}

/// Newest rollout: its state, and the states of its members.
fn rollout(lab: &Lab) -> (String, Vec<String>) {
    let shown = lab.workspace.run(&["group", "show", "web", "--json"]);
    let shown = shown.expect(0).result();
    let rollout = &shown["rollouts"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let members = rollout["members"].as_array().expect("members");
    let members = members
        .iter()
        .map(|m| format!("{} {}", text(&m["key"]), text(&m["state"])));
    (text(&rollout["state"]), members.collect())
}

#[test]
fn members_are_drained_changed_and_checked_in_order() {
    // Each hook notes itself and the kinds that the lab has at that moment.
    let note = r#"echo HOOK ${member.key} $(grep -o '\"kind\": *\"v[12]\"' lab.json | grep -c v2) >> \"$HOME/order\""#;
    let hook = |name: &str| {
        let line = note.replace("HOOK", name);
        format!("command = [\"/bin/sh\", \"-c\", \"{line}\"]")
    };
    let lab = lab(&format!(
        "    drain {{ {} }}\n    health {{\n      {}\n      interval = \"10ms\"\n    }}",
        hook("drain"),
        hook("health")
    ));
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.workspace.command(&[
        "deploy",
        "--auto-approve",
        "--trust-workspace-plugins",
        "--var",
        "kind=v2",
    ]);
    let output = command.env("HOME", home.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("group web: rolling update of 3 instances in 3 batches"),
        "{text}"
    );
    let order = std::fs::read_to_string(home.path().join("order")).unwrap();
    let drains: Vec<&str> = order.lines().filter(|l| l.starts_with("drain")).collect();
    // Before the change of a member, only those before it have the new kind.
    assert_eq!(drains, ["drain 0 0", "drain 1 1", "drain 2 2"], "{order}");
    assert!(order.lines().any(|line| line == "health 0 1"), "{order}");
    let done = ["0 done", "1 done", "2 done"].map(str::to_owned).into();
    assert_eq!(rollout(&lab), ("converged".to_owned(), done));
}

#[test]
fn hook_without_trust_stops_the_deploy_before_any_change() {
    let lab = lab("    drain { command = [\"/bin/sh\", \"-c\", \"true\"] }");
    lab.workspace.run(&["stage", "--var", "kind=v2"]).expect(0);
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--var", "kind=v2"])
        .expect(3);
    assert!(
        run.stderr.contains("you have not trusted the command"),
        "{}",
        run.stderr
    );
    let shown = lab.workspace.run(&["history", "--json"]).expect(0);
    let deploys = shown.lines().len();
    assert_eq!(deploys, 1, "the refused deploy left a record");
}

#[test]
fn killed_rollout_is_paused_and_the_next_deploy_completes_it() {
    let lab = lab(
        "    health {\n      ready = self.kind == \"v3\"\n      interval = \"50ms\"\n      timeout = \"10m\"\n    }",
    );
    let mut command: Command =
        lab.workspace
            .command(&["deploy", "--auto-approve", "--json", "--var", "kind=v2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let waits = |line: &String| line.contains("\"rollout\"") && line.contains("waiting for health");
    assert!(lines.map_while(Result::ok).any(|line| waits(&line)));
    child.kill().unwrap();
    child.wait().unwrap();
    let (state, members) = rollout(&lab);
    assert_eq!(state, "paused (interrupted)");
    assert_eq!(members, ["0 changed", "1 waiting", "2 waiting"]);
    // Another command that writes records the pause.
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json", "--var", "kind=v2"])
        .expect(0);
    assert_eq!(run.result()["operations"]["done"], 2, "{:?}", run.result());
    let shown = lab.workspace.run(&["group", "show", "web", "--json"]);
    let shown = shown.expect(0).result();
    let states = shown["rollouts"].as_array().unwrap().iter();
    let states: Vec<&Value> = states.map(|rollout| &rollout["state"]).collect();
    assert_eq!(states, ["converged", "paused (interrupted)"]);
}
