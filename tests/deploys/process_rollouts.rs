//! A rolling update of real processes in one flightdeck, watched and ended by another one.

use crate::groups::begin_deploy_at;
use crate::processes::{BINARY, ready, until};
use crate::support::Workspace;
use serde_json::{Value, json};
use std::fs::File;
use std::net::TcpListener;
use tempfile::TempDir;

const GROUP: &str = r#"
group "web" {
  instance = local_process.web
  update {
    health {
      http        = "${self.url}/ready"
      interval    = "50ms"
      consecutive = 2
      timeout     = "10m"
    }
  }
}
"#;

/// Workspace with three web servers in a group; the servers end with the test.
struct Fleet {
    workspace: Workspace,
    /// Has the trust in the health check.
    home: TempDir,
    ports: Vec<u16>,
    _lock: File,
}

impl Fleet {
    fn new() -> Self {
        let workspace = Workspace::new(&[]);
        // All at the same time, so that they differ.
        let free: Vec<TcpListener> = (0..3)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let ports = free.iter().map(|port| port.local_addr().unwrap().port());
        let ports: Vec<u16> = ports.collect();
        drop(free);
        workspace.write("lock", "");
        let lock = workspace.path().join("lock");
        let held = File::open(&lock).unwrap();
        held.lock().unwrap();
        let text = format!(
            r#"
terraform {{
  required_providers {{
    local = {{ source = "flightdeck.internal/bundled/local" }}
  }}
}}
variable "release" {{ default = "v1" }}
locals {{
  ports = {ports:?}
}}
resource "local_process" "web" {{
  count   = 3
  command = [
    {BINARY:?}, "plugin", "web", "--port", tostring(local.ports[count.index]),
    "--release", var.release, "--until-unlocked", {lock:?},
  ]
  port     = local.ports[count.index]
  log_file = "web-${{count.index}}.log"
}}
"#
        );
        workspace.write("main.tf", &text);
        workspace.write("web.flightdeck.hcl", GROUP);
        let fleet = Self {
            workspace,
            home: tempfile::tempdir().unwrap(),
            ports,
            _lock: held,
        };
        fleet.run(&["deploy", "--auto-approve", "--trust-workspace"]);
        fleet
    }

    /// Runs a command in a process of its own; returns its output.
    fn run(&self, args: &[&str]) -> String {
        let mut command = self.workspace.command(args);
        let output = command.env("HOME", self.home.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn result(&self, args: &[&str]) -> Value {
        let text = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    /// Newest rollout as `group show` has it: state, batch, and the members.
    fn shown(&self) -> (String, u64, String) {
        let rollout = self.result(&["group", "show", "web"])["rollouts"][0].clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let members = rollout["members"].as_array().unwrap().iter();
        let members = members.map(|m| format!("{} {}", text(&m["key"]), text(&m["state"])));
        let members: Vec<String> = members.collect();
        let batch = rollout["batch"].as_u64().unwrap();
        (text(&rollout["state"]), batch, members.join(", "))
    }

    /// Pids of the servers in the state.
    fn pids(&self) -> Vec<u64> {
        let state = self.result(&["show"]);
        let resources = state["values"]["root_module"]["resources"].as_array();
        let pid = |resource: &Value| resource["values"]["pid"].as_u64().unwrap();
        resources.unwrap().iter().map(pid).collect()
    }
}

#[test]
fn another_process_sees_and_ends_the_rolling_update_of_processes() {
    let fleet = Fleet::new();
    let before = fleet.pids();
    let waits = |line: &str| line.contains("waiting for health");
    let args = ["--var", "release=v2-broken"];
    let (mut deploy, lines) =
        begin_deploy_at(&fleet.workspace, &args, Some(fleet.home.path()), waits);
    // The rest of the output is read, so that the deploy does not wait for its reader.
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).last());

    let first = "0 changed, 1 waiting, 2 waiting";
    let waiting = |batch, members: &str| {
        let state = "waiting for health".to_owned();
        (state, batch, members.to_owned())
    };
    assert_eq!(fleet.shown(), waiting(1, first));
    let listed = &fleet.result(&["group", "list"])["groups"][0];
    let rollout = &listed["rollout"];
    assert_eq!(
        (&rollout["state"], &rollout["batches"], &rollout["deploy"]),
        (&json!("waiting for health"), &json!(3), &json!(2)),
        "{listed}"
    );
    let text = fleet.run(&["group", "list"]);
    assert!(text.contains("waiting for health"), "{text}");

    fleet.run(&["group", "pause", "web"]);
    let paused = ("paused (by operator)".to_owned(), 1, first.to_owned());
    assert_eq!(fleet.shown(), paused);
    fleet.run(&["group", "resume", "web"]);
    // Without the first member, the second batch begins, which replaces a process.
    fleet.run(&["group", "skip", "web", "0"]);
    let second = "0 skipped, 1 changed, 2 waiting";
    until("the second batch", || fleet.shown() == waiting(2, second));
    let is_ready = |at: usize| ready(fleet.ports[at]).starts_with("HTTP/1.1 200 ");
    assert_eq!([0, 1, 2].map(is_ready), [false, false, true]);

    fleet.run(&["group", "abort", "web"]);
    assert_eq!(deploy.wait().unwrap().code(), Some(5));
    let last: Value = serde_json::from_str(&reader.join().unwrap().unwrap()).unwrap();
    assert_eq!(last["outcome"], "failed", "{last}");
    let aborted = ("aborted".to_owned(), 2, second.to_owned());
    assert_eq!(fleet.shown(), aborted);
    let after = fleet.pids();
    let same: Vec<bool> = (0..3).map(|at| before[at] == after[at]).collect();
    assert_eq!(same, [false, false, true], "the last process is the same");
    fleet.run(&["destroy", "--auto-approve"]);
}
