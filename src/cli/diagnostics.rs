//! Renders diagnostics: as text with the source line and its position, and as JSON lines, which are
//! part of the command line's stable output.

use super::escape::{safe, safe_lines};
use super::output::{Ink, paint};
use model::{Diagnostic, Severity, Snippet, SourceRange};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Maximum width of a source line; longer ones are cut around the marked part.
const MAX_WIDTH: usize = 160;

/// Returns the JSON object of a diagnostic.
pub(super) fn json(d: &Diagnostic) -> Value {
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut line = json!({
        "type": "diagnostic",
        "severity": severity,
        "summary": d.summary,
        "detail": d.detail,
        "address": d.address,
        "range": d.range,
    });
    if let Some(further) = &d.further {
        // Absent unless needed: the keys above are always present.
        line["further"] = json!(further);
    }
    line
}

/// Formats an error without a position.
pub(super) fn problem(text: &str, color: bool) -> String {
    format!("{} {}", paint(color, Ink::Red, "error:"), safe_lines(text))
}

/// Formats a diagnostic as text.
pub(super) fn text(d: &Diagnostic, color: bool) -> String {
    let (word, ink) = match d.severity {
        Severity::Error => ("error:", Ink::Red),
        Severity::Warning => ("warning:", Ink::Yellow),
    };
    let mut out = format!(
        "{} {}",
        paint(color, ink, word),
        paint(color, Ink::Bold, &safe(&d.summary))
    );
    if let Some(range) = &d.range {
        write_snippet(&mut out, d, range, ink, color);
    } else if let Some(address) = &d.address {
        out.push_str(&format!(
            "\n  {} {}",
            paint(color, Ink::Blue, "on"),
            safe(address)
        ));
    }
    for line in safe_lines(d.detail.trim()).lines() {
        out.push_str(&format!("\n  {line}"));
    }
    if let Some(further) = &d.further {
        out.push_str(&format!("\n  {}", safe(&further.text())));
    }
    out.push('\n');
    out
}

fn write_snippet(out: &mut String, d: &Diagnostic, range: &SourceRange, ink: Ink, color: bool) {
    let blue = |text: &str| paint(color, Ink::Blue, text);
    let digits = range.start.line.to_string();
    let gutter = " ".repeat(digits.len());
    let at = format!(
        "{}:{}:{}",
        safe(&range.filename),
        range.start.line,
        range.start.column
    );
    out.push_str(&format!("\n{gutter}{} {at}", blue("-->")));
    if let Some(address) = &d.address {
        out.push_str(&format!(" ({})", safe(address)));
    }
    // The source may be unreadable, but its position is still shown.
    let Some(snippet) = d.snippet.as_ref() else {
        return;
    };
    let [before, marked, after] = truncate_snippet(snippet);
    let shown = format!("{before}{marked}{after}");
    // Width in cells and not in characters, because wide characters take two.
    let under = " ".repeat(before.width());
    // An empty range is still marked by one caret.
    let carets = "^".repeat(marked.width().max(1));
    out.push_str(&format!(
        "\n{gutter} {bar}\n{} {bar} {}\n{gutter} {bar} {under}{}",
        blue(&digits),
        shown.trim_end(),
        paint(color, ink, &carets),
        bar = blue("|")
    ));
}

/// Escapes text and replaces tabs with four blanks, so that carets align with any tab width.
fn escape_and_expand_tabs(text: &str) -> String {
    safe(&text.replace('\t', "    ")).into_owned()
}

/// Returns the text before the mark, the marked text and the text after it, each cut to half of
/// [`MAX_WIDTH`].
fn truncate_snippet(snippet: &Snippet) -> [String; 3] {
    let (before, marked, after) = snippet.parts();
    let mut before = escape_and_expand_tabs(before);
    if before.width() > MAX_WIDTH / 2 {
        let tail: Vec<char> = before.chars().rev().take(MAX_WIDTH / 2).collect();
        before = format!("…{}", tail.into_iter().rev().collect::<String>());
    }
    let cut = |text: &str| {
        let text = escape_and_expand_tabs(text);
        text.chars().take(MAX_WIDTH / 2).collect()
    };
    [before, cut(marked), cut(after)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SourcePosition;

    fn diagnostic(line: &str, mark: (u32, u32)) -> Diagnostic {
        let at = |byte: u32| SourcePosition {
            line: 12,
            column: byte + 1,
            byte,
        };
        Diagnostic {
            severity: Severity::Error,
            summary: "Unsupported attribute".into(),
            detail: "This object has no attribute \"z\".".into(),
            address: Some("a.b".into()),
            range: Some(SourceRange {
                filename: "main.tf".into(),
                start: at(mark.0),
                end: at(mark.1),
            }),
            snippet: Some(Snippet {
                line: 12,
                text: line.into(),
                mark,
                whole: None,
            }),
            further: None,
            intent: None,
        }
    }

    #[test]
    fn diagnostic_underlines_the_source_range() {
        let shown = text(&diagnostic("  x = a.b.z", (6, 11)), false);
        assert_eq!(
            shown,
            "error: Unsupported attribute\n  --> main.tf:12:7 (a.b)\n   |\n12 |   x = a.b.z\n   |       ^^^^^\n  This object has no attribute \"z\".\n"
        );
    }

    #[test]
    fn wide_characters_tabs_and_escapes_keep_the_underline_aligned() {
        let shown = text(&diagnostic("\tä = \"日本\x1b[31m\" + 1", (7, 13)), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[3], "12 |     ä = \"日本\\u{1b}[31m\" + 1");
        assert_eq!(lines[4], "   |          ^^^^");
    }

    #[test]
    fn source_range_outside_its_line_does_not_panic() {
        for mark in [(0, 0), (2, 1), (90, 95), (1, 2)] {
            assert!(text(&diagnostic("é", mark), true).contains("main.tf"));
        }
        assert!(text(&diagnostic(&"x".repeat(9_000), (5_000, 5_100)), false).len() < 1_000);
    }

    #[test]
    fn json_diagnostic_has_every_documented_key() {
        let mut bare = diagnostic("x", (0, 1));
        assert_eq!(
            json(&bare)["range"]["start"],
            json!({"line": 12, "column": 1, "byte": 0})
        );
        bare.range = None;
        bare.address = None;
        assert_eq!(
            json(&bare),
            json!({"type": "diagnostic", "severity": "error", "summary": "Unsupported attribute",
                   "detail": "This object has no attribute \"z\".", "address": null, "range": null})
        );
    }
}
