//! Log levels from `TF_LOG`, `TF_LOG_CORE` and `TF_LOG_PROVIDER`.

use model::logging::LogRequest;
use std::ffi::OsString;
use tracing::Level;

/// Minimum levels of the log; `None` turns a part off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Levels {
    /// Level of flightdeck's own lines.
    pub(super) core: Option<Level>,
    /// Level of providers' lines.
    pub(super) provider: Option<Level>,
    pub(super) json: bool,
}

impl Levels {
    /// Reads the levels from the environment. Returns a warning for each invalid value.
    pub(super) fn from_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> (Self, Vec<String>) {
        let core = LogRequest::first(&["TF_LOG", "TF_LOG_CORE"], &variable);
        let provider = LogRequest::of_providers(&variable);
        let mut warnings: Vec<String> = [&core, &provider]
            .into_iter()
            .flatten()
            .filter_map(LogRequest::warning)
            .collect();
        // An invalid `TF_LOG` concerns both parts, but is reported once.
        warnings.dedup();
        let level = |request: &Option<LogRequest>| {
            request.as_ref().and_then(|request| match request.level() {
                "TRACE" => Some(Level::TRACE),
                "DEBUG" => Some(Level::DEBUG),
                "INFO" => Some(Level::INFO),
                "WARN" => Some(Level::WARN),
                "ERROR" => Some(Level::ERROR),
                _ => None,
            })
        };
        let levels = Self {
            core: level(&core),
            provider: level(&provider),
            // TF_LOG_PROVIDER alone cannot select JSON.
            json: core.is_some_and(|request| request.is_json()),
        };
        (levels, warnings)
    }

    /// Returns true if a part of the log is on.
    pub(super) fn is_enabled(&self) -> bool {
        self.core.is_some() || self.provider.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(variables: &[(&str, &str)]) -> (Levels, Vec<String>) {
        Levels::from_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn log_levels_of_core_and_providers_are_independent() {
        let (trace, debug) = (Some(Level::TRACE), Some(Level::DEBUG));
        for (variables, core, provider, json) in [
            (&[][..], None, None, false),
            (&[("TF_LOG", "")], None, None, false),
            (&[("TF_LOG", "debug")], debug, debug, false),
            (&[("TF_LOG", "OFF")], None, None, false),
            (&[("TF_LOG", "JSON")], trace, trace, true),
            (&[("TF_LOG_CORE", "Trace")], trace, None, false),
            (&[("TF_LOG_CORE", "json")], trace, None, true),
            (&[("TF_LOG_PROVIDER", "JSON")], None, trace, false),
            // TF_LOG overrides TF_LOG_CORE, and TF_LOG_PROVIDER overrides TF_LOG.
            (
                &[("TF_LOG", "DEBUG"), ("TF_LOG_CORE", "TRACE")],
                debug,
                debug,
                false,
            ),
            (
                &[("TF_LOG", "OFF"), ("TF_LOG_CORE", "TRACE")],
                None,
                None,
                false,
            ),
            (
                &[("TF_LOG", "TRACE"), ("TF_LOG_PROVIDER", "DEBUG")],
                trace,
                debug,
                false,
            ),
            (
                &[("TF_LOG", ""), ("TF_LOG_CORE", "DEBUG")],
                debug,
                None,
                false,
            ),
        ] {
            let expected = Levels {
                core,
                provider,
                json,
            };
            assert_eq!(levels(variables), (expected, Vec::new()), "{variables:?}");
        }
    }

    #[test]
    fn invalid_log_level_means_trace_with_one_warning() {
        let (found, warnings) = levels(&[("TF_LOG", "loud")]);
        assert_eq!(
            (found.core, found.provider),
            (Some(Level::TRACE), Some(Level::TRACE))
        );
        assert_eq!(
            warnings,
            [
                "[WARN] Invalid log level: \"LOUD\". Defaulting to level: TRACE. Valid levels are: [TRACE DEBUG INFO WARN ERROR OFF]"
            ]
        );
        let (_, warnings) = levels(&[("TF_LOG_CORE", "a"), ("TF_LOG_PROVIDER", "b")]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
}
