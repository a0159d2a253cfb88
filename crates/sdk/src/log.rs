//! Log lines of a provider: hclog's JSON on standard error, which every plugin host reads. Owns the
//! process-wide module name and level; callable from any thread.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::OnceLock;

/// Level of a log line, as in hclog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Most detailed information.
    Trace,
    /// Information for developers of the provider.
    Debug,
    /// Information for operators.
    Info,
    /// Unexpected, but the work continues.
    Warn,
    /// Failure.
    Error,
}

impl Level {
    /// Returns the name of the level on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Key and value of a log line; the value is written as text.
pub type Field<'a> = (&'a str, &'a (dyn Display + Send + Sync));

static MODULE: OnceLock<String> = OnceLock::new();
static THRESHOLD: OnceLock<Option<Level>> = OnceLock::new();

/// Sets the module name in log lines (`@module`). The first call wins; `serve` calls it with the
/// provider's name.
pub fn set_module(name: &str) {
    let _already_named = MODULE.set(name.to_owned());
}

/// Writes a line, unless its level is below the one in `TF_LOG_PROVIDER` or `TF_LOG` (default:
/// info).
pub fn write(level: Level, message: &str, fields: &[Field<'_>]) {
    // Read once, because every log line needs it and the environment does not change.
    let threshold = *THRESHOLD.get_or_init(|| {
        let text = ["TF_LOG_PROVIDER", "TF_LOG"]
            .iter()
            .find_map(|key| std::env::var(key).ok().filter(|v| !v.is_empty()));
        threshold_of(text.as_deref())
    });
    if threshold.is_some_and(|least| level >= least) {
        let mut line = format_line(
            level,
            MODULE.get().map_or("provider", String::as_str),
            &timestamp(),
            message,
            fields,
        );
        line.push('\n');
        // A single write per line, so that lines of different tasks never mix. A failed write means
        // that the host no longer reads, which is not an error of the provider.
        let _host_is_gone = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// Logs at level trace.
pub fn trace(message: &str, fields: &[Field<'_>]) {
    write(Level::Trace, message, fields);
}

/// Logs at level debug.
pub fn debug(message: &str, fields: &[Field<'_>]) {
    write(Level::Debug, message, fields);
}

/// Logs at level info.
pub fn info(message: &str, fields: &[Field<'_>]) {
    write(Level::Info, message, fields);
}

/// Logs at level warn.
pub fn warn(message: &str, fields: &[Field<'_>]) {
    write(Level::Warn, message, fields);
}

/// Logs at level error.
pub fn error(message: &str, fields: &[Field<'_>]) {
    write(Level::Error, message, fields);
}

/// Returns the current time in hclog's format: RFC 3339 in UTC with microseconds.
pub fn timestamp() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.6}")
}

fn threshold_of(text: Option<&str>) -> Option<Level> {
    match text.map(str::to_ascii_uppercase).as_deref() {
        None | Some("INFO") => Some(Level::Info),
        Some("OFF") => None,
        Some("DEBUG") => Some(Level::Debug),
        Some("WARN") => Some(Level::Warn),
        Some("ERROR") => Some(Level::Error),
        // Other hosts treat any other word as "trace".
        Some(_) => Some(Level::Trace),
    }
}

fn format_line(
    level: Level,
    module: &str,
    timestamp: &str,
    message: &str,
    fields: &[Field<'_>],
) -> String {
    let mut object = serde_json::Map::new();
    object.insert("@level".into(), level.as_str().into());
    object.insert("@message".into(), message.into());
    object.insert("@module".into(), module.into());
    object.insert("@timestamp".into(), timestamp.into());
    for (key, value) in fields {
        object.insert((*key).to_owned(), value.to_string().into());
    }
    serde_json::Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_line_is_a_json_object_with_hclog_keys() {
        let line = format_line(
            Level::Warn,
            "lab",
            "2026-01-02T03:04:05.000006Z",
            "two\nlines",
            &[("id", &"srv-1"), ("ms", &12)],
        );
        assert!(!line.contains('\n'));
        let back: serde_json::Value = serde_json::from_str(&line).expect("json");
        assert_eq!(back["@level"], "warn");
        assert_eq!(back["@message"], "two\nlines");
        assert_eq!(back["@module"], "lab");
        assert_eq!(
            (back["id"].as_str(), back["ms"].as_str()),
            (Some("srv-1"), Some("12"))
        );
    }

    #[test]
    fn log_timestamp_has_microseconds_and_is_utc() {
        let text = timestamp();
        assert_eq!(text.len(), "2026-01-02T03:04:05.000006Z".len(), "{text}");
        assert!(text.ends_with('Z'));
    }

    #[test]
    fn log_level_is_parsed_from_the_environment_value() {
        assert_eq!(threshold_of(None), Some(Level::Info));
        assert_eq!(threshold_of(Some("warn")), Some(Level::Warn));
        assert_eq!(threshold_of(Some("off")), None);
        assert_eq!(threshold_of(Some("JSON")), Some(Level::Trace));
    }
}
