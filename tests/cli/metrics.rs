//! Tests of metrics that are served over HTTP while a command runs.

use super::support::Workspace;
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout};
use std::time::Duration;

/// Two things of the lab, and then a command that waits for the file `go`, for at most a minute.
const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}

provider "lab" {
  file = "cloud.json"
}

resource "lab_thing" "box" {
  for_each = toset(["one", "two"])
  name     = each.key
}

resource "terraform_data" "gate" {
  input = [for b in lab_thing.box : b.name]
  provisioner "local-exec" {
    command = "for n in $(seq 600); do [ -e go ] && exit 0; sleep 0.1; done; exit 1"
  }
}
"#;

/// Running command and its output lines.
struct RunningCommand {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl RunningCommand {
    fn begin(w: &Workspace, args: &[&str]) -> Self {
        let mut child = w.command(args).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads up to the first event for which `wanted` returns a value; panics at the end of the
    /// output.
    fn until<T>(&mut self, wanted: impl Fn(&Value) -> Option<T>) -> T {
        let parsed = |line: std::io::Result<String>| serde_json::from_str(&line.unwrap()).unwrap();
        let found = self.lines.by_ref().map(parsed).find_map(|e| wanted(&e));
        found.expect("the command ended before")
    }

    fn address(&mut self) -> SocketAddr {
        self.until(|event| {
            let text = event["text"].as_str()?;
            let rest = text.strip_prefix("metrics are served at http://")?;
            Some(rest.strip_suffix("/metrics")?.parse().unwrap())
        })
    }

    fn end(mut self) -> Option<i32> {
        self.lines.by_ref().for_each(drop);
        self.child.wait().unwrap().code()
    }
}

/// Head of the response and its body.
fn http_request(address: SocketAddr, method: &str, path: &str) -> (String, String) {
    ask_as(address, &address.to_string(), method, path)
}

fn ask_as(address: SocketAddr, host: &str, method: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, text) = all.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), text.to_owned())
}

/// Value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series))?;
    line.strip_prefix(' ').map(|n| n.parse().unwrap())
}

#[test]
fn metrics_are_served_during_a_deploy_only() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let args = ["deploy", "--auto-approve", "--json", "--metrics", "0"];
    let mut deploy = RunningCommand::begin(&w, &args);
    let address = deploy.address();
    assert!(address.ip().is_loopback());
    deploy.until(|event| {
        let gate = event["address"] == "terraform_data.gate" && event["state"] == "running";
        gate.then_some(())
    });
    let (head, text) = http_request(address, "GET", "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(
        head.contains("content-type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    let lab = "plugin=\"bundled/lab\"";
    let one = |series: &str| value(&text, series).unwrap_or_else(|| panic!("{series}:\n{text}"));
    assert_eq!(
        one("flightdeck_operations_total{action=\"create\",outcome=\"done\"}"),
        2.0
    );
    assert_eq!(one("flightdeck_operations_open{state=\"running\"}"), 1.0);
    assert_eq!(one("flightdeck_staged_changes{action=\"create\"}"), 3.0);
    assert_eq!(one("flightdeck_stages_total{outcome=\"staged\"}"), 1.0);
    assert_eq!(
        one(&format!(
            "flightdeck_launches_total{{{lab},verdict=\"ready\"}}"
        )),
        1.0
    );
    assert_eq!(
        one(&format!("flightdeck_plugin_state{{{lab},state=\"ready\"}}")),
        1.0
    );
    let apply = format!("{{{lab},method=\"ApplyResourceChange\"");
    assert_eq!(
        one(&format!("flightdeck_calls_total{apply},outcome=\"ok\"}}")),
        2.0
    );
    assert_eq!(
        one(&format!("flightdeck_call_duration_seconds_count{apply}}}")),
        2.0
    );
    assert_eq!(one(&format!("flightdeck_pool_slots{{{lab}}}")), 10.0);
    assert_eq!(one("flightdeck_events_missed"), 0.0);
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(
        !text.contains("lab_thing") && !text.contains("cloud.json"),
        "{text}"
    );

    assert!(
        http_request(address, "GET", "/")
            .0
            .starts_with("HTTP/1.1 404 ")
    );
    let (head, text) = ask_as(address, "evil.example", "GET", "/metrics");
    assert!(
        head.starts_with("HTTP/1.1 421 ") && !text.contains("flightdeck_"),
        "{head}\n{text}"
    );
    let (head, _) = http_request(address, "POST", "/metrics");
    assert!(
        head.starts_with("HTTP/1.1 405 ") && head.contains("allow: GET, HEAD"),
        "{head}"
    );

    w.write("go", "");
    assert_eq!(deploy.end(), Some(0));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn silent_client_delays_neither_the_deploy_nor_other_clients() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let args = ["deploy", "--auto-approve", "--json", "--metrics", ":0"];
    let mut deploy = RunningCommand::begin(&w, &args);
    let address = deploy.address();
    let silent: Vec<TcpStream> = (0..7)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let (head, _) = http_request(address, "GET", "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    w.write("go", "");
    assert_eq!(deploy.end(), Some(0));
    drop(silent);
}

#[test]
fn invalid_or_used_metrics_address_is_refused() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let run = w.run(&["stage", "--metrics", &taken]).expect(1);
    let words = format!("cannot serve metrics at {taken}: ");
    assert!(run.stderr.contains(&words), "{run:#?}");
    assert!(
        run.stderr.contains("pass another address with --metrics"),
        "{run:#?}"
    );
    let run = w.run(&["stage", "--metrics", "localhost"]).expect(1);
    assert!(
        run.stderr.contains("expected a port, such as 9464"),
        "{run:#?}"
    );
    let run = w.run(&["fmt", "--metrics", "0"]).expect(1);
    assert!(
        run.stderr.contains("`fmt` does not support --metrics"),
        "{run:#?}"
    );
}
