//! What can be set about launching, and what is launched. Plain data, owned by whoever makes the
//! supervisor.

use super::life::Arrival;
use crate::engine::settings::{CrashSettings, LaunchSettings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Limits of launching, running and stopping a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// How often, for how long and at which distance it is launched; the time to end.
    pub launch: LaunchSettings,
    /// Whether a plugin that died while it was ready is launched again by itself.
    pub relaunch_after_crash: bool,
    /// When it is launched no more.
    pub crashes: CrashSettings,
    /// Whether the schema is asked for as part of the launch. Without, a second process of a
    /// provider whose schema is known starts faster; only for providers that say they allow it.
    pub fetch_schema: bool,
    /// How long a process that was replaced may have calls until it is said.
    pub drain: Duration,
    /// How often CPU and memory are looked at.
    pub usage_every: Duration,
    /// Where digests of plugins are cached; in memory alone where `None`.
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

/// How long a process may take from exec to its arrival.
pub(super) fn deadline_of(settings: &LaunchSettings, arrival: Arrival) -> Duration {
    match arrival {
        Arrival::Handshake => settings.deadline,
        Arrival::Registration => settings.registration_deadline,
    }
}

/// How long to wait after launch `number` (from 1) failed: 0.5, 1, 2, 4 s by default, the last one
/// repeated.
pub(super) fn backoff_after(settings: &LaunchSettings, number: u32) -> Duration {
    let index = (number.saturating_sub(1) as usize).min(settings.backoff.len().saturating_sub(1));
    settings.backoff.get(index).copied().unwrap_or_default()
}

/// A program to run as a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpawnSpec {
    pub executable: PathBuf,
    pub args: Vec<OsString>,
    /// Put on top of the inherited environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory; ours where `None`. Providers resolve relative paths against it.
    pub directory: Option<PathBuf>,
    /// The only files that it may be launched from: a package's directory or an executable, and
    /// the digest that they must have.
    pub approved: Option<(PathBuf, String)>,
}

/// Where a process listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A unix socket by its path.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Why a text names no place where a process could listen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SocketError {
    #[error("the path of the unix socket is empty")]
    NoPath,
    #[error("{0:?} is not an address of the form HOST:PORT")]
    Tcp(String),
    #[error("the network {0:?} is unknown (`unix` and `tcp` are known)")]
    Network(String),
}

impl Address {
    /// Reads a network, `unix` or `tcp`, and an address of it.
    ///
    /// # Errors
    /// What is wrong with it.
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

/// A process that somebody else runs, as `TF_REATTACH_PROVIDERS` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reattach {
    /// The version of its dialect.
    pub protocol: u32,
    pub pid: Option<u32>,
    /// Set by providers under test. Informative: a process that we did not start is never ended by
    /// us.
    pub test: bool,
    pub address: Address,
}

/// How a plugin comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// As a child process of ours.
    Spawn(SpawnSpec),
    /// It runs already.
    Attach(Reattach),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_have_15_seconds_and_handshakes_a_minute() {
        let settings = LaunchSettings::default();
        let seconds = |arrival| deadline_of(&settings, arrival).as_secs();
        assert_eq!(seconds(Arrival::Registration), 15);
        assert_eq!(seconds(Arrival::Handshake), 60);
    }

    #[test]
    fn backoff_grows_and_then_repeats() {
        let mut settings = LaunchSettings::default();
        let waits: Vec<u128> = (1..=6)
            .map(|n| backoff_after(&settings, n).as_millis())
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 4_000, 4_000]);
        settings.backoff.clear();
        assert_eq!(backoff_after(&settings, 1), Duration::ZERO);
    }
}
