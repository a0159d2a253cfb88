//! Any bytes as lines of a plugin's output. Each is one log line, no longer than the line was but
//! for quotes, and a trace lasts from its first line.

use flightdeck::engine::plugin::LineParser;
use flightdeck::engine::words::LogLevel;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parser = LineParser::default();
    let mut panicking = false;
    for line in text.split('\n') {
        let parsed = parser.parse(line);
        // Escapes of Rust are longer than those of JSON, ten bytes for two at most.
        assert!(
            parsed.text.len() <= 5 * line.len() + 16,
            "{} bytes of {}",
            parsed.text.len(),
            line.len()
        );
        assert!(parsed.module.as_ref().is_none_or(|m| m.len() <= line.len()));
        if parsed.panic {
            assert_eq!(parsed.level, LogLevel::Error, "{line:?}");
            assert_eq!(parsed.text, line);
            panicking = true;
        } else if panicking {
            // Only what is tagged is not of the trace.
            assert!(line.contains('[') || line.starts_with('{'), "{line:?}");
        }
        assert_eq!(
            LineParser::default().parse(line).text,
            parsed.text,
            "what a line says is the same alone"
        );
    }
}
