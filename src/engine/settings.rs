//! Settings of an engine: defaults, overlaid by whoever starts it.

use super::words::{Endpoint, VariableFlag};
use std::path::PathBuf;
use std::time::Duration;

/// What an engine may do with its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Neither opens the store nor looks for it: for work that reads no state and records nothing.
    NoStore,
    /// As [`Access::ReadOnly`], and a store that this user may not open is passed over with a
    /// warning: for work on the state of record, which other programs keep too.
    ReadState,
    /// Takes no lock and changes nothing; a workspace without a store has an empty history.
    #[default]
    ReadOnly,
    /// May take the lock while it stages, deploys or changes the state.
    ReadWrite,
}

impl Access {
    /// Whether the engine may change the workspace.
    pub fn can_write(self) -> bool {
        self == Self::ReadWrite
    }
}

/// How plugins are launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSettings {
    /// Launches in all before the engine gives up.
    pub attempts: u32,
    /// From exec to the handshake line.
    pub deadline: Duration,
    /// From exec to the registration of a plugin that registers itself.
    pub registration_deadline: Duration,
    /// For all launches of a plugin together, with the pauses between them; no limit where `None`.
    pub total: Option<Duration>,
    /// From the handshake line to the first answer.
    pub connect_deadline: Duration,
    /// For the answer with the schema.
    pub schema_deadline: Duration,
    /// Pauses before the second, third, … launch; the last one repeats.
    pub backoff: Vec<Duration>,
    /// From asking a plugin to shut down to killing it.
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

/// When a plugin that dies in use is launched no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashSettings {
    /// With so many crashes within the window it is given up; at least one.
    pub limit: u32,
    /// A crash that is longer ago does not count any more.
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

/// How often a call is made again that failed for a moment, where its dialect allows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    /// Attempts in all.
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
    /// The pause after this many attempts.
    pub fn pause_after(&self, made: u32) -> Duration {
        let index = (made.saturating_sub(1) as usize).min(self.backoff.len().saturating_sub(1));
        self.backoff.get(index).copied().unwrap_or_default()
    }
}

/// How many processes serve, and how long each of them does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Processes of one provider configuration at most; one where it is less. Another one is
    /// started when all slots of those that run are held and somebody waits.
    pub processes: u32,
    /// One that nobody has used for so long is ended until somebody does; never where `None`.
    pub idle: Option<Duration>,
    /// A call that waits for a slot gives up when none became free for so long.
    pub wait: Duration,
    /// When another process takes the place of one that serves.
    pub renew: RenewSettings,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            processes: 1,
            idle: None,
            wait: Duration::from_secs(3_600),
            renew: RenewSettings::default(),
        }
    }
}

/// When another process takes the place of one that serves. Besides, whenever its file has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewSettings {
    /// It is older than that.
    pub age: Option<Duration>,
    /// It has had so many calls.
    pub calls: Option<u64>,
    /// It has more memory than so many bytes.
    pub memory: Option<u64>,
    /// One that is younger is not replaced for any of these: where a limit is lower than what a
    /// process needs, one would follow the other without end.
    pub youngest: Duration,
    /// How long one that was replaced may have calls until it is said.
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

/// Files that take the place of the configured state file, as seen from the workspace's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateFiles {
    /// The state is read here, and written here unless `out` is another file.
    pub state: Option<PathBuf>,
    /// The state is written here.
    pub out: Option<PathBuf>,
    /// The state as it was is kept here; `-` keeps none.
    pub backup: Option<PathBuf>,
    /// `state` takes the place of a state in a backend, too.
    pub any_backend: bool,
}

/// All that an engine needs to know to start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of the configuration.
    pub workspace: PathBuf,
    /// Which of the directory's states is worked on, `terraform.workspace`; empty for the default
    /// one.
    pub named: String,
    /// While a deploy runs, the state is written home when that long has passed since it was.
    pub home_every: Duration,
    /// How long is waited for a lock on the state that another program has.
    pub lock_timeout: Duration,
    /// The state's own lock is taken. The workspace's lock always is.
    pub lock_state: bool,
    pub state_files: StateFiles,
    /// Values of variables that the backend and the encryption of the state may depend on.
    pub variables: Vec<VariableFlag>,
    /// Rows of the state have their sensitive values in the clear.
    pub shows_sensitive: bool,
    pub access: Access,
    /// Whether a plugin that gave up ends the command (headless) or only blocks what needs it
    /// (console). A transformer does neither.
    pub strict: bool,
    pub launch: LaunchSettings,
    pub crashes: CrashSettings,
    pub retry: RetrySettings,
    /// Slots of each process of a provider configuration.
    pub slots: u32,
    pub service: ServiceSettings,
    /// Operations and plans at a time.
    pub parallelism: usize,
    /// Variables that bundled plugins get on top of the environment.
    pub bundled_environment: Vec<(String, String)>,
    /// Where plugins of Bluelink's kind are looked for, in the place of what the environment says.
    pub plugin_path: Option<PathBuf>,
    /// Bytes of memory that this process may take; half of the machine's where nothing is said.
    pub memory: Option<u64>,
    /// Where it is remembered which plugins that come with workspaces are trusted; never in a
    /// workspace.
    pub trusted_plugins: Option<PathBuf>,
    /// File in which digests of plugins are cached; ignored where it lies in the workspace.
    pub digest_cache: Option<PathBuf>,
    /// Whether each step of what is done with an object is said, for programs that follow them.
    pub follow: bool,
    /// Where deploys are sent to as traces.
    pub traces: Option<Endpoint>,
    /// Why the lock is held, for those who meet it: `console`, `deploy`.
    pub reason: String,
}

impl Settings {
    /// Defaults for a workspace.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            named: String::new(),
            home_every: Duration::from_secs(10),
            lock_timeout: Duration::ZERO,
            lock_state: true,
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
            memory: None,
            trusted_plugins: None,
            digest_cache: None,
            follow: false,
            traces: None,
            reason: "command".to_owned(),
        }
    }
}
