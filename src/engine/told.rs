//! Diagnostics of the language as events have them: places in words, with the line they are about.

use super::Secrets;
use super::event::{Diagnostic, Severity, Snippet, SourcePosition, SourceRange};
use lang::source::{Position, SourceMap};

fn position(p: Position) -> SourcePosition {
    SourcePosition { line: p.line, column: p.column, byte: p.byte }
}

/// Diagnostics that are told of one piece of work.
const TOLD: usize = 500;
/// Longest summary, detail and source line, in bytes.
const SUMMARY: usize = 1_000;
const DETAIL: usize = 16_000;
const LINE: usize = 400;

/// One diagnostic with its place, without what must not be shown.
pub fn tell(d: &lang::diag::Diagnostic, sources: &SourceMap, secrets: &Secrets) -> Diagnostic {
    let range = d.range(sources).map(|r| SourceRange { filename: r.filename, start: position(r.start), end: position(r.end) });
    let hidden = |text: &str, limit: usize| shortened(secrets.hide(text).into_owned(), limit);
    Diagnostic {
        severity: if d.is_error() { Severity::Error } else { Severity::Warning },
        summary: hidden(&d.summary, SUMMARY),
        detail: hidden(&d.detail, DETAIL),
        address: d.address.clone(),
        range,
        snippet: snippet(d, sources, secrets),
    }
}

fn shortened(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let end = text.floor_char_boundary(limit);
        let left = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… ({left} bytes more)"));
    }
    text
}

/// The line of a place; of a very long one what is around the place.
fn snippet(d: &lang::diag::Diagnostic, sources: &SourceMap, secrets: &Secrets) -> Option<Snippet> {
    let span = d.subject?;
    let file = sources.get(span.file)?;
    if file.private {
        return None;
    }
    let line = file.position(span.start).line;
    let whole = file.line(line);
    // Byte offsets within the line; what goes on over more lines is marked to the end of this one.
    let before = file.text.get(..span.start as usize)?.rfind('\n').map_or(0, |n| n + 1);
    let start = (span.start as usize).saturating_sub(before).min(whole.len());
    let end = (span.end as usize).saturating_sub(before).clamp(start, whole.len());
    // The mark moves with what is cut off and hidden before it.
    let from = if whole.len() > LINE { whole.floor_char_boundary(start.saturating_sub(LINE / 2)) } else { 0 };
    let to = whole.ceil_char_boundary((from + LINE).min(whole.len()));
    let end = end.min(to);
    let (first, marked, last) = (whole.get(from..start)?, whole.get(start..end)?, whole.get(end..to)?);
    let parts = [first, marked, last].map(|part| secrets.hide(part).into_owned());
    let mut text = parts.concat();
    let mut mark = (parts[0].len(), parts[0].len() + parts[1].len());
    // A secret that lies across the mark's ends: the line without it is worth more than the mark.
    if let std::borrow::Cow::Owned(hidden) = secrets.hide(&whole[from..to])
        && hidden != text
    {
        mark = (0, hidden.len());
        text = hidden;
    }
    if to < whole.len() {
        text.push('…');
    }
    if from > 0 {
        text.insert(0, '…');
        mark = (mark.0 + '…'.len_utf8(), mark.1 + '…'.len_utf8());
    }
    Some(Snippet { line, text, mark: (u32::try_from(mark.0).ok()?, u32::try_from(mark.1).ok()?) })
}

/// All of them, in order; of very many the first errors.
pub fn tell_all<'a>(
    diags: impl IntoIterator<Item = &'a lang::diag::Diagnostic>,
    sources: &SourceMap,
    secrets: &Secrets,
) -> Vec<Diagnostic> {
    let all: Vec<&lang::diag::Diagnostic> = diags.into_iter().collect();
    let errors = all.iter().filter(|d| d.is_error()).count();
    let (mut room, mut beside) = (TOLD, TOLD.saturating_sub(errors));
    let mut out: Vec<Diagnostic> = Vec::new();
    for d in &all {
        let left = if d.is_error() { &mut room } else { &mut beside };
        if let Some(less) = left.checked_sub(1) {
            *left = less;
            out.push(tell(d, sources, secrets));
        }
    }
    let more = all.len() - out.len();
    if more > 0 {
        let severity = if errors > TOLD { Severity::Error } else { Severity::Warning };
        let detail =
            format!("{more} more of {} errors and warnings are not shown. Settle the first ones; others may go with them.", all.len());
        out.push(Diagnostic { severity, summary: "More than can be shown".to_owned(), detail, address: None, range: None, snippet: None });
    }
    out
}
