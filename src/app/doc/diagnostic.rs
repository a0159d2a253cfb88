//! Details of errors and warnings, with their position in the configuration.

use super::{Doc, Line, Role, clean, line, push_text, span, width};
use model::{Diagnostic, Severity};

/// Renders a diagnostic with its position and source line.
pub fn diagnostic(doc: &mut Doc, d: &Diagnostic) {
    let (word, role) = match d.severity {
        Severity::Error => ("error", Role::Bad),
        Severity::Warning => ("warning", Role::Warn),
    };
    if !doc.is_empty() {
        doc.push(Line::new());
    }
    doc.push(vec![
        span(role, format!("{word}: ")),
        span(Role::Strong, &d.summary),
    ]);
    if let Some(range) = &d.range {
        doc.push(line(
            Role::Dim,
            format!(
                "  at {}:{}:{}",
                range.filename, range.start.line, range.start.column
            ),
        ));
    }
    if let Some(address) = &d.address {
        doc.push(line(Role::Dim, format!("  in {address}")));
    }
    if let Some(s) = &d.snippet {
        let (before, marked, after) = s.parts();
        doc.push(vec![
            span(Role::Dim, format!("{:>5} │ ", s.line)),
            span(Role::Plain, before),
            span(role, marked),
            span(Role::Plain, after),
        ]);
        // Width in cells, because wide characters take two.
        doc.push(vec![
            span(Role::Dim, "      │ "),
            span(Role::Plain, " ".repeat(width(&clean(before)))),
            span(role, "^".repeat(width(&clean(marked)).max(1))),
        ]);
    }
    push_text(doc, Role::Plain, "  ", &d.detail);
    if let Some(further) = &d.further {
        push_text(doc, Role::Dim, "  ", &further.text());
    }
}

/// Renders all diagnostics of a failed stage, errors first.
pub fn diagnostics<'a>(text: &str, all: impl Iterator<Item = &'a Diagnostic>) -> Doc {
    let mut doc = Doc::new();
    let mut all: Vec<_> = all.collect();
    // A diagnostic with this text also has its position, so the text alone is omitted.
    if !all.iter().any(|d| d.summary == text || d.detail == text) {
        push_text(&mut doc, Role::Bad, "", text);
    }
    all.sort_by_key(|d| std::cmp::Reverse(d.severity));
    for d in all {
        diagnostic(&mut doc, d);
    }
    doc
}
