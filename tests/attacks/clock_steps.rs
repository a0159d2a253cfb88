//! Clock steps: the system's clock is set during a wait, and a leader's clock is ahead or behind. A
//! preloaded library adds the seconds in a file to the time of day of flightdeck alone.

use crate::LAB;
use crate::support::Workspace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  long r = syscall(SYS_clock_gettime, id, t);
  const char *file = getenv("TEST_CLOCK");
  if (r == 0 && file && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    char text[32] = {0};
    int f = open(file, O_RDONLY | O_CLOEXEC);
    if (f >= 0) {
      if (read(f, text, 31) > 0) t->tv_sec += atol(text);
      close(f);
    }
  }
  return (int)r;
}
"#;

/// Clock of some processes.
struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// `None` without a C compiler.
    fn new(w: &Workspace) -> Option<Self> {
        let place = |name| w.path().with_file_name(name);
        let (source, library, file) = (place("clock.c"), place("clock.so"), place("clock"));
        std::fs::write(&source, LIBRARY).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(source);
        if !cc.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: clock_steps: no C compiler");
            return None;
        }
        let clock = Self { library, file };
        clock.set(0);
        Some(clock)
    }

    fn set(&self, seconds: i64) {
        // Renamed into place: an empty file would set the clock back for a moment.
        let new = self.file.with_extension("new");
        std::fs::write(&new, seconds.to_string()).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }

    fn applies_to(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", &self.library);
        command.env("TEST_CLOCK", &self.file);
        command
    }
}

/// A command whose JSON lines are read while it runs.
struct Follower(Child, Lines<BufReader<ChildStdout>>);

impl Follower {
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let events = self.1.by_ref().map_while(Result::ok);
        let mut events = events.map(|line| serde_json::from_str::<Value>(&line).unwrap());
        events.find(wanted).expect("the event")
    }

    fn until_it_leads(&mut self) {
        self.until(|e| e["type"] == "reconcile_leader" && e["ours"] == true);
        self.until(|e| e["type"] == "reconcile" && e["outcome"] == "in_sync");
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // An ended process is no error.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

const THING: &str = "variable \"kind\" {\n  default = \"v1\"\n}\nresource \"lab_thing\" \"web\" {\n  count = 1\n  name  = \"web\"\n  kind  = var.kind\n}\n";

fn deployed(group: &str) -> Workspace {
    let group = format!("group \"web\" {{\n  instance = lab_thing.web\n{group}}}\n");
    let main = format!("{LAB}{THING}");
    let w = Workspace::new(&[("main.tf", &main)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("web.flightdeck.hcl", &group);
    w
}

#[test]
fn leader_with_another_clock_does_not_block_the_next_one() {
    let every = ["reconcile", "--every", "1s", "--json"];
    for step in [7_200, -7_200] {
        let w = deployed("  reconcile {\n  }\n");
        let Some(clock) = Clock::new(&w) else { return };
        clock.set(step);
        let mut first = Follower::start(clock.applies_to(w.command(&every)));
        first.until_it_leads();
        first.0.kill().unwrap();
        first.0.wait().unwrap();
        let began = Instant::now();
        Follower::start(w.command(&every)).until_it_leads();
        assert!(began.elapsed() < Duration::from_secs(120), "{step}");
    }
    println!("met: 2 leaders with another clock");
}

#[test]
fn leader_whose_clock_is_set_leads_on() {
    let every = ["reconcile", "--every", "1s", "--json"];
    for step in [7_200, -7_200] {
        let w = deployed("  reconcile {\n  }\n");
        let Some(clock) = Clock::new(&w) else { return };
        let mut leader = Follower::start(clock.applies_to(w.command(&every)));
        leader.until_it_leads();
        clock.set(step);
        for _ in 0..2 {
            leader.until(|e| e["type"] == "reconcile" && e["outcome"] == "in_sync");
        }
    }
}

#[test]
fn wait_for_health_takes_as_long_as_without_a_step() {
    let rows = [
        ("duration = \"3s\"", 0),
        ("duration = \"3s\"", 7_200),
        ("duration = \"3s\"", -7_200),
        ("consecutive = 12", 7_200),
        ("consecutive = 12", -7_200),
    ];
    for (needs, step) in rows {
        let w = deployed(&format!(
            "  update {{\n    health {{\n      ready    = self.kind == \"v2\"\n      interval = \"250ms\"\n      timeout  = \"60s\"\n      {needs}\n    }}\n  }}\n"
        ));
        let Some(clock) = Clock::new(&w) else { return };
        let words = ["deploy", "--auto-approve", "--json", "--var", "kind=v2"];
        let mut deploy = Follower::start(clock.applies_to(w.command(&words)));
        let began = Instant::now();
        deploy.until(|e| e.to_string().contains("waiting for health"));
        clock.set(step);
        let status = deploy.0.wait().unwrap();
        let took = began.elapsed();
        assert_eq!(status.code(), Some(0), "{needs}, {step}");
        assert!(
            took > Duration::from_millis(2_500),
            "{needs}, {step}: {took:?}"
        );
        assert!(took < Duration::from_secs(50), "{needs}, {step}: {took:?}");
    }
    println!("met: {} steps of the clock", rows.len());
}
