//! Startup time of ten plugins launched at once, compared with the slowest of them alone. Each
//! plugin waits for a different time before it registers, the slowest for one second. Target: at
//! most 1.2 times the slowest. Also measures the registration service: the time until a plugin is
//! registered, and a state lookup over one connection (target: 2 ms). Of a provider on the SDK, it
//! measures the start until the handshake (target: 20 ms) and a call (target: 50 µs).
//!
//! ```text
//! cargo bench --bench fleet
//! ```

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first surprise")]

use sdk::testing::TestProvider;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[allow(dead_code, reason = "its main is not called")]
#[path = "../crates/sdk/examples/notes.rs"]
mod notes;

const PLUGINS: usize = 10;
const ROUNDS: usize = 7;
/// Lookups in one deploy.
const LOOKUPS: usize = 200;
/// Calls of a provider on the SDK.
const CALLS: u32 = 2_000;

/// Returns the wait of plugin `number` in hundredths of a second.
fn waits(number: usize) -> usize {
    10 * (number + 1)
}

/// Creates a plugin path with all plugins.
fn installed() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..PLUGINS {
        let id = format!("bluelink/p{number}");
        let folder = root.path().join(format!("providers/{id}/1.0.0"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("id"), &id).unwrap();
        // The plugin finds its files through the name that it is executed by.
        let script = format!(
            "#!/bin/bash\nsleep {}e-2\nexec -a \"$0\" '{}'\n",
            waits(number),
            env!("CARGO_BIN_EXE_bluelink-plugin")
        );
        let plugin = folder.join("plugin");
        std::fs::write(&plugin, script).unwrap();
        std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    root
}

/// Creates a plugin path with one plugin that does not wait.
fn quick() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(QUICK);
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bluelink-plugin"), folder.join("plugin"))
        .unwrap();
    let asks = format!("a lookup-often fake/box a {LOOKUPS}\n");
    std::fs::write(folder.join("asks"), asks).unwrap();
    root
}

/// Path of that plugin below its plugin path.
const QUICK: &str = "providers/bluelink/fake/1.0.0";

/// Deploys with that plugin. Returns milliseconds from exec to registration, and microseconds of a
/// lookup.
fn served(root: &Path) -> (u64, u64) {
    let work = tempfile::tempdir().unwrap();
    let main = "terraform {\n  required_providers {\n    fake = { source = \"bluelink/fake\" }\n  }\n}\n\
                resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
    std::fs::write(work.path().join("main.tf"), main).unwrap();
    let lines = run(work.path(), root, &["deploy", "--auto-approve", "--json"]);
    let attempt = lines.iter().rfind(|l| l["what"] == "attempt").unwrap();
    let mut phases = attempt["attempt"]["phases"].as_array().unwrap().iter();
    let registered = phases.find(|p| p["name"] == "registered").unwrap();
    let calls = std::fs::read_to_string(root.join(QUICK).join("calls")).unwrap();
    let mut asked = calls
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|call| call["method"] == "Asked");
    // The plugin itself measures its lookups and logs the result.
    let lookup = asked.next_back().unwrap()["ok"].as_u64().unwrap();
    (registered["at_ms"].as_u64().unwrap(), lookup)
}

/// Runs flightdeck and returns its JSON lines.
fn run(work: &Path, root: &Path, args: &[&str]) -> Vec<Value> {
    let run = Command::new(env!("CARGO_BIN_EXE_flightdeck"))
        .args(args)
        .current_dir(work)
        .env("BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH", root)
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stdout).unwrap();
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Returns milliseconds from the first launch until the last plugin is ready.
fn ready(root: &Path, numbers: impl Iterator<Item = usize>) -> u64 {
    let needed: String = numbers
        .map(|n| format!("    p{n} = {{ source = \"bluelink/p{n}\" }}\n"))
        .collect();
    let work = tempfile::tempdir().unwrap();
    let main = format!("terraform {{\n  required_providers {{\n{needed}  }}\n}}\n");
    std::fs::write(work.path().join("main.tf"), main).unwrap();
    let lines = run(work.path(), root, &["plugins", "--json"]);
    let result = lines.into_iter().find(|l| l["type"] == "result").unwrap();
    let all = result["plugins"].as_array().unwrap().iter();
    let attempts = all.flat_map(|p| p["attempts"].as_array().unwrap().clone());
    let times = attempts.map(|a| {
        let began = a["began"].as_u64().unwrap();
        (began, began + a["took_ms"].as_u64().unwrap())
    });
    let times: Vec<(u64, u64)> = times.collect();
    // A retry would include the pause between attempts.
    assert_eq!(times.len(), needed.lines().count(), "one launch each");
    let first = times.iter().map(|(began, _)| *began).min().unwrap();
    times.iter().map(|(_, ready)| *ready).max().unwrap() - first
}

/// Starts the SDK's example provider; returns microseconds until its host is connected.
async fn started() -> u64 {
    let program = Path::new(env!("CARGO_BIN_EXE_notes-provider"));
    let begun = Instant::now();
    let test = TestProvider::process(notes::provider(), program).await;
    let took = begun.elapsed();
    drop(test.unwrap());
    u64::try_from(took.as_micros()).unwrap()
}

/// Returns the mean time of a function call: the encoding of argument and result, and the call.
async fn called(test: TestProvider) -> Duration {
    let argument = [json!("My Note")];
    let begun = Instant::now();
    for _ in 0..CALLS {
        test.call_function("slug", &argument).await.unwrap();
    }
    begun.elapsed() / CALLS
}

/// Prints the times of a provider on the SDK.
async fn measure_sdk() {
    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        starts.push(started().await);
    }
    let start = middle(starts) as f64 / 1_000.0;
    println!("SDK provider connected       {start:.1} ms after exec (target 20 ms)");
    let local = called(TestProvider::in_process(notes::provider()).unwrap()).await;
    println!("call through the SDK         {local:.1?} (target 50 µs)");
    let remote = TestProvider::over_protocol(notes::provider())
        .await
        .unwrap();
    println!("the same over its socket     {:.1?}", called(remote).await);
}

fn middle(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

fn main() {
    let root = installed();
    let one = || ready(root.path(), PLUGINS - 1..PLUGINS);
    let all = || ready(root.path(), 0..PLUGINS);
    // In turns, so that variations of the machine affect both.
    let (alone, together) = (0..ROUNDS).map(|_| (one(), all())).unzip();
    let (alone, together) = (middle(alone), middle(together));
    println!("slowest plugin alone         ready after {alone} ms");
    println!(
        "{PLUGINS} plugins at once           all ready after {together} ms ({:.2} times, target 1.2)",
        together as f64 / alone as f64
    );
    let root = quick();
    let (registered, lookup) = (0..ROUNDS).map(|_| served(root.path())).unzip();
    println!(
        "plugin registered            {} ms after exec",
        middle(registered)
    );
    println!(
        "state lookup of a plugin     {:.2} ms (target 2 ms)",
        middle(lookup) as f64 / 1_000.0
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(measure_sdk());
}
