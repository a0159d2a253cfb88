//! Rolling updates of groups, with real hooks: order and records, trust, and a kill in the middle.

use crate::Lab;
use crate::support::Workspace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) const SERVERS: &str = r#"
variable "kind" { default = "v1" }
resource "lab_thing" "web" {
  count = 3
  name  = "web-${count.index}"
  kind  = var.kind
}
"#;

/// Group of the servers with these arguments of its update.
pub(crate) fn group(update: &str) -> String {
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
        "--trust-workspace",
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

/// Starts a deploy in a process of its own, and waits for a line of its JSON output that `seen`
/// accepts.
pub(crate) fn begin_deploy(
    lab: &Lab,
    args: &[&str],
    seen: impl Fn(&str) -> bool,
) -> (Child, JsonLines) {
    begin_deploy_at(&lab.workspace, args, None, seen)
}

/// As [`begin_deploy`], with a home directory for the trust in hooks.
pub(crate) fn begin_deploy_at(
    workspace: &Workspace,
    args: &[&str],
    home: Option<&Path>,
    seen: impl Fn(&str) -> bool,
) -> (Child, JsonLines) {
    let args = [&["deploy", "--auto-approve", "--json"], args].concat();
    let mut command: Command = workspace.command(&args);
    if let Some(home) = home {
        command.env("HOME", home);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let found = lines.by_ref().map_while(Result::ok);
    assert!(found.into_iter().any(|line| seen(&line)), "no such line");
    (child, lines)
}

pub(crate) type JsonLines = std::io::Lines<BufReader<std::process::ChildStdout>>;

/// Arguments that resume the rollout without a question.
const RESUME: [&str; 6] = [
    "group",
    "resume",
    "web",
    "--auto-approve",
    "--var",
    "kind=v2",
];

/// A health that no release reaches.
pub(crate) const NEVER_HEALTHY: &str = "    health {\n      ready = self.kind == \"v9\"\n      interval = \"50ms\"\n      timeout = \"10m\"\n    }";

pub(crate) fn waits_for_health(line: &str) -> bool {
    line.contains("\"rollout\"") && line.contains("waiting for health")
}

#[test]
fn requests_reach_the_deploy_of_another_process() {
    let lab = lab(NEVER_HEALTHY);
    let (mut child, lines) = begin_deploy(&lab, &["--var", "kind=v2"], waits_for_health);
    // The rest of the output is read, so that the deploy does not wait for its reader.
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).last());
    let request = |args: &[&str]| lab.workspace.run(&[&["group"], args].concat());
    let paused = request(&["pause", "web", "--json"]).expect(0).result();
    assert_eq!(paused["rollout"]["state"], "paused (by operator)");
    assert_eq!(paused["deploy"], 2);
    let refused = request(&["pause", "web"]).expect(1);
    assert!(
        refused.stderr.contains("deploy #2 refused to pause"),
        "{}",
        refused.stderr
    );
    let unknown = request(&["skip", "web", "9"]).expect(1);
    assert!(
        unknown.stderr.contains("its members are 0, 1, 2"),
        "{}",
        unknown.stderr
    );
    request(&["skip", "web", "web[1]"]).expect(0);
    request(&["resume", "web"]).expect(0);
    // The member waits again, and is left to the end of the rollout.
    request(&["skip", "web", "0"]).expect(0);
    let aborted = request(&["abort", "web"]).expect(0);
    assert!(aborted.stdout.contains("aborted"), "{}", aborted.stdout);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let last: Value = serde_json::from_str(&reader.join().unwrap().unwrap()).unwrap();
    assert_eq!(last["outcome"], "failed", "{last}");
    let (state, members) = rollout(&lab);
    assert_eq!(state, "aborted");
    assert_eq!(members[..2], ["0 skipped", "1 skipped"].map(str::to_owned));
    let ended = request(&["resume", "web"]).expect(1);
    assert!(ended.stderr.contains("Stage again"), "{}", ended.stderr);
}

#[test]
fn resumed_rollout_leaves_out_skipped_members_and_other_changes() {
    let lab = lab(NEVER_HEALTHY);
    let other = "resource \"lab_thing\" \"other\" {\n  name = \"other\"\n  kind = var.kind\n}\n";
    let (mut child, _lines) = begin_deploy(&lab, &["--var", "kind=v2"], waits_for_health);
    child.kill().unwrap();
    child.wait().unwrap();
    let skipped = lab.workspace.run(&["group", "skip", "web", "1"]).expect(0);
    assert!(
        skipped.stdout.contains("flightdeck group resume web"),
        "{}",
        skipped.stdout
    );
    lab.workspace.write("other.tf", other);
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    let resume = ["group", "resume", "web", "--var", "kind=v2", "--json"];
    lab.workspace.run(&resume).expect(1);
    let run = lab
        .workspace
        .run(&[&resume[..], &["--auto-approve"]].concat())
        .expect(0);
    assert_eq!(run.result()["operations"]["done"], 1, "{:?}", run.result());
    assert!(
        run.stdout.contains("skipped members of group") && run.stdout.contains("lab_thing.web[1]"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("1 other changes of stage"),
        "{}",
        run.stdout
    );
    let done = vec!["2 done".to_owned()];
    assert_eq!(rollout(&lab), ("converged".to_owned(), done));
    let names = lab.objects();
    assert!(
        !names.iter().any(|name| name.contains("other")),
        "{names:?}"
    );
}

#[test]
fn skipped_member_stays_although_a_resource_needs_all_members() {
    let w = Workspace::new(&[
        (
            "main.tf",
            "variable \"kind\" {\n  default = \"v1\"\n}\nresource \"terraform_data\" \"web\" {\n  count = 3\n  triggers_replace = var.kind\n  provisioner \"local-exec\" {\n    command = \"test ! -e fail-${count.index}\"\n  }\n}\nresource \"terraform_data\" \"lb\" {\n  triggers_replace = terraform_data.web[*].id\n}\n",
        ),
        (
            "web.flightdeck.hcl",
            "group \"web\" {\n  instance = terraform_data.web\n}\n",
        ),
    ]);
    let ids = || {
        let state: Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
        let resources = state["resources"].as_array().unwrap().clone();
        let instances = resources.iter().flat_map(|r| {
            let instances = r["instances"].as_array().unwrap().iter();
            instances.map(move |i| {
                let name = format!("{} {}", r["name"].as_str().unwrap(), i["index_key"]);
                (name, i["attributes"]["id"].clone())
            })
        });
        instances.collect::<std::collections::BTreeMap<_, _>>()
    };
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("fail-0", "");
    w.run(&["deploy", "--auto-approve", "--var", "kind=v2"])
        .expect(5);
    std::fs::remove_file(w.path().join("fail-0")).unwrap();
    w.run(&["group", "skip", "web", "0"]).expect(0);
    let before = ids();
    let run = w.run(&RESUME).expect(0);
    let after = ids();
    let is_new = |name: &str| before[name] != after[name];
    let changed = ["web 0", "web 1", "web 2", "lb null"].map(is_new);
    assert_eq!(changed, [false, true, true, false], "{run:?}");
}

#[test]
fn retried_member_is_replaced_by_the_resumed_rollout() {
    let lab = lab(&NEVER_HEALTHY.replace("10m", "100ms"));
    let deploy = ["deploy", "--auto-approve", "--var", "kind=v2"];
    lab.workspace.run(&deploy).expect(5);
    let (state, members) = rollout(&lab);
    assert_eq!(state, "paused (unhealthy)");
    assert_eq!(members, ["0 changed", "1 waiting", "2 waiting"]);
    lab.workspace.run(&["group", "retry", "web", "0"]).expect(0);
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    let run = lab.workspace.run(&RESUME).expect(0);
    assert!(
        run.stdout.contains("lab_thing.web[0]"),
        "the changed member is not replaced: {}",
        run.stdout
    );
    let done = ["0 done", "1 done", "2 done"].map(str::to_owned).into();
    assert_eq!(rollout(&lab), ("converged".to_owned(), done));
}

#[test]
fn trust_in_a_hook_ends_with_another_value_of_its_variables() {
    let lab = lab("");
    let with_variable = |default: &str| {
        let drain =
            "    drain { command = [\"/bin/sh\", \"-c\", \"test ${var.tool} = ${local.tool}\"] }";
        let variables = format!(
            "variable \"tool\" {{ default = \"{default}\" }}\nlocals {{ tool = var.tool }}\n"
        );
        lab.workspace.write("tool.tf", &variables);
        lab.workspace.write("web.flightdeck.hcl", &group(drain));
    };
    with_variable("a");
    let deploy = |kind: &str, more: &[&str]| {
        let kind = format!("kind={kind}");
        let args = ["deploy", "--auto-approve", "--var", &kind];
        lab.workspace.run(&[&args[..], more].concat())
    };
    deploy("v2", &[]).expect(3);
    deploy("v2", &["--trust-workspace"]).expect(0);
    deploy("v3", &[]).expect(0);
    // The text of the hook is the same.
    let run = deploy("v4", &["--var", "tool=b"]).expect(3);
    assert!(
        run.stderr.contains("has changed since you trusted it"),
        "{}",
        run.stderr
    );
    with_variable("b");
    deploy("v4", &[]).expect(3);
    with_variable("a");
    deploy("v4", &[]).expect(0);
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

#[test]
fn attachment_of_a_member_is_replaced_in_its_batch() {
    let config = r#"
variable "kind" { default = "v1" }
locals { keys = toset(["a", "b"]) }
resource "lab_thing" "web" {
  for_each = local.keys
  name     = each.key
  kind     = var.kind
  triggers = { kind = var.kind }
}
resource "lab_thing" "attachment" {
  for_each = local.keys
  name     = "attachment-${each.key}"
  triggers = { web = lab_thing.web[each.key].id }
}
"#;
    let lab = Lab::new(config);
    let health = NEVER_HEALTHY.replace("10m", "100ms");
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let ids = || -> Vec<String> {
        let shown = lab.workspace.run(&["state", "pull"]).expect(0);
        let state: Value = serde_json::from_str(&shown.stdout).unwrap();
        let resources = state["resources"].as_array().unwrap();
        let instances = resources
            .iter()
            .flat_map(|resource| resource["instances"].as_array().unwrap());
        let id = |instance: &Value| instance["attributes"]["id"].as_str().unwrap().to_owned();
        instances.map(id).collect()
    };
    let before = ids();
    assert_eq!(before.len(), 4);
    lab.workspace.write("web.flightdeck.hcl", &group(&health));
    let run = ["deploy", "--auto-approve", "--var", "kind=v2"];
    lab.workspace.run(&run).expect(5);
    // Attachments come first in the state: only those of the first batch are new.
    let after = ids();
    let kept: Vec<bool> = before.iter().zip(&after).map(|(b, a)| b == a).collect();
    assert_eq!(kept, [false, true, false, true], "{before:?} {after:?}");
    assert_eq!(rollout(&lab).0, "paused (unhealthy)");
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    lab.workspace.run(&run).expect(0);
    assert!(before.iter().zip(ids()).all(|(before, now)| *before != now));
}
