//! Parses lines of plugin output into log lines: hclog JSON, `[LEVEL] text`, panics, and plain
//! text. Its only state is the panic mode, which starts with the first line of a trace.

use model::{LogLevel, UnixMs};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub level: LogLevel,
    pub module: Option<String>,
    /// Timestamp that the plugin wrote.
    pub timestamp: Option<UnixMs>,
    pub text: String,
    /// True if the line belongs to the trace of a panic.
    pub panic: bool,
}

/// Parser of the lines of one process, in order.
#[derive(Debug, Default)]
pub struct LineParser {
    panicking: bool,
}

impl LineParser {
    /// Parses the next line, given without its line end.
    pub fn parse(&mut self, line: &str) -> Parsed {
        if let Some(parsed) = hclog(line).or_else(|| tagged(line)) {
            return parsed;
        }
        // A trace has no end mark: all that is not tagged after its first line belongs to it.
        self.panicking |= opens_panic(line);
        let level = if self.panicking {
            LogLevel::Error
        } else {
            LogLevel::Debug
        };
        Parsed {
            level,
            module: None,
            timestamp: None,
            text: line.to_owned(),
            panic: self.panicking,
        }
    }
}

/// Returns true for the first line of a panic of the Go runtime (including signals from outside) or
/// of Rust.
pub fn opens_panic(line: &str) -> bool {
    let go = ["panic: ", "fatal error: ", "fatal: "]
        .iter()
        .any(|opening| line.starts_with(opening));
    let signal = line
        .strip_prefix("SIG")
        .and_then(|rest| rest.split_once(": "));
    let rust = line.starts_with("thread '") && line.contains(" panicked at ");
    go || rust
        || signal.is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        })
}

/// Returns the message of a panic: its first line and the lines that belong to it, without
/// goroutines, frames and registers.
pub fn panic_message<'l>(mut trace: impl Iterator<Item = &'l str>) -> Option<String> {
    /// Maximum number of further lines; the log has all of them.
    const MAX_FURTHER_LINES: usize = 2;
    let mut words = trace.next()?.to_owned();
    let goes_on = |line: &&str| {
        let end = [
            "goroutine ",
            "runtime stack",
            "PC=",
            "note: ",
            "stack backtrace",
        ];
        !line.trim().is_empty() && !end.iter().any(|e| line.starts_with(e))
    };
    for line in trace.take_while(goes_on).take(MAX_FURTHER_LINES) {
        words.push(' ');
        words.push_str(line.trim());
    }
    Some(words)
}

fn level(word: &str) -> Option<LogLevel> {
    Some(match word.to_ascii_lowercase().as_str() {
        "trace" => LogLevel::Trace,
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warn" | "warning" => LogLevel::Warn,
        "error" | "err" => LogLevel::Error,
        _ => return None,
    })
}

/// Parses `{"@level":…,"@message":…,"@module":…,"@timestamp":…, key: value…}`. Other members are
/// appended to the message as `key=value`.
fn hclog(line: &str) -> Option<Parsed> {
    if !line.starts_with('{') {
        return None;
    }
    let Pairs(mut pairs) = serde_json::from_str(line).ok()?;
    let mut take = |key: &str| {
        let at = pairs.iter().position(|(k, _)| k == key)?;
        match pairs.remove(at).1 {
            Value::String(text) => Some(text),
            _ => None,
        }
    };
    let level = take("@level").as_deref().and_then(level)?;
    let mut text = take("@message").unwrap_or_default();
    let module = take("@module");
    let said_at = take("@timestamp")
        .and_then(|t| t.parse::<jiff::Timestamp>().ok())
        .map(jiff::Timestamp::as_millisecond);
    for (key, value) in pairs {
        let value = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        // Quoted like logfmt, so that the pairs can be parsed again.
        let quoted = value.is_empty() || value.contains(|c: char| c.is_whitespace() || c == '"');
        text.push_str(&if quoted {
            format!(" {key}={value:?}")
        } else {
            format!(" {key}={value}")
        });
    }
    Some(Parsed {
        level,
        module,
        timestamp: said_at,
        text,
        panic: false,
    })
}

/// Members of a JSON object in written order. A list, because objects are small and lines are many.
struct Pairs<'l>(Vec<(Cow<'l, str>, Value)>);

impl<'l> Deserialize<'l> for Pairs<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'l> Visitor<'l> for PairsVisitor {
    type Value = Pairs<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut members: A) -> Result<Pairs<'l>, A::Error> {
        #[derive(Deserialize)]
        struct Name<'l>(#[serde(borrow)] Cow<'l, str>);
        let mut pairs = Vec::new();
        while let Some((Name(name), value)) = members.next_entry()? {
            pairs.push((name, value));
        }
        Ok(Pairs(pairs))
    }
}

/// Parses `[WARN] text`, also after a date as Go's `log` writes it (`2026/11/21 10:00:00 [WARN]
/// text`).
fn tagged(line: &str) -> Option<Parsed> {
    let open = line.find('[')?;
    // Only a date may precede the tag; otherwise brackets in ordinary text would be levels.
    let before = &line[..open];
    if !before
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '/' | ':' | '.' | ' ' | '-' | 'T' | 'Z' | '+'))
    {
        return None;
    }
    let (word, rest) = line[open + 1..].split_once(']')?;
    Some(Parsed {
        level: level(word)?,
        module: None,
        timestamp: None,
        text: rest.trim_start().to_owned(),
        panic: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (LogLevel, String) {
        let parsed = LineParser::default().parse(line);
        (parsed.level, parsed.text)
    }

    #[test]
    fn timestamp_of_a_structured_log_line_is_parsed() {
        let at = |line: &str| LineParser::default().parse(line).timestamp;
        assert_eq!(
            at(
                r#"{"@level":"info","@message":"m","@timestamp":"2026-11-21T11:00:00.250001+01:00"}"#
            ),
            Some(1_795_255_200_250)
        );
        assert_eq!(
            at(r#"{"@level":"info","@message":"m","@timestamp":"yesterday"}"#),
            None
        );
        assert_eq!(at("[INFO] m"), None);
    }

    #[test]
    fn panic_message_excludes_registers() {
        // As the Go runtime writes them.
        let nil = "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:";
        let signal = "SIGABRT: abort\nPC=0x40866e m=0 sigcode=0\n\ngoroutine 1 gp=0x3e5 m=0 [running]:\nfs     0x0\ngs     0x0";
        let fault = "fatal error: fault\n[signal SIGSEGV: segmentation violation addr=0xdeadbeef]\n\ngoroutine 1 [running]:";
        let rust = "thread 'main' panicked at src/main.rs:1:1:\nno such thing\nnote: run with `RUST_BACKTRACE=1`";
        let words = |text: &str| panic_message(text.lines()).unwrap();
        assert_eq!(words(signal), "SIGABRT: abort");
        assert_eq!(
            words(fault),
            "fatal error: fault [signal SIGSEGV: segmentation violation addr=0xdeadbeef]"
        );
        assert!(words(nil).ends_with(
            "nil pointer dereference [signal SIGSEGV: segmentation violation code=0x1]"
        ));
        assert_eq!(
            words(rust),
            "thread 'main' panicked at src/main.rs:1:1: no such thing"
        );
        assert_eq!(panic_message(std::iter::empty()), None);
    }

    #[test]
    fn duplicate_log_fields_are_shown_twice() {
        let line = r#"{"a\"b":1,"e":"x","@message":"m","e":"y","@level":"error"}"#;
        let shown = "m a\"b=1 e=x e=y".to_owned();
        assert_eq!(parse(line), (LogLevel::Error, shown));
        let other = r#"{"@level":3,"@message":"m"}"#;
        assert_eq!(parse(other), (LogLevel::Debug, other.to_owned()));
    }

    #[test]
    fn structured_log_lines_keep_message_module_and_fields() {
        let line = r#"{"@level":"warn","@message":"slow answer","@module":"provider.http","@timestamp":"2026-11-21T10:00:00.000001Z","ms":1200,"url":"/a b","ok":true}"#;
        let parsed = LineParser::default().parse(line);
        assert_eq!(parsed.level, LogLevel::Warn);
        assert_eq!(parsed.module.as_deref(), Some("provider.http"));
        assert_eq!(parsed.text, r#"slow answer ms=1200 url="/a b" ok=true"#);
    }

    #[test]
    fn log_tags_set_the_level() {
        assert_eq!(parse("[ERROR] no"), (LogLevel::Error, "no".into()));
        assert_eq!(
            parse("2026/11/21 10:00:00 [INFO] hello [x]"),
            (LogLevel::Info, "hello [x]".into())
        );
        assert_eq!(
            parse("list[0] = [WARN]"),
            (LogLevel::Debug, "list[0] = [WARN]".into())
        );
        assert_eq!(parse("{not json"), (LogLevel::Debug, "{not json".into()));
        assert_eq!(
            parse(r#"{"message":"json of another kind"}"#).0,
            LogLevel::Debug
        );
    }

    #[test]
    fn panic_includes_the_untagged_lines_after_it() {
        let mut parser = LineParser::default();
        assert!(!parser.parse("all is well").panic);
        assert!(parser.parse("panic: assignment to entry in nil map").panic);
        assert!(parser.parse("").panic);
        assert!(!parser.parse("[INFO] another goroutine").panic);
        let frame = parser.parse("main.main()");
        assert!(frame.panic && frame.level == LogLevel::Error);
        assert!(
            LineParser::default()
                .parse("thread 'main' panicked at src/main.rs:1:1:")
                .panic
        );
        assert!(
            LineParser::default()
                .parse("thread 'main' (4242) panicked at src/main.rs:1:1:")
                .panic
        );
        assert!(
            LineParser::default()
                .parse("fatal error: all goroutines are asleep - deadlock!")
                .panic
        );
        assert!(LineParser::default().parse("SIGABRT: abort").panic);
        for line in ["SIG: x", "SIGNAL is lost: x", "a SIGABRT: b", "SIGnal: x"] {
            assert!(!LineParser::default().parse(line).panic, "{line}");
        }
    }
}
