//! Lines of plugin output made into log lines: hclog JSON, `[LEVEL] text`, panics, anything else. Pure but for the
//! panic mode, which lasts from the first line of a trace.

use super::record::LogLevel;
use serde_json::Value;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub level: LogLevel,
    pub module: Option<String>,
    pub text: String,
    /// Whether the line belongs to the trace of a panic.
    pub panic: bool,
}

/// Reads one line after the other of one process.
#[derive(Debug, Default)]
pub struct LineParser {
    panicking: bool,
}

impl LineParser {
    /// The next line, without its line end.
    pub fn parse(&mut self, line: &str) -> Parsed {
        if let Some(parsed) = hclog(line).or_else(|| tagged(line)) {
            return parsed;
        }
        // A trace has no end mark: all that is not tagged after its first line belongs to it.
        self.panicking |= opens_panic(line);
        let level = if self.panicking { LogLevel::Error } else { LogLevel::Debug };
        Parsed { level, module: None, text: line.to_owned(), panic: self.panicking }
    }
}

/// The Go runtime's two openings, and Rust's.
fn opens_panic(line: &str) -> bool {
    line.starts_with("panic: ") || line.starts_with("fatal error: ") || (line.starts_with("thread '") && line.contains(" panicked at "))
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

/// `{"@level":…,"@message":…,"@module":…,"@timestamp":…, key: value…}`; the rest follows the message as `key=value`.
fn hclog(line: &str) -> Option<Parsed> {
    if !line.starts_with('{') {
        return None;
    }
    let Value::Object(mut map) = serde_json::from_str(line).ok()? else { return None };
    let mut take = |key: &str| match map.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let level = take("@level").as_deref().and_then(level)?;
    let mut text = take("@message").unwrap_or_default();
    let module = take("@module");
    take("@timestamp");
    for (key, value) in &map {
        let value = match value {
            Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        let quoted = value.is_empty() || value.contains(|c: char| c.is_whitespace() || c == '"');
        text.push_str(&if quoted { format!(" {key}={value:?}") } else { format!(" {key}={value}") });
    }
    Some(Parsed { level, module, text, panic: false })
}

/// `[WARN] text`, also after a date as Go's `log` puts it (`2026/11/21 10:00:00 [WARN] text`).
fn tagged(line: &str) -> Option<Parsed> {
    let open = line.find('[')?;
    let before = &line[..open];
    if !before.chars().all(|c| c.is_ascii_digit() || matches!(c, '/' | ':' | '.' | ' ' | '-' | 'T' | 'Z' | '+')) {
        return None;
    }
    let (word, rest) = line[open + 1..].split_once(']')?;
    Some(Parsed { level: level(word)?, module: None, text: rest.trim_start().to_owned(), panic: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (LogLevel, String) {
        let parsed = LineParser::default().parse(line);
        (parsed.level, parsed.text)
    }

    #[test]
    fn structured_lines_keep_message_module_and_values() {
        let line = r#"{"@level":"warn","@message":"slow answer","@module":"provider.http","@timestamp":"2026-11-21T10:00:00.000001Z","ms":1200,"url":"/a b","ok":true}"#;
        let parsed = LineParser::default().parse(line);
        assert_eq!(parsed.level, LogLevel::Warn);
        assert_eq!(parsed.module.as_deref(), Some("provider.http"));
        assert_eq!(parsed.text, r#"slow answer ms=1200 url="/a b" ok=true"#);
    }

    #[test]
    fn tags_are_levels() {
        assert_eq!(parse("[ERROR] no"), (LogLevel::Error, "no".into()));
        assert_eq!(parse("2026/11/21 10:00:00 [INFO] hello [x]"), (LogLevel::Info, "hello [x]".into()));
        assert_eq!(parse("list[0] = [WARN]"), (LogLevel::Debug, "list[0] = [WARN]".into()));
        assert_eq!(parse("{not json"), (LogLevel::Debug, "{not json".into()));
        assert_eq!(parse(r#"{"message":"json of another kind"}"#).0, LogLevel::Debug);
    }

    #[test]
    fn a_panic_takes_the_untagged_lines_after_it() {
        let mut parser = LineParser::default();
        assert!(!parser.parse("all is well").panic);
        assert!(parser.parse("panic: assignment to entry in nil map").panic);
        assert!(parser.parse("").panic);
        assert!(!parser.parse("[INFO] another goroutine").panic);
        let frame = parser.parse("main.main()");
        assert!(frame.panic && frame.level == LogLevel::Error);
        assert!(LineParser::default().parse("thread 'main' panicked at src/main.rs:1:1:").panic);
        assert!(LineParser::default().parse("thread 'main' (4242) panicked at src/main.rs:1:1:").panic);
        assert!(LineParser::default().parse("fatal error: all goroutines are asleep - deadlock!").panic);
    }
}
