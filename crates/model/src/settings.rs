//! Settings of an engine: defaults, overridden by the front end.

use crate::{Endpoint, VariableFlag};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Access of an engine to its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Does not open the store: for commands that read no state and record nothing.
    NoStore,
    /// Like [`Access::ReadOnly`], but continues with a warning without a store that this user may
    /// not open: for commands on the state of record, which is readable without it.
    ReadState,
    /// Takes no lock and changes nothing. A workspace without a store has an empty history.
    #[default]
    ReadOnly,
    /// May take the lock to stage, deploy or change the state.
    ReadWrite,
}

impl Access {
    /// May the engine change the workspace?
    pub fn can_write(self) -> bool {
        self == Self::ReadWrite
    }
}

/// Launch settings of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSettings {
    /// Maximum number of launch attempts.
    pub attempts: u32,
    /// From exec to the handshake line.
    pub deadline: Duration,
    /// From exec to the registration of a plugin that registers itself.
    pub registration_deadline: Duration,
    /// For all launch attempts of a plugin and the pauses between them; `None` means no limit.
    pub total: Option<Duration>,
    /// From the handshake line to the first answer.
    pub connect_deadline: Duration,
    /// For the answer with the schema.
    pub schema_deadline: Duration,
    /// Pauses before the second, third, … launch; the last one repeats.
    pub backoff: Vec<Duration>,
    /// From the shutdown request to the kill.
    pub grace: Duration,
}

impl Default for LaunchSettings {
    fn default() -> Self {
        Self {
            attempts: 5,
            deadline: Duration::from_secs(60),
            registration_deadline: Duration::from_secs(15),
            total: None,
            connect_deadline: Duration::from_secs(10),
            schema_deadline: Duration::from_secs(60),
            backoff: [500, 1_000, 2_000, 4_000]
                .map(Duration::from_millis)
                .to_vec(),
            grace: Duration::from_secs(2),
        }
    }
}

/// Limits of crashes of a running plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashSettings {
    /// Number of crashes within the window after which the plugin gives up; at least one.
    pub limit: u32,
    /// Age after which a crash does not count.
    pub window: Duration,
}

impl Default for CrashSettings {
    fn default() -> Self {
        Self {
            limit: 5,
            window: Duration::from_secs(600),
        }
    }
}

/// Retries of calls with a temporary failure, if the dialect allows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    /// Maximum number of attempts.
    pub attempts: u32,
    /// Pauses before the second, third, … attempt; the last one repeats.
    pub backoff: Vec<Duration>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 5,
            backoff: [1, 2, 4, 8].map(Duration::from_secs).to_vec(),
        }
    }
}

impl RetrySettings {
    /// Pause after this many attempts.
    pub fn pause_after(&self, made: u32) -> Duration {
        let index = (made.saturating_sub(1) as usize).min(self.backoff.len().saturating_sub(1));
        self.backoff.get(index).copied().unwrap_or_default()
    }
}

/// Number and lifetime of provider processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Maximum number of processes of one provider configuration; at least one. Another one is
    /// started when all slots are taken and a call waits.
    pub processes: u32,
    /// Idle time after which a process is ended until its next use; `None` means never.
    pub idle_timeout: Option<Duration>,
    /// A waiting call gives up if no slot becomes free within this time.
    pub wait_timeout: Duration,
    /// Conditions for replacing a running process.
    pub renew: RenewSettings,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            processes: 1,
            idle_timeout: None,
            wait_timeout: Duration::from_secs(3_600),
            renew: RenewSettings::default(),
        }
    }
}

/// Conditions for replacing a running process, in addition to a changed executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewSettings {
    /// Maximum age.
    pub age: Option<Duration>,
    /// Maximum number of calls.
    pub calls: Option<u64>,
    /// Maximum memory, in bytes.
    pub memory: Option<u64>,
    /// Minimum age of a replaced process. If a limit is below a process's needs, it would otherwise
    /// be replaced endlessly.
    pub youngest: Duration,
    /// Time after which a draining process that still has calls is reported.
    pub drain: Duration,
}

impl Default for RenewSettings {
    fn default() -> Self {
        Self {
            age: None,
            calls: None,
            memory: None,
            youngest: Duration::from_secs(30),
            drain: Duration::from_secs(600),
        }
    }
}

/// Files that replace the configured state file, relative to the workspace directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateFiles {
    /// File to read, and to write unless `out` is set.
    pub state: Option<PathBuf>,
    /// File to write.
    pub out: Option<PathBuf>,
    /// File for the backup; `-` means none.
    pub backup: Option<PathBuf>,
    /// `state` also replaces a state in a backend.
    pub any_backend: bool,
}

impl StateFiles {
    /// No flag names a file.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Directory of the configuration.
    pub workspace: PathBuf,
    /// Selected workspace, `terraform.workspace`; empty for the default one.
    pub workspace_name: String,
    /// Interval of writes to the backend during a deploy.
    pub backend_write_interval: Duration,
    /// Time for which a deploy waits while an operator pauses a rollout.
    pub rollout_pause: Duration,
    /// Maximum wait for a state or workspace lock that another program has.
    pub lock_timeout: Duration,
    /// Take the state lock. The workspace lock is always taken.
    pub lock_state: bool,
    /// Serial of an older state that the operator accepts.
    pub accept_older_state: Option<i64>,
    pub state_files: StateFiles,
    /// Values of variables that the backend and the encryption of the state may depend on.
    pub variables: Vec<VariableFlag>,
    /// Show sensitive values in rows of the state.
    pub shows_sensitive: bool,
    pub access: Access,
    /// A plugin that gave up ends the command (headless) instead of only blocking its dependents
    /// (console). Does not apply to transformers.
    pub strict: bool,
    pub launch: LaunchSettings,
    pub crashes: CrashSettings,
    pub retry: RetrySettings,
    /// Slots of each process of a provider configuration.
    pub slots: u32,
    pub service: ServiceSettings,
    /// Maximum number of concurrent operations or plans.
    pub parallelism: usize,
    /// Additional environment variables of bundled plugins.
    pub bundled_environment: Vec<(String, String)>,
    /// Search path for Bluelink plugins, in place of the environment's.
    pub plugin_path: Option<PathBuf>,
    /// Directories of providers under development, by the name of the provider. They come before
    /// all other places except a provider that already runs.
    pub development: BTreeMap<String, PathBuf>,
    /// Memory limit of this process in bytes; the default is half of the machine's memory.
    pub memory: Option<u64>,
    /// File with trust decisions about workspace plugins; never inside a workspace.
    pub trusted_plugins: Option<PathBuf>,
    /// Bind the store to a key of this user, so that a store that came with a clone is set aside.
    pub binds_store: bool,
    /// Cache file for plugin digests; ignored inside the workspace.
    pub digest_cache: Option<PathBuf>,
    /// Directory of the user's overlays of resource types.
    pub types: Option<PathBuf>,
    /// Emit an event for each step of an object, for programs that follow them.
    pub object_steps: bool,
    /// Endpoint for traces of deploys.
    pub traces: Option<Endpoint>,
    /// Reason of the workspace lock, shown to others: `console`, `deploy`.
    pub reason: String,
}

impl Settings {
    /// Defaults for a workspace.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            workspace_name: String::new(),
            backend_write_interval: Duration::from_secs(10),
            rollout_pause: Duration::from_secs(3_600),
            lock_timeout: Duration::ZERO,
            lock_state: true,
            accept_older_state: None,
            state_files: StateFiles::default(),
            variables: Vec::new(),
            shows_sensitive: false,
            access: Access::ReadWrite,
            strict: true,
            launch: LaunchSettings::default(),
            crashes: CrashSettings::default(),
            retry: RetrySettings::default(),
            slots: 10,
            service: ServiceSettings::default(),
            parallelism: 10,
            bundled_environment: Vec::new(),
            plugin_path: None,
            development: BTreeMap::new(),
            memory: None,
            trusted_plugins: None,
            binds_store: false,
            digest_cache: None,
            types: None,
            object_steps: false,
            traces: None,
            reason: "command".to_owned(),
        }
    }
}
