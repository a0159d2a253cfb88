//! The log that `TF_LOG` and its companions ask for: targets of its lines, and the levels in the
//! environment, for this process and for providers.

use std::ffi::OsString;

/// Target of lines that repeat events of the bus.
pub const ENGINE_LOG: &str = "engine";
/// Target of lines that repeat lines of plugins.
pub const PROVIDER_LOG: &str = "provider";

const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"];

/// A level that the environment asks for, in upper case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest(String);

impl LogRequest {
    /// The first of these variables that is set and not empty.
    pub fn first(names: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let values = names.iter().filter_map(|name| variable(name));
        let text = values.into_iter().find(|value| !value.is_empty())?;
        Some(Self(text.to_string_lossy().to_uppercase()))
    }

    /// What providers are to log.
    pub fn of_providers(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Self::first(&["TF_LOG_PROVIDER", "TF_LOG"], variable)
    }

    /// Whether lines are to be JSON objects.
    pub fn is_json(&self) -> bool {
        self.0 == "JSON"
    }

    /// The name of the level: JSON, and what is no level, stand for the finest one.
    pub fn level(&self) -> &'static str {
        let known = LEVELS.into_iter().find(|level| *level == self.0);
        known.unwrap_or(LEVELS[0])
    }

    /// The reference's warning where it is no level.
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
