//! Settings of Bluelink plugins, from the environment variables of Bluelink's deploy engine. Plain
//! data.

use super::retry::{DEFAULT_POLICY, Policy};
use std::time::Duration;

/// Supported settings of the deploy engine.
#[derive(Debug, Clone, PartialEq)]
pub struct BluelinkSettings {
    /// Interval between stability checks.
    pub stability_interval: Duration,
    /// Maximum time until an object is stable.
    pub stable_within: Duration,
    /// Retry policy of providers without one.
    pub(super) retries: Policy,
    /// Timeout of a call between plugins.
    pub cross_plugin_timeout: Duration,
    /// Maximum time that a plugin waits for a resource lock.
    pub lock_within: Duration,
    /// Id of the deployed instance, a UUID that is the same in every run.
    pub instance_id: String,
    /// Display name of the instance.
    pub instance_name: String,
}

/// Variable prefixes, newer one first.
const PREFIXES: [&str; 2] = ["BLUELINK", "CELERITY"];

impl Default for BluelinkSettings {
    fn default() -> Self {
        Self {
            stability_interval: Duration::from_secs(5),
            stable_within: Duration::from_secs(3600),
            retries: DEFAULT_POLICY,
            cross_plugin_timeout: Duration::from_secs(120),
            lock_within: Duration::from_secs(15 * 60),
            instance_id: uuid::Uuid::nil().to_string(),
            instance_name: "workspace".to_owned(),
        }
    }
}

impl BluelinkSettings {
    /// Returns the settings for a workspace and its named state, from the environment.
    #[must_use]
    pub fn of(workspace: &std::path::Path, named: &str) -> Self {
        let usual = Self::default();
        // Resolved, so that a path through a link names the same instance.
        let place = workspace.canonicalize();
        let place = place.unwrap_or_else(|_| workspace.to_owned());
        let folder = place.file_name().map(|name| name.to_string_lossy());
        let folder = folder.unwrap_or_default();
        let whole = format!("{} {named}", place.display());
        // Derived from path and name, so that plugins recognise their objects in later runs.
        let id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, whole.as_bytes());
        Self {
            stability_interval: millis("RESOURCE_STABILISATION_POLLING_INTERVAL_MS", "BLUEPRINTS")
                .unwrap_or(usual.stability_interval),
            stable_within: millis("RESOURCE_STABILISATION_POLLING_TIMEOUT_MS", "PLUGINS_V1")
                .unwrap_or(usual.stable_within),
            retries: retries().unwrap_or(usual.retries),
            cross_plugin_timeout: millis("PLUGIN_TO_PLUGIN_CALL_TIMEOUT_MS", "PLUGINS_V1")
                .unwrap_or(usual.cross_plugin_timeout),
            lock_within: lock_timeout().unwrap_or(usual.lock_within),
            instance_id: id.to_string(),
            instance_name: match named {
                "" | "default" => folder.into_owned(),
                named => format!("{folder}-{named}"),
            },
        }
    }
}

/// Returns the maximum wait for a lock; the deploy engine has no variable for it.
fn lock_timeout() -> Option<Duration> {
    let said = std::env::var("FLIGHTDECK_RESOURCE_LOCK_MS").ok()?;
    said.trim().parse().ok().map(Duration::from_millis)
}

/// Returns a duration from the environment under either prefix; an invalid number is ignored.
fn millis(name: &str, section: &str) -> Option<Duration> {
    let (_, said) = read_variable(name, section)?;
    said.trim().parse().ok().map(Duration::from_millis)
}

/// Returns the full name and value of a setting under either prefix.
fn read_variable(name: &str, section: &str) -> Option<(String, String)> {
    let of = |prefix: &&str| {
        let name = format!("{prefix}_DEPLOY_ENGINE_{section}_{name}");
        let text = std::env::var(&name).ok()?;
        Some((name, text))
    };
    PREFIXES.iter().find_map(of)
}

/// Returns the retry policy from the environment; an invalid one is logged and ignored.
fn retries() -> Option<Policy> {
    let (name, text) = read_variable("DEFAULT_RETRY_POLICY", "BLUEPRINTS")?;
    Policy::of_setting(&text)
        .inspect_err(|error| {
            tracing::warn!(%error, "{name} is not a valid retry policy and is ignored");
        })
        .ok()
}
