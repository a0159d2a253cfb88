//! Running deploy whose events a test reads meanwhile.

use crate::workspace::TestWorkspace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct RunningDeploy {
    child: Child,
    events: Receiver<Value>,
    /// All events read so far.
    heard: Vec<Value>,
}

impl RunningDeploy {
    pub(crate) fn deploy(bench: &TestWorkspace) -> Self {
        let mut command = bench.command(&["deploy", "--auto-approve", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, events) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if tell.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            events,
            heard: Vec::new(),
        }
    }

    /// Reads events up to the first that matches, which may already have been read.
    pub(crate) fn read_until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(known) = self.heard.iter().find(|e| is_it(e)) {
            return known.clone();
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left);
            let event = event.unwrap_or_else(|_| panic!("{what} did not come: {:#?}", self.heard));
            self.heard.push(event.clone());
            if is_it(&event) {
                return event;
            }
        }
    }

    /// Sends SIGINT, as a terminal does for ctrl-c.
    pub(crate) fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Reads all remaining events; returns the exit code and all events.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.heard.push(event),
                Err(_) => break,
            }
        }
        assert!(Instant::now() < until, "it did not end: {:#?}", self.heard);
        let code = self.child.wait().unwrap().code();
        (code, std::mem::take(&mut self.heard))
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RunningDeploy {
    fn drop(&mut self) {
        // Ends the process of a failed test.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Polls a condition that no event reports.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it did not come: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Record of an operation of the last deploy.
pub(crate) fn operation(bench: &TestWorkspace, address: &str) -> Value {
    let list = bench.run(&["history", "--json"]).expect(0).result();
    let last = list["history"][0]["deploy"].to_string();
    let run = bench.run(&["history", &last, "--json"]).expect(0);
    let all = run.result()["history"][0]["operation_list"].clone();
    let all = all.as_array().unwrap().clone();
    let found = all.into_iter().find(|o| o["address"] == address);
    found.unwrap_or_else(|| panic!("{run:#?}"))
}
