//! Deploys of `local_process` with real processes: they outlive flightdeck, are found again,
//! created again, replaced and destroyed. The program is the web server of this binary.

use crate::support::Workspace;
use model::process::ProcessIdentity;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const BINARY: &str = env!("CARGO_BIN_EXE_flightdeck");

/// Workspace with one web server; the server ends with the test.
struct Web {
    workspace: Workspace,
    port: u16,
    _lock: std::fs::File,
}

impl Web {
    fn new() -> Self {
        let workspace = Workspace::new(&[]);
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        workspace.write("lock", "");
        let lock = workspace.path().join("lock");
        let held = std::fs::File::open(&lock).unwrap();
        held.lock().unwrap();
        let text = format!(
            r#"
terraform {{
  required_providers {{
    local = {{ source = "flightdeck.internal/bundled/local" }}
    lab   = {{ source = "flightdeck.internal/bundled/lab" }}
  }}
}}
provider "lab" {{
  file = "lab.json"
}}
variable "release" {{ default = "v1" }}
resource "local_process" "web" {{
  command = [
    {BINARY:?}, "plugin", "web", "--port", "{port}", "--release", var.release,
    "--until-unlocked", {lock:?},
  ]
  port     = {port}
  log_file = "${{path.module}}/log/web.log"
}}
"#
        );
        workspace.write("main.tf", &text);
        Self {
            workspace,
            port,
            _lock: held,
        }
    }

    fn deploy(&self, args: &[&str]) -> String {
        let args = [&["deploy", "--auto-approve"], args].concat();
        self.workspace.run(&args).expect(0).stdout
    }

    /// Process in the state, if the state has one.
    fn process(&self) -> Option<ProcessIdentity> {
        let state = self.workspace.run(&["show", "--json"]).expect(0);
        let state: serde_json::Value = serde_json::from_str(&state.stdout).unwrap();
        let resources = state["values"]["root_module"]["resources"]
            .as_array()?
            .clone();
        let web = resources
            .iter()
            .find(|r| r["address"] == "local_process.web")?;
        let number = |name: &str| web["values"][name].as_u64().unwrap();
        Some(ProcessIdentity {
            pid: number("pid").try_into().unwrap(),
            start_time: number("start_time"),
            boot_id: web["values"]["boot_id"].as_str().unwrap().to_owned(),
        })
    }

    fn is_unchanged(&self) -> bool {
        let run = self.workspace.run(&["stage", "--detailed-exitcode"]);
        run.code == Some(0)
    }
}

/// Answer of a server to a request, whole.
pub fn ready(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(stream, "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits for a condition, with a deadline for slow machines.
#[track_caller]
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(process: &ProcessIdentity) {
    let pid = rustix::process::Pid::from_raw(process.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn process_is_created_replaced_created_again_and_destroyed() {
    let web = Web::new();
    // A descriptor that the shell leaves open, as scripts of CI jobs do.
    let line = "exec 7>inherited; exec \"$0\" deploy --auto-approve";
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", line, BINARY])
        .current_dir(web.workspace.path());
    for (name, value) in web.workspace.command(&["deploy"]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let run = shell.output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let first = web.process().unwrap();
    assert!(first.is_running());
    assert!(ready(web.port).starts_with("HTTP/1.1 200 "));
    let log = web.workspace.read("log/web.log");
    assert!(
        log.contains("release v1 on port ") && log.contains("GET /ready 200"),
        "{log}"
    );
    let inherited = std::fs::canonicalize(web.workspace.path().join("inherited")).unwrap();
    let open = std::fs::read_dir(format!("/proc/{}/fd", first.pid)).unwrap();
    let open = open.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    assert!(
        !open.into_iter().any(|file| file == inherited),
        "the process has the file"
    );
    assert!(web.is_unchanged());

    web.deploy(&["--var", "release=v2-broken"]);
    let second = web.process().unwrap();
    assert!(!first.is_running() && second.is_running());
    assert!(ready(web.port).starts_with("HTTP/1.1 503 "));

    web.deploy(&[]);
    let third = web.process().unwrap();
    kill(&third);
    until("the end", || !third.is_running());
    let shown = web.workspace.run(&["stage"]).expect(0).stdout;
    assert!(
        shown.contains("1 to create") || shown.contains("+ local_process.web"),
        "{shown}"
    );
    web.deploy(&[]);
    let fourth = web.process().unwrap();
    assert!(fourth.is_running() && fourth != third);

    web.workspace.run(&["destroy", "--auto-approve"]).expect(0);
    assert!(!fourth.is_running());
    assert_eq!(web.process(), None);
    let log = web.workspace.read("log/web.log");
    assert!(log.ends_with("ended by SIGTERM\n"), "{log}");
}

/// Pids of the processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| model::process::parent(*pid) == Some(parent))
        .collect()
}

#[test]
fn process_outlives_a_killed_flightdeck_and_is_found_again() {
    let web = Web::new();
    let text = web.workspace.read("main.tf");
    // The deploy goes on after the process was created.
    let hang = r#"
resource "lab_thing" "slow" {
  name       = "slow"
  kind       = "slow"
  create_ms  = 600000
  depends_on = [local_process.web]
}
"#;
    web.workspace.write("main.tf", &format!("{text}{hang}"));
    let mut flightdeck = web.workspace.command(&["deploy", "--auto-approve"]);
    let mut flightdeck = flightdeck
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_in_state = || {
        web.workspace
            .run(&["state", "list"])
            .stdout
            .contains("local_process.web")
    };
    until("the process in the state", is_in_state);
    let started = children(flightdeck.id());
    let helpers: Vec<ProcessIdentity> = started
        .into_iter()
        .filter_map(ProcessIdentity::of)
        .collect();
    assert!(helpers.len() >= 3, "two plugins and the watcher");
    flightdeck.kill().unwrap();
    flightdeck.wait().unwrap();
    // The watcher ends after it has killed all processes that the plugins left behind.
    until("the end of the helpers", || {
        !helpers.iter().any(ProcessIdentity::is_running)
    });
    web.workspace.write("main.tf", &text);
    let process = web.process().unwrap();
    assert!(process.is_running());
    assert!(web.is_unchanged());
    web.deploy(&[]);
    assert_eq!(web.process().unwrap(), process);
    web.workspace.run(&["destroy", "--auto-approve"]).expect(0);
    assert!(!process.is_running());
}

#[test]
fn web_server_ends_when_the_process_that_holds_its_lock_is_gone() {
    let web = Web::new();
    web.deploy(&[]);
    let process = web.process().unwrap();
    assert!(process.is_running());
    drop(web);
    until("the end of the server", || !process.is_running());
}
