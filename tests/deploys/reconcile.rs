//! The reconcile loop with real processes: drift by kind, repairs, approvals, and one leader.

use crate::Lab;
use crate::groups::{self, NEVER_HEALTHY};
use bundled::lab::control;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

/// Servers, as many as this.
fn servers(count: u32) -> String {
    format!(
        "variable \"kind\" {{ default = \"v1\" }}\nresource \"lab_thing\" \"web\" {{\n  count = {count}\n  name  = \"web-${{count.index}}\"\n  kind  = var.kind\n}}\n"
    )
}

fn group(reconcile: &str) -> String {
    format!("group \"web\" {{\n  instance = lab_thing.web\n  reconcile {{\n{reconcile}\n  }}\n}}\n")
}

fn lab(reconcile: &str) -> Lab {
    let lab = Lab::new(&servers(3));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.workspace.write("web.flightdeck.hcl", &group(reconcile));
    lab
}

/// Id of the object with this name.
pub fn id(lab: &Lab, name: &str) -> String {
    let all = control::objects(&lab.file()).unwrap();
    let found = all.into_iter().find(|object| object.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).id
}

pub fn names(lab: &Lab) -> Vec<String> {
    let all = control::objects(&lab.file()).unwrap();
    let mut names: Vec<String> = all.into_iter().map(|object| object.name).collect();
    names.sort();
    names
}

/// Runs the loop once; returns the run of the group.
fn reconcile(lab: &Lab, more: &[&str]) -> Value {
    let words = [&["reconcile", "--once", "--json"], more].concat();
    let run = lab.workspace.run(&words).expect(0);
    let found = run.lines().into_iter().find(|e| e["type"] == "reconcile");
    found.unwrap_or_else(|| panic!("no run: {run:?}"))
}

/// Member and kind of each drift, with the response.
pub fn drift(run: &Value) -> Vec<String> {
    let all = run["drift"].as_array().unwrap().iter();
    let text = |drift: &Value, name: &str| drift[name].as_str().unwrap().to_owned();
    all.map(|d| {
        format!(
            "{} {} {}",
            text(d, "member"),
            text(d, "kind"),
            text(d, "response")
        )
    })
    .collect()
}

#[test]
fn observe_reports_drift_by_kind_and_changes_nothing() {
    let lab = lab("    every = \"1h\"");
    let run = reconcile(&lab, &[]);
    assert_eq!(
        (&run["outcome"], &run["mode"]),
        (&json!("in_sync"), &json!("observe"))
    );
    control::delete_object(&lab.file(), &id(&lab, "web-0")).unwrap();
    control::tamper(&lab.file(), &id(&lab, "web-1"), "kind", json!("manual")).unwrap();
    lab.configure(&servers(2));
    let run = reconcile(&lab, &[]);
    assert_eq!(run["outcome"], "drifted", "{run}");
    assert_eq!(
        drift(&run),
        [
            "0 missing report",
            "1 attribute_drift report",
            "2 unknown_member report"
        ]
    );
    assert_eq!(run["drift"][1]["attributes"], json!(["kind"]));
    assert_eq!(names(&lab), ["web-1", "web-2"]);
    // A change of the configuration makes the others outdated.
    let run = reconcile(&lab, &["--var", "kind=v2"]);
    assert_eq!(drift(&run)[1], "1 outdated_hash report", "{run}");
    // The group shows the newest run and the next one.
    let shown = lab.workspace.run(&["group", "--json"]).expect(0).result();
    let view = &shown["groups"][0]["reconcile"];
    assert_eq!(
        (&view["mode"], &view["every_s"]),
        (&json!("observe"), &json!(3600))
    );
    assert_eq!(view["run"]["next"], run["next"]);
    let history = lab.workspace.run(&["history", "--json"]).expect(0);
    assert_eq!(history.lines().len(), 1, "nothing was deployed");
}

#[test]
fn enforce_repairs_members_and_asks_before_a_destroy() {
    let lab = lab("    mode = \"enforce\"");
    let home = tempfile::tempdir().unwrap();
    let trusted = |words: &[&str]| {
        let mut command = lab.workspace.command(words);
        let output = command.env("HOME", home.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let once = |more: &[&str]| {
        let words = [&["reconcile", "--once", "--json"], more].concat();
        let found = trusted(&words)
            .into_iter()
            .find(|e| e["type"] == "reconcile");
        found.expect("a run")
    };
    control::delete_object(&lab.file(), &id(&lab, "web-0")).unwrap();
    control::tamper(&lab.file(), &id(&lab, "web-1"), "kind", json!("manual")).unwrap();
    lab.configure(&servers(2));
    let run = once(&[]);
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("needs your trust"), "{run}");
    assert_eq!(
        names(&lab),
        ["web-1", "web-2"],
        "untrusted, nothing is changed"
    );
    let run = once(&["--trust-workspace"]);
    assert_eq!(run["outcome"], "repaired", "{run}");
    assert_eq!(
        drift(&run),
        [
            "0 missing repair",
            "1 attribute_drift repair",
            "2 unknown_member ask_approval"
        ]
    );
    assert_eq!(names(&lab), ["web-0", "web-1", "web-2"]);
    let run = once(&[]);
    assert_eq!(run["outcome"], "awaits_approval", "{run}");
    let stage = run["stage"].as_i64().expect("a stage").to_string();
    // The same question is asked once.
    assert_eq!(once(&[])["stage"], run["stage"]);
    assert_eq!(names(&lab), ["web-0", "web-1", "web-2"]);
    let approved = trusted(&["deploy", &stage, "--auto-approve", "--json"]);
    let result = approved.last().unwrap();
    assert_eq!(result["operations"]["done"], 1, "{result}");
    assert_eq!(names(&lab), ["web-0", "web-1"]);
    assert_eq!(once(&[])["outcome"], "in_sync");
}

#[test]
fn allow_replace_destroys_without_an_approval() {
    let lab = lab("    mode          = \"enforce\"\n    allow_replace = true");
    lab.configure(&servers(2));
    let run = reconcile(&lab, &["--trust-workspace"]);
    assert_eq!(run["outcome"], "repaired", "{run}");
    assert_eq!(names(&lab), ["web-0", "web-1"]);
}

#[test]
fn vanished_dedicated_object_is_not_created_again_without_an_approval() {
    let lab = Lab::new(
        "resource \"lab_thing\" \"disk\" {\n  count = 2\n  name  = \"disk-${count.index}\"\n}\nresource \"lab_thing\" \"web\" {\n  count = 2\n  name  = \"web-${count.index}\"\n  kind  = lab_thing.disk[count.index].id\n}\n",
    );
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let group = "group \"web\" {\n  instance  = lab_thing.web\n  dedicated = [lab_thing.disk]\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    lab.workspace.write("web.flightdeck.hcl", group);
    control::delete_object(&lab.file(), &id(&lab, "disk-0")).unwrap();
    let run = reconcile(&lab, &["--trust-workspace"]);
    assert_eq!(run["outcome"], "awaits_approval", "{run}");
    assert_eq!(drift(&run), ["0 outdated_hash ask_approval"]);
    assert_eq!(names(&lab), ["disk-1", "web-0", "web-1"]);
}

#[test]
fn interrupted_creation_is_not_repeated() {
    let lab = Lab::new(&servers(1));
    let reconcile = group("    mode = \"enforce\"");
    lab.workspace.write("web.flightdeck.hcl", &reconcile);
    let hang = control::Fault::new(control::Kind::Hang);
    control::set(&lab.file(), hang).unwrap();
    let mut deploy = Follower::start(&lab, &["deploy", "--auto-approve", "--json"]);
    deploy.until(|e| e["type"] == "call_started" && e["method"] == "ApplyResourceChange");
    deploy.kill();
    control::clear_all(&lab.file()).unwrap();
    // The rollout of the deploy is paused, which a person must settle first.
    let run = self::reconcile(&lab, &["--trust-workspace"]);
    assert_eq!(run["outcome"], "drifted", "{run}");
    let reason = run["reason"].as_str().unwrap();
    assert!(reason.contains("is paused (interrupted)"), "{run}");
    // Without a rollout, the unknown outcome itself prevents a second creation.
    lab.workspace.write(
        "web.flightdeck.hcl",
        &reconcile.replace("\"web\"", "\"other\""),
    );
    let run = self::reconcile(&lab, &["--trust-workspace"]);
    assert_eq!(run["outcome"], "failed", "{run}");
    assert!(
        run["reason"]
            .as_str()
            .unwrap()
            .contains("may or may not exist"),
        "{run}"
    );
    assert!(names(&lab).len() <= 1);
}

/// Command whose JSON lines are read while it runs.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(lab: &Lab, words: &[&str]) -> Self {
        let mut command = lab.workspace.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let events = self.lines.by_ref().map_while(Result::ok);
        let mut events = events.map(|line| serde_json::from_str::<Value>(&line).unwrap());
        events.find(wanted).expect("the event")
    }

    /// Text of this process as the leader.
    fn leader_text(&self) -> String {
        format!("pid {} on ", self.child.id())
    }

    fn until_leader(&mut self, text: &str, ours: bool) {
        self.until(|e| {
            let owner = e["owner"].as_str().unwrap_or_default();
            e["type"] == "reconcile_leader" && owner.contains(text) && e["ours"] == ours
        });
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // A failed test must not leave its process behind; an ended one is no error.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const LOOP: [&str; 4] = ["reconcile", "--every", "1s", "--json"];

#[test]
fn one_of_two_loops_leads_and_the_other_takes_over_after_a_kill() {
    let lab = lab("");
    let mut first = Follower::start(&lab, &LOOP);
    let leader = first.leader_text();
    first.until_leader(&leader, true);
    first.until(|e| e["type"] == "reconcile" && e["outcome"] == "in_sync");
    let mut second = Follower::start(&lab, &LOOP);
    second.until_leader(&leader, false);
    // A loop that runs once names the leader and runs nothing.
    let run = lab.workspace.run(&["reconcile", "--once"]).expect(1);
    assert!(run.stderr.contains(&leader), "{run:?}");
    let shown = lab.workspace.run(&["group", "--json"]).expect(0).result();
    let shown = shown["groups"][0]["reconcile"]["leader"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(shown.starts_with(&leader), "{shown}");
    first.kill();
    let next = second.leader_text();
    second.until_leader(&next, true);
    second.until(|e| e["type"] == "reconcile" && e["outcome"] == "in_sync");
}

/// Of two loops only the leader polls, and it keeps to its interval.
#[test]
fn s3_07_only_the_leader_polls_at_its_interval() {
    let lab = lab("    every  = \"2s\"\n    jitter = \"0%\"");
    let mut first = Follower::start(&lab, &["reconcile", "--json"]);
    let leader = first.leader_text();
    first.until_leader(&leader, true);
    let mut second = Follower::start(&lab, &["reconcile", "--json"]);
    second.until_leader(&leader, false);
    let mut began = || {
        let run = first.until(|e| e["type"] == "reconcile");
        run["began"].as_i64().expect("a time")
    };
    let times = [began(), began(), began()];
    for pair in times.windows(2) {
        let interval = pair[1] - pair[0];
        assert!(interval >= 1_900, "{times:?}");
    }
    second.kill();
    let rest = second.lines.by_ref().map_while(Result::ok);
    let runs = rest.filter(|line| line.contains("\"reconcile\""));
    assert_eq!(runs.count(), 0, "the second loop polled");
}

#[test]
fn ended_loop_gives_the_leadership_up() {
    let lab = lab("");
    let mut first = Follower::start(&lab, &LOOP);
    first.until(|e| e["type"] == "reconcile");
    let pid = Pid::from_raw(i32::try_from(first.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(first.child.wait().unwrap().code(), Some(130));
    // At once, and not only after the end of the lock lease.
    assert_eq!(reconcile(&lab, &[])["outcome"], "in_sync");
}

#[test]
fn deploy_works_beside_an_idle_loop() {
    let lab = lab("");
    let mut watcher = Follower::start(&lab, &["reconcile", "--every", "1h", "--json"]);
    watcher.until(|e| e["type"] == "reconcile");
    let deploy = [
        "deploy",
        "--auto-approve",
        "--var",
        "kind=v2",
        "--lock-timeout",
        "1m",
    ];
    lab.workspace.run(&deploy).expect(0);
    assert_eq!(names(&lab), ["web-0", "web-1", "web-2"]);
}

/// The first loop is stopped for longer than its lock lease lasts, in the middle of a rollout.
#[test]
fn rollout_of_a_loop_that_another_one_replaced_is_interrupted() {
    let lab = lab("    mode = \"enforce\"");
    let reconcile = "  reconcile {\n    mode = \"enforce\"\n  }";
    let block = groups::group(NEVER_HEALTHY);
    let block = format!("{}{reconcile}\n}}\n", block.strip_suffix("}\n").unwrap());
    lab.workspace.write("web.flightdeck.hcl", &block);
    lab.workspace
        .run(&["reconcile", "--once", "--trust-workspace"])
        .expect(0);
    for name in ["web-0", "web-1"] {
        control::tamper(&lab.file(), &id(&lab, name), "kind", json!("manual")).unwrap();
    }
    let mut first = Follower::start(&lab, &LOOP);
    first.until(|e| e.to_string().contains("waiting for health"));
    let pid = Pid::from_raw(i32::try_from(first.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let mut second = Follower::start(&lab, &LOOP);
    let next = second.leader_text();
    second.until_leader(&next, true);
    kill_process(pid, Signal::CONT).unwrap();
    first.until_leader(&next, false);
    first.until(|e| e["type"] == "reconcile" && e["reason"].to_string().contains(&next));
    let shown = lab.workspace.run(&["group", "show", "web", "--json"]);
    let shown = shown.expect(0).result();
    let rollout = &shown["rollouts"][0];
    assert_eq!(rollout["state"], "paused (interrupted)", "{rollout}");
    let reason = rollout["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&next), "{reason}");
    let states: Vec<&Value> = rollout["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["state"])
        .collect();
    assert_eq!(states, ["changed", "waiting"], "{rollout}");
}
