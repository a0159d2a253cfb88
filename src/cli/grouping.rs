//! Groups diagnostics with the same summary for text output, as `-consolidate-warnings`,
//! `-consolidate-errors` and `-compact-warnings` request.

use super::diagnostics;
use super::escape::safe;
use model::{Diagnostic, Severity};

/// Options for the display of diagnostics.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Grouping {
    /// Shows one line for each warning if there is no error.
    pub(super) compact_warnings: bool,
    pub(super) consolidate_warnings: bool,
    pub(super) consolidate_errors: bool,
}

/// A diagnostic, and the number of others with the same summary that it represents.
struct Group {
    first: Diagnostic,
    others: usize,
}

impl Grouping {
    /// Returns the texts of all diagnostics of a flush.
    pub(super) fn texts(self, all: Vec<Diagnostic>, color: bool) -> Vec<String> {
        let has_error = all.iter().any(|d| d.severity == Severity::Error);
        let groups = self.groups(all);
        // As in OpenTofu: beside an error, warnings may explain it and are shown in full.
        if self.compact_warnings && !has_error && !groups.is_empty() {
            return vec![compact(&groups)];
        }
        groups.into_iter().map(|group| group.text(color)).collect()
    }

    fn groups(self, all: Vec<Diagnostic>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for diagnostic in all {
            let consolidates = match diagnostic.severity {
                Severity::Warning => self.consolidate_warnings,
                Severity::Error => self.consolidate_errors,
            };
            // A diagnostic without a position concerns the command itself and is never merged.
            let same = |group: &&mut Group| {
                consolidates
                    && diagnostic.range.is_some()
                    && group.first.range.is_some()
                    && group.first.severity == diagnostic.severity
                    && group.first.summary == diagnostic.summary
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.others += 1,
                None => groups.push(Group {
                    first: diagnostic,
                    others: 0,
                }),
            }
        }
        groups
    }
}

impl Group {
    fn text(mut self, color: bool) -> String {
        if self.others > 0 {
            let word = match self.first.severity {
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            let s = if self.others == 1 { "" } else { "s" };
            let said = format!("\n(and {} more similar {word}{s} elsewhere)", self.others);
            self.first.detail.push_str(&said);
        }
        diagnostics::text(&self.first, color)
    }
}

fn compact(groups: &[Group]) -> String {
    let mut text = "Warnings:\n".to_owned();
    for Group { first, others } in groups {
        text.push_str(&format!("\n- {}", safe(&first.summary)));
        if let Some(range) = &first.range {
            let file = safe(&range.filename);
            text.push_str(&format!("\n  on {file} line {}", range.start.line));
        }
        if *others > 0 {
            text.push_str(&format!(" (and {others} more)"));
        }
    }
    text + "\n\nRun the command without -compact-warnings to see the warnings in full.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{SourcePosition, SourceRange};

    fn at(severity: Severity, summary: &str, line: u32) -> Diagnostic {
        let at = SourcePosition {
            line,
            column: 1,
            byte: 0,
        };
        Diagnostic {
            severity,
            summary: summary.into(),
            detail: format!("the detail of line {line}"),
            address: None,
            range: Some(SourceRange {
                filename: "main.tf".into(),
                start: at,
                end: at,
            }),
            snippet: None,
            further: None,
            intent: None,
        }
    }

    fn four() -> Vec<Diagnostic> {
        vec![
            at(Severity::Warning, "Old", 1),
            at(Severity::Warning, "Old", 2),
            at(Severity::Warning, "Other", 3),
            at(Severity::Warning, "Old", 4),
        ]
    }

    fn shown(grouping: Grouping, all: Vec<Diagnostic>) -> String {
        grouping.texts(all, false).concat()
    }

    #[test]
    fn diagnostics_are_not_grouped_by_default() {
        assert_eq!(Grouping::default().texts(four(), false).len(), 4);
    }

    #[test]
    fn consolidation_shows_the_first_of_each_summary_and_a_count() {
        let grouping = Grouping {
            consolidate_warnings: true,
            ..Grouping::default()
        };
        let text = shown(grouping, four());
        assert!(
            text.contains("(and 2 more similar warnings elsewhere)"),
            "{text}"
        );
        assert!(
            !text.contains("detail of line 4") && text.contains("Other"),
            "{text}"
        );
        let errors = vec![at(Severity::Error, "Bad", 1), at(Severity::Error, "Bad", 2)];
        assert_eq!(grouping.texts(errors.clone(), false).len(), 2);
        let grouping = Grouping {
            consolidate_errors: true,
            ..Grouping::default()
        };
        let text = shown(grouping, errors);
        assert!(
            text.contains("(and 1 more similar error elsewhere)"),
            "{text}"
        );
    }

    #[test]
    fn diagnostics_without_a_range_are_not_consolidated() {
        let grouping = Grouping {
            consolidate_warnings: true,
            ..Grouping::default()
        };
        let mut two = vec![
            at(Severity::Warning, "Old", 1),
            at(Severity::Warning, "Old", 2),
        ];
        two.iter_mut().for_each(|d| d.range = None);
        assert_eq!(grouping.texts(two, false).len(), 2);
    }

    #[test]
    fn compact_warnings_are_shown_in_full_when_there_is_an_error() {
        let grouping = Grouping {
            compact_warnings: true,
            consolidate_warnings: true,
            ..Grouping::default()
        };
        let text = shown(grouping, four());
        assert!(
            text.contains("- Old\n  on main.tf line 1 (and 2 more)"),
            "{text}"
        );
        assert!(!text.contains("detail"), "{text}");
        let mut all = four();
        all.push(at(Severity::Error, "Bad", 5));
        assert!(shown(grouping, all).contains("the detail of line 3"));
    }
}
