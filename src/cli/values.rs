//! Parsers of flag values. clap calls them, so that an invalid value is refused before the command
//! starts.

use super::exit::CliError;
use model::{BadStageName, LogLevel};

/// Reasons why the value of a flag is invalid.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum ValueError {
    #[error(
        "expected a port, such as 9464, or an IP address with a port, such as 127.0.0.1:9464 or [::1]:9464"
    )]
    Address(#[source] std::net::AddrParseError),
    #[error("expected a duration, such as 30s, 5m or 1h30m")]
    Duration,
    #[error("expected NAME=VALUE")]
    NoPair,
    #[error("expected a name before the `=`")]
    NoName,
    #[error("unexpected space next to the name; write NAME=VALUE without spaces around the `=`")]
    SpacedName,
    #[error("expected a time (2026-11-21T08:00:00Z), a date or an age (30m, 2h, 3d)")]
    Time(#[source] jiff::Error),
    /// A date or time outside of the calendar.
    #[error(transparent)]
    Calendar(#[from] jiff::Error),
    #[error("expected an operating system and an architecture, such as linux_amd64")]
    Platform,
}

/// Values of `--log-level` and `--level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Off,
}

/// Values of `--format`: output forms of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// As `tofu -json` writes it
    Tofu,
}

impl Format {
    /// Reads the environment variable, for pipelines that cannot change their calls.
    ///
    /// # Errors
    /// The value is no known form.
    pub(super) fn of_environment() -> Result<Option<Self>, CliError> {
        const VARIABLE: &str = "FLIGHTDECK_FORMAT";
        let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        match text.to_str() {
            Some("tofu") => Ok(Some(Self::Tofu)),
            // Explicit name of flightdeck's own form.
            Some("flightdeck") => Ok(None),
            _ => Err(CliError::setting(format!(
                "unknown output form {text:?} in the environment variable {VARIABLE}"
            ))
            .hint("set it to `tofu`, or to `flightdeck` for flightdeck's own lines")),
        }
    }
}

/// Parses `--metrics`: `ADDRESS:PORT`. A bare port binds to localhost.
///
/// # Errors
/// The text is neither a port nor an address with a port.
pub(super) fn listened(text: &str) -> Result<std::net::SocketAddr, ValueError> {
    // `:9464` means the same as a bare port.
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    if let Ok(port) = port {
        return Ok((std::net::Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(ValueError::Address)
}

impl Level {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Off => "off",
        }
    }

    /// Returns true if a log line of that level is shown.
    pub(super) fn includes(self, line: LogLevel) -> bool {
        let lowest = match self {
            Self::Trace => LogLevel::Trace,
            Self::Debug => LogLevel::Debug,
            Self::Info => LogLevel::Info,
            Self::Warn => LogLevel::Warn,
            Self::Error => LogLevel::Error,
            Self::Off => return false,
        };
        line >= lowest
    }

    pub(super) fn log(self) -> Option<LogLevel> {
        match self {
            Self::Trace => Some(LogLevel::Trace),
            Self::Debug => Some(LogLevel::Debug),
            Self::Info => Some(LogLevel::Info),
            Self::Warn => Some(LogLevel::Warn),
            Self::Error => Some(LogLevel::Error),
            Self::Off => None,
        }
    }
}

/// Parses `--out NAME`.
pub(super) fn stage_name(text: &str) -> Result<String, BadStageName> {
    model::stage_name(text).map(str::to_owned)
}

/// Parses `--lock-timeout 30s`.
pub(super) fn duration(text: &str) -> Result<std::time::Duration, ValueError> {
    state::backend::duration(text).ok_or(ValueError::Duration)
}

/// Parses `--var NAME=VALUE`.
pub(super) fn variable(text: &str) -> Result<(String, String), ValueError> {
    let (name, value) = text.split_once('=').ok_or(ValueError::NoPair)?;
    match name {
        _ if name.trim().is_empty() => Err(ValueError::NoName),
        _ if name.trim() != name => Err(ValueError::SpacedName),
        _ => Ok((name.to_owned(), value.to_owned())),
    }
}

/// Parses `--since`: a time, a date, or an age (`2h`, `3d`, `1w`). Returns milliseconds since the
/// epoch.
pub(super) fn since(text: &str) -> Result<i64, ValueError> {
    let text = text.trim();
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    // Without an offset, the time is local.
    if let Ok(date) = text.parse::<jiff::civil::DateTime>() {
        let zoned = date.to_zoned(jiff::tz::TimeZone::system())?;
        return Ok(zoned.timestamp().as_millisecond());
    }
    let span: jiff::Span = text.parse().map_err(ValueError::Time)?;
    // Both `2h` and `-2h` mean two hours ago.
    let then = jiff::Zoned::now().checked_sub(span.abs())?;
    Ok(then.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_value_keeps_everything_after_the_first_equals_sign() {
        assert_eq!(variable("a=b=c").ok(), Some(("a".into(), "b=c".into())));
        assert_eq!(variable("a=").ok(), Some(("a".into(), String::new())));
        assert_eq!(variable("a= b").ok(), Some(("a".into(), " b".into())));
        assert!(matches!(variable("a"), Err(ValueError::NoPair)));
        assert!(matches!(variable("=b"), Err(ValueError::NoName)));
        assert!(matches!(variable(" = b"), Err(ValueError::NoName)));
    }

    #[test]
    fn variable_with_a_space_beside_its_name_is_rejected() {
        for text in ["a = x", "a =x", " a=x", "a\t=x"] {
            assert!(
                matches!(variable(text), Err(ValueError::SpacedName)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn since_accepts_a_timestamp_a_date_or_a_duration() {
        assert_eq!(since("2026-11-21T08:00:00Z").ok(), Some(1_795_248_000_000));
        let then = since("2h").unwrap();
        let ago = jiff::Timestamp::now().as_millisecond() - then;
        assert!((7_200_000..7_260_000).contains(&ago), "{ago}");
        assert!(since("2026-11-21").is_ok());
        assert!(since("yesterday").is_err());
    }
}
