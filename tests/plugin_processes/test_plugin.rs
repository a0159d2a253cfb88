//! Shared parts of the tests: an event recorder that can be awaited, plugins made of shell scripts,
//! and reads of `/proc`.

use model::*;
use plugin::{Connection, Plugin, PluginObserver, PluginSettings, Plugins, SpawnSpec, Start};
use provider::tfplugin::{TfLifecycle, TfLink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait of any test.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Records every event, and wakes waiting tests.
pub struct EventRecorder(watch::Sender<Vec<PluginEvent>>);

impl PluginObserver for EventRecorder {
    fn event(&self, event: PluginEvent) {
        self.0.send_modify(|all| all.push(event));
    }

    fn secrets(&self) -> engine::Secrets {
        engine::Secrets::default()
    }
}

impl EventRecorder {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(Vec::new())))
    }

    pub fn all(&self) -> Vec<PluginEvent> {
        self.0.borrow().clone()
    }

    /// Waits until `look` returns a value for the events.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&[PluginEvent]) -> Option<T>) -> T {
        let mut events = self.0.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(&events.borrow_and_update()) {
                    return found;
                }
                events.changed().await.expect("observer");
            }
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => panic!("waited for {what} in vain: {:#?}", self.all()),
        }
    }

    /// Names of the states, in order.
    pub fn states(&self) -> Vec<&'static str> {
        let word = |e: &PluginEvent| {
            if let PluginEvent::State { state, .. } = e {
                Some(state.label())
            } else {
                None
            }
        };
        self.all().iter().filter_map(word).collect()
    }

    /// Latest event of each launch attempt.
    pub fn attempts(&self) -> Vec<LaunchAttempt> {
        let mut ended = Vec::new();
        for event in self.all() {
            if let PluginEvent::Attempt { attempt, .. } = event
                && attempt.verdict.is_some()
            {
                ended.push(attempt);
            }
        }
        ended
    }

    pub fn lines(&self) -> Vec<LogLine> {
        self.all()
            .into_iter()
            .filter_map(|e| {
                if let PluginEvent::Log { line } = e {
                    Some(line)
                } else {
                    None
                }
            })
            .collect()
    }
}

/// Short limits, so that failures are quick.
pub fn settings() -> PluginSettings {
    let mut settings = PluginSettings::default();
    settings.launch.backoff = vec![Duration::from_millis(5)];
    settings.launch.deadline = Duration::from_secs(240);
    settings.launch.connect_deadline = Duration::from_secs(240);
    settings
}

pub fn found() -> PluginFound {
    PluginFound {
        address: "registry.terraform.io/test/test".into(),
        version: None,
        dialect: None,
        executable: None,
        source: "test".into(),
        why: "test".into(),
        ..PluginFound::default()
    }
}

/// Plugin that is a shell with `script`; `$1` is the directory of the test.
pub fn shell_plugin(script: &str, folder: &Path) -> Start {
    let args = ["-c", script, "plugin"]
        .iter()
        .map(Into::into)
        .chain([folder.into()])
        .collect();
    Start::Spawn(SpawnSpec {
        executable: "/bin/sh".into(),
        args,
        ..SpawnSpec::default()
    })
}

pub fn program(path: impl Into<PathBuf>) -> Start {
    Start::Spawn(SpawnSpec {
        executable: path.into(),
        ..SpawnSpec::default()
    })
}

pub struct Bench {
    pub ear: Arc<EventRecorder>,
    pub plugins: Plugins,
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new(settings: PluginSettings) -> Self {
        let ear = EventRecorder::new();
        let plugins = Plugins::start(settings, ear.clone());
        Self {
            ear,
            plugins,
            folder: tempfile::tempdir().expect("folder"),
        }
    }

    pub fn add(&self, start: Start) -> Plugin {
        self.add_attached(start, TfLifecycle::default())
    }

    pub fn add_attached(&self, start: Start, life: TfLifecycle) -> Plugin {
        self.plugins
            .add(PluginId("test/test".into()), found(), start, Arc::new(life))
    }

    pub fn shell(&self, script: &str) -> Plugin {
        self.add(shell_plugin(script, self.folder.path()))
    }

    /// Number of lines in a file of the directory.
    pub fn count(&self, file: &str) -> usize {
        std::fs::read_to_string(self.folder.path().join(file))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// Number that a script wrote to a file.
    pub fn number(&self, file: &str) -> u32 {
        let text = std::fs::read_to_string(self.folder.path().join(file)).expect("file");
        text.trim().parse().expect("number")
    }
}

/// Link of a provider's connection.
pub fn provider_link(connection: &Connection) -> &TfLink {
    connection.link().expect("a provider's")
}

/// State letter of a process; `None` once it was reaped.
pub fn process_state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

/// Waits until a process has ended; it may stay a zombie until its parent reaps it.
pub async fn wait_until_ended(pid: u32) {
    let dead = async {
        while !matches!(process_state(pid), None | Some('Z' | 'X')) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, dead)
        .await
        .unwrap_or_else(|_| panic!("process {pid} still runs"));
}
