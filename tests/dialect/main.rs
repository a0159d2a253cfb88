//! Tests of another dialect through the whole engine, which was not changed for it. Its plugin
//! registers at a socket of flightdeck, and is supervised, staged and deployed like any other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod lines_dialect;
mod lines_provider;

use engine::Engine;
use lines_dialect::Lines;
use model::bus::{Subscription, Update};
use model::settings::Settings;
use model::{
    Action, DeployOutcome, DeployRequest, EventKind, LaunchAttempt, PluginEvent, StageMode,
    StageRequest,
};
use provider::dialect::Dialects;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Longest wait of any test.
const PATIENCE: Duration = Duration::from_secs(300);

/// Two resources of two configurations, which one process serves.
const MAIN: &str = r#"
terraform {
  required_providers {
    things = { source = "test.local/lines/things" }
  }
}
provider "things" {
  region = "north"
}
provider "things" {
  alias  = "south"
  region = "south"
}
resource "things_thing" "a" {
  name = "a"
}
resource "things_thing" "b" {
  provider = things.south
  name     = "b-after-${things_thing.a.id}"
}
"#;

/// Engine with the additional dialect, in a workspace with the plugin installed.
struct Bench {
    folder: TempDir,
    engine: Engine,
    events: Subscription,
    /// Events about the plugin so far.
    told: Vec<PluginEvent>,
}

impl Bench {
    async fn new(faults: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("main.tf"), MAIN).unwrap();
        std::fs::write(folder.path().join("faults"), faults).unwrap();
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let package = format!(
            ".terraform/providers/test.local/lines/things/1.0.0/{}_{arch}",
            std::env::consts::OS
        );
        let package = folder.path().join(package);
        std::fs::create_dir_all(&package).unwrap();
        std::os::unix::fs::symlink(
            env!("CARGO_BIN_EXE_lines-plugin"),
            package.join("terraform-provider-things"),
        )
        .unwrap();
        let mut settings = Settings::new(folder.path());
        settings.launch.attempts = 2;
        settings.launch.backoff = vec![Duration::from_millis(5)];
        let engine =
            Engine::start_with_dialects(Dialects::default().with(Arc::new(Lines)), settings)
                .await
                .unwrap();
        let (_, events) = engine.subscribe();
        Self {
            folder,
            engine,
            events,
            told: Vec::new(),
        }
    }

    /// Reads events until `look` returns a value for those about the plugin.
    async fn until<T>(&mut self, what: &str, look: impl Fn(&[PluginEvent]) -> Option<T>) -> T {
        let reading = async {
            loop {
                if let Some(found) = look(&self.told) {
                    return found;
                }
                let Some(Update::Events(batch)) = self.events.recv().await else {
                    panic!("the events end before {what}")
                };
                let of_it = batch.iter().filter_map(|e| {
                    if let EventKind::Plugin(event) = &e.kind {
                        Some(event.clone())
                    } else {
                        None
                    }
                });
                self.told.extend(of_it.filter(|event| !is_builtin(event)));
            }
        };
        tokio::time::timeout(PATIENCE, reading)
            .await
            .unwrap_or_else(|_| panic!("waited for {what} in vain"))
    }

    /// The `count`th finished launch attempt.
    async fn attempt(&mut self, count: usize) -> LaunchAttempt {
        let ended = |event: &PluginEvent| match event {
            PluginEvent::Attempt { attempt, .. } if attempt.verdict.is_some() => {
                Some(attempt.clone())
            }
            _ => None,
        };
        self.until("the end of a launch", |told| {
            told.iter().filter_map(ended).nth(count - 1)
        })
        .await
    }

    /// Names of the plugin's states, in order.
    fn states(&self) -> Vec<&'static str> {
        let word = |e: &PluginEvent| {
            if let PluginEvent::State { state, .. } = e {
                Some(state.label())
            } else {
                None
            }
        };
        self.told.iter().filter_map(word).collect()
    }

    /// Activities of a launch, phase by phase.
    fn activities(&self) -> Vec<String> {
        let doing = |e: &PluginEvent| {
            if let PluginEvent::Attempt { attempt, .. } = e {
                attempt.doing.clone()
            } else {
                None
            }
        };
        let mut all: Vec<String> = self.told.iter().filter_map(doing).collect();
        all.dedup();
        all
    }

    async fn stage(&self, mode: StageMode) -> (i64, Vec<(String, Action)>) {
        let summary = self
            .engine
            .stage(StageRequest {
                mode,
                ..StageRequest::default()
            })
            .await
            .unwrap();
        (
            summary.stage,
            summary
                .changes
                .iter()
                .map(|c| (c.address.clone(), c.action))
                .collect(),
        )
    }

    async fn deploy(&self, stage: i64) {
        let summary = self
            .engine
            .deploy(DeployRequest {
                stage,
                only: None,
                parallelism: 2,
                variables: Vec::new(),
            })
            .await
            .unwrap();
        assert_eq!(summary.outcome, DeployOutcome::Succeeded, "{summary:#?}");
    }

    /// Objects in the plugin's world.
    fn world(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path().join("world"))
            .into_iter()
            .flatten()
            .flatten();
        let mut all: Vec<String> = files
            .map(|file| std::fs::read_to_string(file.path()).unwrap())
            .collect();
        all.sort();
        all
    }
}

/// The built-in provider also emits plugin events.
fn is_builtin(event: &PluginEvent) -> bool {
    matches!(event, PluginEvent::State { plugin, .. } | PluginEvent::Found { plugin, .. } if *plugin.0 == *"builtin/terraform")
}

fn phases(attempt: &LaunchAttempt) -> Vec<String> {
    // `first_output` is recorded independently and can occur between any two phases.
    attempt
        .phases
        .iter()
        .map(|p| p.name.label())
        .filter(|word| word != "output")
        .collect()
}

fn named(changes: &[(String, Action)], action: Action) -> Vec<&str> {
    changes
        .iter()
        .filter(|(_, a)| *a == action)
        .map(|(address, _)| address.as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_another_dialect_is_staged_and_deployed() {
    let mut bench = Bench::new("").await;
    let (stage, changes) = bench.stage(StageMode::Normal).await;
    assert_eq!(
        named(&changes, Action::Create),
        ["things_thing.a", "things_thing.b"],
        "{changes:?}"
    );

    // The launch attempt has each phase with its milliseconds, and the process.
    let attempt = bench.attempt(1).await;
    assert_eq!(
        phases(&attempt),
        ["exec", "registered", "answered", "schema"]
    );
    assert_eq!(
        attempt.verdict.as_ref().map(|v| v.kind.word()),
        Some("ready")
    );
    let pid = attempt.pid.unwrap();
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    bench
        .until("the plugin to be ready", |told| {
            told.iter()
                .find(|e| matches!(e, PluginEvent::State { state, .. } if state.label() == "ready"))
                .map(|_| ())
        })
        .await;
    assert_eq!(
        bench.states(),
        ["discovered", "launching", "registering", "ready"]
    );
    assert_eq!(
        bench.activities(),
        [
            "waiting for it to register",
            "asking what it is called",
            "asking for its schema"
        ]
    );
    let dialect = |told: &[PluginEvent]| {
        told.iter().find_map(|e| {
            if let PluginEvent::Found { found, .. } = e {
                found.dialect.clone()
            } else {
                None
            }
        })
    };
    assert_eq!(bench.until("its dialect", dialect).await, "lines1");

    bench.deploy(stage).await;
    let (a, b) = (
        r#"{"name":"a","id":"id-of-a","region":"north"}"#,
        r#"{"name":"b-after-id-of-a","id":"id-of-b-after-id-of-a","region":"south"}"#,
    );
    assert_eq!(
        bench.world(),
        [a, b],
        "each call has the configuration that it belongs to"
    );
    let plugins = bench.engine.subscribe().0.plugins;
    assert_eq!(
        plugins.keys().map(|id| &*id.0).collect::<Vec<_>>(),
        ["builtin/terraform", "test.local/lines/things"],
        "one process serves both"
    );

    // The process is killed, and another one is launched.
    let killed = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    let again = bench.attempt(2).await;
    assert_ne!(again.pid, attempt.pid);
    assert_eq!(phases(&again), phases(&attempt));
    let crashes = |told: &[PluginEvent]| {
        told.iter()
            .filter(|e| {
                matches!(
                    e,
                    PluginEvent::Crash {
                        signal: Some(9),
                        ..
                    }
                )
            })
            .count()
    };
    assert_eq!(crashes(&bench.told), 1);
    assert_eq!(bench.states()[4..7], ["crashed", "backoff", "launching"]);

    let (_, changes) = bench.stage(StageMode::Normal).await;
    assert_eq!(
        named(&changes, Action::NoOp).len(),
        2,
        "read back from the world: {changes:?}"
    );
    let (stage, _) = bench.stage(StageMode::Destroy).await;
    bench.deploy(stage).await;
    assert_eq!(bench.world(), Vec::<String>::new());

    bench.engine.shutdown().await;
    let last = |told: &[PluginEvent]| {
        let line = |e: &PluginEvent| matches!(e, PluginEvent::Log { line } if line.text == "ended when it was asked to");
        told.iter().any(line).then_some(())
    };
    bench.until("its last word", last).await;
    assert!(!Path::new(&format!("/proc/{}", again.pid.unwrap())).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_or_refused_registration_is_reported() {
    let mut bench = Bench::new("ends\nforeign\n").await;
    bench
        .engine
        .stage(StageRequest::default())
        .await
        .unwrap_err();
    let (first, second) = (bench.attempt(1).await, bench.attempt(2).await);
    let verdicts = [&first, &second].map(|a| a.verdict.clone().unwrap());
    assert_eq!(
        (verdicts[0].kind.word(), first.exit_code),
        ("exited", Some(3))
    );
    let text = &verdicts[0].text;
    assert!(text.starts_with("the process ended before its registration: exit code 3; last output: no licence was found"), "{text}");
    assert_eq!(verdicts[1].kind.word(), "registered_as_another");
    assert_eq!(
        verdicts[1].text,
        "it is installed as things and calls itself \"somebody\""
    );
    assert_eq!(
        (phases(&first), phases(&second)),
        (vec!["exec".to_owned()], vec!["exec".to_owned()])
    );
    bench.engine.shutdown().await;
}
