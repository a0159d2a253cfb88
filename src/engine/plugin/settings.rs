//! What can be set about launching, and what is launched. Plain data, owned by whoever makes the supervisor.

use super::find::Surroundings;
use crate::engine::settings::LaunchSettings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use wire::Address;

/// Limits of launching, running and stopping a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// How often, for how long and at which distance it is launched; the time to end.
    pub launch: LaunchSettings,
    /// Whether a plugin that died while it was ready is launched again by itself.
    pub relaunch_after_crash: bool,
    /// With this many crashes within `crash_window` the plugin is given up.
    pub crash_limit: usize,
    pub crash_window: Duration,
    /// Whether the schema is asked for as part of the launch. Without, a second process of a provider whose schema is
    /// known starts faster; only for providers that say they allow it.
    pub fetch_schema: bool,
    /// Whether the connection is encrypted both ways (AutoMTLS).
    pub tls: bool,
    /// How often CPU and memory are looked at.
    pub usage_every: Duration,
    /// Protocol versions that are offered.
    pub protocols: Vec<u32>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            launch: LaunchSettings::default(),
            relaunch_after_crash: true,
            crash_limit: 5,
            crash_window: Duration::from_secs(600),
            fetch_schema: true,
            tls: true,
            usage_every: Duration::from_secs(2),
            protocols: vec![5, 6],
        }
    }
}

impl PluginSettings {
    /// With what the environment says: any value of `TF_DISABLE_PLUGIN_TLS` does without encryption.
    #[must_use]
    pub fn heeding(self, around: &Surroundings) -> Self {
        let tls = self.tls && !around.variables.contains_key(wire::env::DISABLE_TLS);
        Self { tls, ..self }
    }
}

/// How long to wait after launch `number` (from 1) failed: 0.5, 1, 2, 4 s by default, the last one repeated.
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
    /// The package that it is launched from with these files alone: its directory, and its `h1:` hash.
    pub approved: Option<(PathBuf, String)>,
}

/// A process that somebody else runs, as `TF_REATTACH_PROVIDERS` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reattach {
    pub protocol: u32,
    pub pid: Option<u32>,
    /// Set by providers under test. Informative: a process that we did not start is never ended by us.
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
    fn backoff_grows_and_then_repeats() {
        let mut settings = LaunchSettings::default();
        let waits: Vec<u128> = (1..=6).map(|n| backoff_after(&settings, n).as_millis()).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 4_000, 4_000]);
        settings.backoff.clear();
        assert_eq!(backoff_after(&settings, 1), Duration::ZERO);
    }
}
