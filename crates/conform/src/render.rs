//! Reports as JUnit and as Markdown.

use super::report::{Check, Report, Status};
use model::visible;
use std::fmt::Write as _;

impl Report {
    /// Returns the report as a JUnit document.
    #[must_use]
    pub fn junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (tests, failures) = (self.all().count(), self.failures());
        // Writing to a text cannot fail.
        let _ = writeln!(
            out,
            "<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\">",
            xml(&self.plugin)
        );
        suite(&mut out, "plugin", &self.checks);
        for of in &self.types {
            suite(&mut out, &of.type_name, &of.checks);
        }
        if !self.leftovers.is_empty() || self.stopped.is_some() {
            // These results belong to no single check and therefore have a suite of their own.
            self.ended_early(&mut out);
        }
        out.push_str("</testsuites>\n");
        out
    }

    /// Number of failed checks, with a failure for leftovers and one for an early end.
    fn failures(&self) -> usize {
        let more = usize::from(!self.leftovers.is_empty()) + usize::from(self.stopped.is_some());
        self.count(Status::Fail) + more
    }

    fn ended_early(&self, out: &mut String) {
        let _ = writeln!(out, "  <testsuite name=\"run\">");
        let mut case = |name: &str, text: &str| {
            let _ = writeln!(
                out,
                "    <testcase classname=\"run\" name=\"{name}\"><failure message=\"{}\"/></testcase>",
                xml(text)
            );
        };
        if let Some(why) = &self.stopped {
            case("stopped", why);
        }
        for left in &self.leftovers {
            let text = format!("{} is left: {}", left.named(), left.why);
            case("leftover", &text);
        }
        out.push_str("  </testsuite>\n");
    }

    /// Returns the report as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("# Conformance of {}\n\n", markdown(&self.plugin));
        let _ = writeln!(out, "{}\n", markdown(&self.summary()));
        if let Some(why) = &self.stopped {
            let _ = writeln!(out, "The run was stopped: {}.\n", markdown(why));
        }
        section(&mut out, "Plugin", &self.checks);
        for of in &self.types {
            section(&mut out, &of.type_name, &of.checks);
        }
        if !self.leftovers.is_empty() {
            out.push_str("## Leftover objects\n\n");
            for left in &self.leftovers {
                let line = format!("{}: {}", left.named(), left.why);
                let _ = writeln!(out, "- {}", markdown(&line));
            }
        }
        out
    }
}

fn suite(out: &mut String, name: &str, checks: &[Check]) {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (failed, skipped) = (count(Status::Fail), count(Status::Skipped));
    let name = xml(name);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\">",
        checks.len()
    );
    for check in checks {
        let _ = write!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\">",
            xml(&check.id)
        );
        let evidence = xml(&check.evidence);
        let _ = match check.status {
            Status::Pass => write!(out, "<system-out>{evidence}</system-out>"),
            Status::Fail => write!(
                out,
                "<failure message=\"{evidence}\">{} ({})</failure>",
                xml(&check.rule),
                xml(&check.source)
            ),
            Status::Skipped => write!(out, "<skipped message=\"{evidence}\"/>"),
        };
        out.push_str("</testcase>\n");
    }
    out.push_str("  </testsuite>\n");
}

fn section(out: &mut String, name: &str, checks: &[Check]) {
    let _ = writeln!(out, "## {}\n", markdown(name));
    out.push_str("| check | result | evidence | rule |\n|---|---|---|---|\n");
    for check in checks {
        // The id is in a code span, where the escapes of other cells would be shown.
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            visible::one_line(&check.id).replace(['`', '|'], ""),
            check.status.word(),
            markdown(&check.evidence),
            markdown(&check.rule)
        );
    }
    out.push('\n');
}

/// Escapes a text for XML, also the characters that change or hide other text.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Parsers turn these into blanks in attributes, so that all texts have blanks.
    let text = text.replace(['\n', '\t'], " ");
    for c in visible::one_line(&text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML cannot have these.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes a text for a cell of a table in Markdown.
fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // A line break would end the row of the table.
    let text = text.replace(['\n', '\t'], " ");
    for c in visible::one_line(&text).chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::report::{Leftover, TypeReport};
    use super::*;

    fn report() -> Report {
        let failed = "name: was \"<a>\" & now \"b|c\"\u{1b}[2J\n\u{202e}end";
        Report {
            plugin: "acme/thing".to_owned(),
            checks: vec![Check::new("start", Status::Pass, "ready in 3 ms")],
            types: vec![TypeReport {
                type_name: "acme_thing".to_owned(),
                checks: vec![
                    Check::new("create", Status::Fail, failed),
                    Check::new("update:name", Status::Skipped, "no object"),
                ],
            }],
            leftovers: vec![Leftover {
                type_name: "acme_thing".to_owned(),
                id: Some("i-1".to_owned()),
                why: "the destroy failed".to_owned(),
            }],
            ..Report::default()
        }
    }

    #[test]
    fn junit_has_a_case_for_each_check_and_escapes_texts() {
        let text = report().junit();
        for part in [
            "<testsuites name=\"acme/thing\" tests=\"3\" failures=\"2\">",
            "<testsuite name=\"acme_thing\" tests=\"2\" failures=\"1\" skipped=\"1\">",
            "name: was &quot;&lt;a&gt;&quot; &amp; now &quot;b|c&quot;\\u{1b}[2J \\u{202e}end",
            "name=\"update:name\"><skipped message=\"no object\"/></testcase>",
            "acme_thing i-1 is left: the destroy failed",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn markdown_has_a_row_for_each_check_and_escapes_cells() {
        let text = report().markdown();
        for part in [
            "acme/thing: 1 passed, 1 failed, 1 skipped",
            "| `start` | pass | ready in 3 ms | the plugin completes its handshake at the first launch, and at later ones |",
            "now \"b\\|c\"\\\\u{1b}\\[2J \\\\u{202e}end",
            "## Leftover objects",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }

    #[test]
    fn report_passes_only_without_failures_leftovers_and_an_early_end() {
        let mut report = report();
        assert!(!report.is_passed());
        report.types.clear();
        assert!(!report.is_passed(), "an object is left");
        report.leftovers.clear();
        assert!(report.is_passed());
        report.stopped = Some("interrupted".to_owned());
        assert!(!report.is_passed());
    }
}
