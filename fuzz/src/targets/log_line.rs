//! Any bytes as lines of a plugin's output. Each line is one log line of limited length, and a
//! panic trace continues from its first line.

use model::LogLevel;
use plugin::LineParser;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parser = LineParser::default();
    let mut panicking = false;
    for line in text.split('\n') {
        let parsed = parser.parse(line);
        // Escapes of Rust are longer than those of JSON, by at most ten bytes for two.
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
            // Only lines with a level tag end the trace.
            assert!(line.contains('[') || line.starts_with('{'), "{line:?}");
        }
        // The text of a line must not depend on the lines before it.
        assert_eq!(
            LineParser::default().parse(line).text,
            parsed.text,
            "what a line says is the same alone"
        );
    }
}
