//! Diagnostics of the language as events have them: places in words, with the line they are about.

use super::event::{Diagnostic, Severity, Snippet, SourcePosition, SourceRange};
use lang::source::{Position, SourceMap};

fn position(p: Position) -> SourcePosition {
    SourcePosition { line: p.line, column: p.column, byte: p.byte }
}

/// One diagnostic with its place.
pub fn tell(d: &lang::diag::Diagnostic, sources: &SourceMap) -> Diagnostic {
    let range = d.range(sources).map(|r| SourceRange { filename: r.filename, start: position(r.start), end: position(r.end) });
    let snippet = d.subject.and_then(|span| {
        let file = sources.get(span.file)?;
        let line = file.position(span.start).line;
        let text = file.line(line).to_owned();
        // Byte offsets within the line; what goes on over more lines is marked to the end of this one.
        let before = file.text.get(..span.start as usize)?.rfind('\n').map_or(0, |n| n + 1);
        let start = (span.start as usize).saturating_sub(before).min(text.len());
        let end = (span.end as usize).saturating_sub(before).clamp(start, text.len());
        Some(Snippet { line, text, mark: (u32::try_from(start).ok()?, u32::try_from(end).ok()?) })
    });
    Diagnostic {
        severity: if d.is_error() { Severity::Error } else { Severity::Warning },
        summary: d.summary.clone(),
        detail: d.detail.clone(),
        address: d.address.clone(),
        range,
        snippet,
    }
}

/// All of them, in order.
pub fn tell_all<'a>(diags: impl IntoIterator<Item = &'a lang::diag::Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
    diags.into_iter().map(|d| tell(d, sources)).collect()
}
