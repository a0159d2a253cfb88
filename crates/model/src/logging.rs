//! The `TF_LOG` log: targets of its lines, and the levels in the environment for this process and
//! for providers.

use std::ffi::OsString;

/// Target of copied bus events.
pub const ENGINE_LOG: &str = "engine";
/// Target of copied plugin lines.
pub const PROVIDER_LOG: &str = "provider";

const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"];

/// Log level in the environment, in upper case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest(String);

impl LogRequest {
    /// Value of the first variable that is set and not empty.
    pub fn first(names: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let values = names.iter().filter_map(|name| variable(name));
        let text = values.into_iter().find(|value| !value.is_empty())?;
        Some(Self(text.to_string_lossy().to_uppercase()))
    }

    /// Log level for providers.
    pub fn of_providers(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Self::first(&["TF_LOG_PROVIDER", "TF_LOG"], variable)
    }

    /// Is JSON output requested?
    pub fn is_json(&self) -> bool {
        self.0 == "JSON"
    }

    /// Name of the level; JSON and invalid levels mean the finest one.
    pub fn level(&self) -> &'static str {
        let known = LEVELS.into_iter().find(|level| *level == self.0);
        known.unwrap_or(LEVELS[0])
    }

    /// OpenTofu's warning about an invalid level.
    pub fn warning(&self) -> Option<String> {
        let known = self.is_json() || LEVELS.contains(&self.0.as_str());
        (!known).then(|| {
            format!(
                "[WARN] Invalid log level: {:?}. Defaulting to level: TRACE. Valid levels are: [{}]",
                self.0,
                LEVELS.join(" ")
            )
        })
    }
}
