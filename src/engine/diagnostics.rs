//! Converts the language's diagnostics to events: adds file, line and source text, redacts secrets,
//! and limits number and size.

use lang::source::{FileId, Position, SourceFile, SourceMap};
use model::secrets::Secrets;
use model::{Diagnostic, FurtherPlaces, Lines, Severity, Snippet, SourcePosition, SourceRange};
use std::collections::{HashMap, HashSet};

fn position(p: Position) -> SourcePosition {
    SourcePosition {
        line: p.line,
        column: p.column,
        byte: p.byte,
    }
}

/// Maximum number of diagnostics from one command.
const MAX_DIAGNOSTICS: usize = 500;
/// Maximum size of summary, detail and source line, in bytes.
const SUMMARY: usize = 1_000;
const DETAIL: usize = 16_000;
const LINE: usize = 400;
/// Maximum size of a multi-line snippet, in bytes.
const MAX_SNIPPET: usize = 4_000;
/// Maximum number of further addresses of one cause.
const MAX_ADDRESSES: usize = 100;

/// Converts one diagnostic, with its source position and redacted.
pub fn convert(d: &lang::diag::Diagnostic, sources: &SourceMap, secrets: &Secrets) -> Diagnostic {
    let range = d.range(sources).map(|r| SourceRange {
        filename: r.filename,
        start: position(r.start),
        end: position(r.end),
    });
    let hidden =
        |text: &str, limit: usize| shortened(fetch::redacted(&secrets.redact(text)), limit);
    Diagnostic {
        severity: if d.is_error() {
            Severity::Error
        } else {
            Severity::Warning
        },
        summary: hidden(&d.summary, SUMMARY),
        detail: hidden(&d.detail, DETAIL),
        address: d.address.clone(),
        range,
        snippet: snippet(d, sources, secrets),
        further: None,
        intent: None,
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

/// Source line of a diagnostic; only the surrounding part of a long line.
fn snippet(d: &lang::diag::Diagnostic, sources: &SourceMap, secrets: &Secrets) -> Option<Snippet> {
    let span = d.subject?;
    let file = sources.get(span.file)?;
    // Text from the environment or a flag may have secrets.
    if file.private {
        return None;
    }
    let line = file.position(span.start).line;
    let whole = file.line(line);
    // Byte offsets within the line; a place on several lines is marked up to the end of this one.
    let before = file
        .text
        .get(..span.start as usize)?
        .rfind('\n')
        .map_or(0, |n| n + 1);
    let start = (span.start as usize)
        .saturating_sub(before)
        .min(whole.len());
    let end = (span.end as usize)
        .saturating_sub(before)
        .clamp(start, whole.len());
    // The mark shifts with text that is cut or redacted before it.
    let from = if whole.len() > LINE {
        whole.floor_char_boundary(start.saturating_sub(LINE / 2))
    } else {
        0
    };
    let to = whole.ceil_char_boundary((from + LINE).min(whole.len()));
    let end = end.min(to);
    let (first, marked, last) = (
        whole.get(from..start)?,
        whole.get(start..end)?,
        whole.get(end..to)?,
    );
    let parts = [first, marked, last].map(|part| secrets.redact(part).into_owned());
    let mut text = parts.concat();
    let mut mark = (parts[0].len(), parts[0].len() + parts[1].len());
    // A secret across the mark's ends: redaction is more important than the mark.
    if let std::borrow::Cow::Owned(hidden) = secrets.redact(&whole[from..to])
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
    Some(Snippet {
        line,
        text: fetch::mask(&text),
        mark: (u32::try_from(mark.0).ok()?, u32::try_from(mark.1).ok()?),
        whole: all_lines(d, &file, secrets).map(Box::new),
    })
}

/// All lines of a diagnostic and its context, if there are several and not too many.
fn all_lines(d: &lang::diag::Diagnostic, file: &SourceFile, secrets: &Secrets) -> Option<Lines> {
    let span = d.subject?;
    let around = d.context.map_or(span, |context| span.to(context));
    let (first, last) = (file.position(around.start), file.position(around.end));
    if first.line == last.line {
        return None;
    }
    let start = file.text.get(..around.start as usize)?.rfind('\n');
    let start = start.map_or(0, |n| n + 1);
    // A range that ends at the start of a line does not include that line.
    let end = around.end as usize - usize::from(last.column == 1);
    let rest = file.text.get(end..)?;
    let end = end + rest.find('\n').unwrap_or(rest.len());
    let marked = (span.start as usize, (span.end as usize).min(end));
    if end - start > MAX_SNIPPET {
        return None;
    }
    let parts = [start..marked.0, marked.0..marked.1, marked.1..end];
    let mut hidden = Vec::with_capacity(parts.len());
    for part in parts {
        hidden.push(secrets.redact(file.text.get(part)?).into_owned());
    }
    let mark = (hidden[0].len(), hidden[0].len() + hidden[1].len());
    let text = hidden.concat();
    // A secret across the mark's ends: omit the snippet.
    if let std::borrow::Cow::Owned(other) = secrets.redact(file.text.get(start..end)?)
        && other != text
    {
        return None;
    }
    Some(Lines {
        line: first.line,
        text: fetch::mask(&text),
        mark: (u32::try_from(mark.0).ok()?, u32::try_from(mark.1).ok()?),
    })
}

/// Converts diagnostics in order, merges equal causes and limits their number, errors first.
pub fn convert_all<'a>(
    diags: impl IntoIterator<Item = &'a lang::diag::Diagnostic>,
    sources: &SourceMap,
    secrets: &Secrets,
) -> Vec<Diagnostic> {
    let all = causes(diags, sources);
    let errors = all.iter().filter(|(d, _)| d.is_error()).count();
    // Errors take precedence over warnings within the limit.
    let (mut room, mut beside) = (MAX_DIAGNOSTICS, MAX_DIAGNOSTICS.saturating_sub(errors));
    let mut out: Vec<Diagnostic> = Vec::new();
    for (d, further) in &all {
        let left = if d.is_error() { &mut room } else { &mut beside };
        if let Some(less) = left.checked_sub(1) {
            *left = less;
            out.push(Diagnostic {
                further: further.clone(),
                ..convert(d, sources, secrets)
            });
        }
    }
    let more = all.len() - out.len();
    if more > 0 {
        let severity = if errors > MAX_DIAGNOSTICS {
            Severity::Error
        } else {
            Severity::Warning
        };
        let detail = format!(
            "{more} of {} errors and warnings are not shown. Fix the first ones; others may disappear with them.",
            all.len()
        );
        let summary = "Too many errors and warnings".to_owned();
        out.push(Diagnostic {
            severity,
            summary,
            detail,
            address: None,
            range: None,
            snippet: None,
            further: None,
            intent: None,
        });
    }
    out
}

/// Merges diagnostics with equal text and source position, across instances and module calls: keeps
/// the first and the addresses of the others. Diagnostics without a source position are never
/// merged.
fn causes<'a>(
    diags: impl IntoIterator<Item = &'a lang::diag::Diagnostic>,
    sources: &SourceMap,
) -> Vec<(&'a lang::diag::Diagnostic, Option<FurtherPlaces>)> {
    let mut out: Vec<(&lang::diag::Diagnostic, Option<FurtherPlaces>)> = Vec::new();
    let mut first: HashMap<(bool, String, u32, u32, &str, String), usize> = HashMap::new();
    // A module with two calls is loaded twice, as two files with the same name.
    let mut met: HashSet<(usize, FileId, Option<&str>, String)> = HashSet::new();
    for d in diags {
        let Some(span) = d.subject else {
            out.push((d, None));
            continue;
        };
        let words = d.detail.to_string();
        let cause = (
            d.is_error(),
            sources.name(span.file),
            span.start,
            span.end,
            &*d.summary,
            without_addresses(&words, d.address.as_deref()),
        );
        let at = *first.entry(cause).or_insert(out.len());
        if !met.insert((at, span.file, d.address.as_deref(), words)) {
            continue;
        }
        if at == out.len() {
            out.push((d, None));
            continue;
        }
        let further = out[at].1.get_or_insert_with(FurtherPlaces::default);
        further.count += 1;
        if further.addresses.len() < MAX_ADDRESSES {
            further.addresses.extend(d.address.clone());
        }
    }
    out
}

/// Removes the parts of a text that differ between instances: the address and module paths.
fn without_addresses(words: &str, address: Option<&str>) -> String {
    let words = address.map_or_else(|| words.to_owned(), |address| words.replace(address, ""));
    let mut out = String::with_capacity(words.len());
    let mut rest = words.as_str();
    while let Some(at) = rest.find("module.") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let name = from["module.".len()..]
            .trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let key = name.strip_prefix('[').and_then(|key| key.split_once(']'));
        rest = key.map_or(name, |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::diag::Diagnostic as Said;
    use lang::source::Span;

    #[test]
    fn repeated_diagnostic_is_reported_once_with_further_addresses() {
        let sources = SourceMap::new();
        let files: Vec<FileId> = (0..3)
            .map(|_| sources.add("m/main.tf", "a = b\n"))
            .collect();
        let of = |n: usize, detail: &str, address: Option<&str>| {
            let said = Said::error("Wrong", detail.to_owned()).at(Span::new(files[n], 4, 5));
            address.map_or(said.clone(), |a| said.with_address(a.to_owned()))
        };
        let diags = [
            of(0, "module.a.x[0] is wrong", Some("module.a.x[0]")),
            of(0, "module.a.x[0] is wrong", Some("module.a.x[0]")),
            of(
                1,
                "module.b[\"k\"].x[0] is wrong",
                Some("module.b[\"k\"].x[0]"),
            ),
            of(2, "something else is wrong", None),
            Said::error("Wrong", "module.a.x[0] is wrong"),
            of(2, "module.c.x[1] is wrong", Some("module.c.x[1]")),
        ];
        let told = convert_all(&diags, &sources, &Secrets::default());
        let further: Vec<_> = told
            .iter()
            .map(|d| d.further.as_ref().map(|f| (f.count, f.addresses.join(" "))))
            .collect();
        assert_eq!(
            further,
            [
                Some((2, "module.b[\"k\"].x[0] module.c.x[1]".to_owned())),
                None,
                None
            ]
        );
        assert_eq!(told[0].address.as_deref(), Some("module.a.x[0]"));
    }
}
