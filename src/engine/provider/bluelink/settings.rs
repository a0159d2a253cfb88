//! What can be set about Bluelink's plugins beside what holds for all: by the variables that its
//! own engine reads. Plain data.

use super::retry::{Policy, USUAL};
use std::time::Duration;

/// What of the deploy engine's settings holds here.
#[derive(Debug, Clone, PartialEq)]
pub struct BluelinkSettings {
    /// Between two looks whether what was deployed is stable.
    pub look_every: Duration,
    /// How long it may take to become stable.
    pub stable_within: Duration,
    /// How often calls are made again of a provider that does not say.
    pub(super) retries: Policy,
    /// How long a call of one plugin to another may take.
    pub between_plugins: Duration,
    /// How long a plugin may wait for the lock on a resource that another call holds.
    pub lock_within: Duration,
    /// The host's name of what it deploys to: a UUID that is the same in every run.
    pub instance_id: String,
    /// The same for people.
    pub instance_name: String,
}

/// Families of names, the newer first.
const PREFIXES: [&str; 2] = ["BLUELINK", "CELERITY"];

impl Default for BluelinkSettings {
    fn default() -> Self {
        Self {
            look_every: Duration::from_secs(5),
            stable_within: Duration::from_secs(3600),
            retries: USUAL,
            between_plugins: Duration::from_secs(120),
            lock_within: Duration::from_secs(15 * 60),
            instance_id: uuid::Uuid::nil().to_string(),
            instance_name: "workspace".to_owned(),
        }
    }
}

impl BluelinkSettings {
    /// For one workspace and one of its named states, as the environment has it.
    #[must_use]
    pub fn of(workspace: &std::path::Path, named: &str) -> Self {
        let usual = Self::default();
        let place = workspace.canonicalize();
        let place = place.unwrap_or_else(|_| workspace.to_owned());
        let folder = place.file_name().map(|name| name.to_string_lossy());
        let folder = folder.unwrap_or_default();
        let whole = format!("{} {named}", place.display());
        let id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, whole.as_bytes());
        Self {
            look_every: millis("RESOURCE_STABILISATION_POLLING_INTERVAL_MS", "BLUEPRINTS")
                .unwrap_or(usual.look_every),
            stable_within: millis("RESOURCE_STABILISATION_POLLING_TIMEOUT_MS", "PLUGINS_V1")
                .unwrap_or(usual.stable_within),
            retries: retries().unwrap_or(usual.retries),
            between_plugins: millis("PLUGIN_TO_PLUGIN_CALL_TIMEOUT_MS", "PLUGINS_V1")
                .unwrap_or(usual.between_plugins),
            lock_within: lock_within().unwrap_or(usual.lock_within),
            instance_id: id.to_string(),
            instance_name: match named {
                "" | "default" => folder.into_owned(),
                named => format!("{folder}-{named}"),
            },
        }
    }
}

/// The deploy engine has no variable of its own for this.
fn lock_within() -> Option<Duration> {
    let said = std::env::var("FLIGHTDECK_RESOURCE_LOCK_MS").ok()?;
    said.trim().parse().ok().map(Duration::from_millis)
}

/// A time of the environment, under either family of names. What is no number is as if it were not
/// there.
fn millis(name: &str, section: &str) -> Option<Duration> {
    let (_, said) = said(name, section)?;
    said.trim().parse().ok().map(Duration::from_millis)
}

/// A setting's whole name and its text, under either family of names.
fn said(name: &str, section: &str) -> Option<(String, String)> {
    let of = |prefix: &&str| {
        let name = format!("{prefix}_DEPLOY_ENGINE_{section}_{name}");
        let text = std::env::var(&name).ok()?;
        Some((name, text))
    };
    PREFIXES.iter().find_map(of)
}

/// How often calls are made again, as the environment has it. What cannot be read is said in our
/// log.
fn retries() -> Option<Policy> {
    let (name, text) = said("DEFAULT_RETRY_POLICY", "BLUEPRINTS")?;
    Policy::of_setting(&text)
        .inspect_err(|error| {
            tracing::warn!(%error, "{name} is not a valid retry policy and is ignored");
        })
        .ok()
}
