//! Settings of launches, and the program to launch. Plain data, owned by the creator of the
//! supervisor.

use super::lifecycle::Arrival;
use model::settings::{CrashSettings, LaunchSettings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Limits of launching, running and stopping a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// Attempts, deadlines and backoff of launches, and the grace period of an end.
    pub launch: LaunchSettings,
    /// True to launch a plugin again after it crashed while it was ready.
    pub relaunch_after_crash: bool,
    /// Limit of crashes, after which the plugin is not launched again.
    pub crashes: CrashSettings,
    /// True to fetch the schema during the launch. Without, a further process of a provider with a
    /// known schema starts faster; only for providers that declare the schema optional.
    pub fetch_schema: bool,
    /// Time after which a replaced process with remaining calls is reported as overdue.
    pub drain: Duration,
    /// Interval of the CPU and memory measurements.
    pub usage_every: Duration,
    /// File of cached plugin digests; `None` caches in memory only.
    pub digest_cache: Option<PathBuf>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            launch: LaunchSettings::default(),
            relaunch_after_crash: true,
            crashes: CrashSettings::default(),
            fetch_schema: true,
            drain: Duration::from_secs(600),
            usage_every: Duration::from_secs(2),
            digest_cache: None,
        }
    }
}

/// Returns the time limit from exec to handshake or registration.
pub(super) fn deadline_of(settings: &LaunchSettings, arrival: Arrival) -> Duration {
    match arrival {
        Arrival::Handshake => settings.deadline,
        Arrival::Registration => settings.registration_deadline,
    }
}

/// Returns the pause after failed launch `number` (from 1): 0.5, 1, 2, 4 s by default, the last one
/// repeated.
pub(super) fn backoff_after(settings: &LaunchSettings, number: u32) -> Duration {
    let index = (number.saturating_sub(1) as usize).min(settings.backoff.len().saturating_sub(1));
    settings.backoff.get(index).copied().unwrap_or_default()
}

/// Program to run as a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpawnSpec {
    pub executable: PathBuf,
    pub args: Vec<OsString>,
    /// Variables added to the inherited environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Working directory; `None` inherits it. Providers resolve relative paths against it.
    pub directory: Option<PathBuf>,
    /// Approved files, a package's directory or an executable, with their digest. Other contents
    /// are not launched.
    pub approved: Option<(PathBuf, String)>,
}

/// Address that a process listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Path of a Unix socket.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Error of a text that is not an address to listen on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SocketError {
    #[error("the path of the Unix socket is empty")]
    NoPath,
    #[error("{0:?} is not an address of the form HOST:PORT")]
    Tcp(String),
    #[error("unknown network {0:?}: expected `unix` or `tcp`")]
    Network(String),
}

impl Address {
    /// Parses an address of a network, `unix` or `tcp`.
    ///
    /// # Errors
    /// The network is unknown or the address is invalid.
    pub fn parse(network: &str, text: &str) -> Result<Self, SocketError> {
        match network {
            "unix" if text.is_empty() => Err(SocketError::NoPath),
            "unix" => Ok(Self::Unix(PathBuf::from(text))),
            "tcp" => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| SocketError::Tcp(text.to_owned())),
            other => Err(SocketError::Network(other.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// Process started by others, as `TF_REATTACH_PROVIDERS` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reattach {
    /// Version of the plugin protocol.
    pub protocol: u32,
    pub pid: Option<u32>,
    /// Set by providers under test. Informative only: flightdeck never ends a process that it did
    /// not start.
    pub test: bool,
    pub address: Address,
}

/// Way to obtain the process of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// Launch a child process.
    Spawn(SpawnSpec),
    /// Connect to a running process.
    Attach(Reattach),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_launch_deadlines_are_15_and_60_seconds() {
        let settings = LaunchSettings::default();
        let seconds = |arrival| deadline_of(&settings, arrival).as_secs();
        assert_eq!(seconds(Arrival::Registration), 15);
        assert_eq!(seconds(Arrival::Handshake), 60);
    }

    #[test]
    fn backoff_grows_and_then_repeats_the_last_value() {
        let mut settings = LaunchSettings::default();
        let waits: Vec<u128> = (1..=6)
            .map(|n| backoff_after(&settings, n).as_millis())
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 4_000, 4_000]);
        settings.backoff.clear();
        assert_eq!(backoff_after(&settings, 1), Duration::ZERO);
    }
}
