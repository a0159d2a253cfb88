//! Long texts of an attribute: JSON and YAML by structure, other texts by line, with the changed
//! words of a line.

use super::attribute::{self, Extent, Sign, name_width};
use super::grouped::{Grouped, grouped};
use crate::app::doc::{Doc, Line, Role, line, span};
use crate::app::format::count;
use engine::stage::diff::{Document, document};
use lang::addr::unquote;
use model::secrets::MASK;
use model::{Action, AttributeChange};
use similar::{ChangeTag, InlineChange, TextDiff};

/// Size limit of a line diff, in bytes. Longer texts are shown as one value.
const MAX_DIFF: usize = 200_000;
/// Length in bytes from which JSON without line breaks is shown by line.
const LONG_JSON: usize = 60;
/// Length in bytes from which the changed words of a text are marked.
const LONG_TEXT: usize = 16;
/// Least share of equal words of two texts whose changed words are marked, in percent.
const SIMILAR: usize = 50;
/// Unchanged lines around a changed one.
const CONTEXT: usize = 2;

/// Long text of an attribute.
pub(super) struct Long {
    /// Number of lines or values, for the row of the attribute.
    pub(super) summary: String,
    pub(super) lines: Doc,
}

/// Returns the long text of an attribute. `None` if its values fit into one line each, or are
/// hidden.
pub(super) fn long(a: &AttributeChange, sign: Sign, extent: Extent) -> Option<Long> {
    if a.sensitive {
        return None;
    }
    let side = |text: &Option<String>| unquote(text.as_deref()?);
    match sign {
        _ if a.unknown => before_unknown(&side(&a.before)?, extent),
        Sign::Same => one_side(&side(&a.after).or_else(|| side(&a.before))?, Role::Dim),
        Sign::Added => one_side(&side(&a.after)?, Role::Create),
        Sign::Removed => one_side(&side(&a.before)?, Role::Destroy),
        Sign::Changed => {
            let (before, after) = (side(&a.before)?, side(&a.after)?);
            if before.len() + after.len() > MAX_DIFF {
                return None;
            }
            document(&before, &after)
                .map(|found| structure(&found, extent))
                .or_else(|| by_line(&before, &after, extent))
        }
    }
}

/// Lines of two texts that differ, with some around them.
pub fn difference(before: &str, after: &str) -> Doc {
    let extent = Extent::default();
    match before.len() + after.len() {
        ..=MAX_DIFF => by_line(before, after, extent).map_or_else(Doc::new, |long| long.lines),
        _ => vec![line(Role::Dim, "   too long to compare")],
    }
}

/// Names a long text whose next value is unknown. Its lines are folded: they may all stay.
fn before_unknown(before: &str, extent: Extent) -> Option<Long> {
    let mut long = one_side(before, Role::Destroy)?;
    long.summary.push_str(" → (known after apply)");
    if !extent.all {
        long.lines.clear();
    }
    Some(long)
}

/// Shows a text by line, JSON with line breaks.
fn one_side(text: &str, role: Role) -> Option<Long> {
    let json = (text.len() >= LONG_JSON).then(|| pretty(text)).flatten();
    let (text, format) = match &json {
        Some(json) => (json.as_str(), "JSON, "),
        None => (text, ""),
    };
    // One line break at the end is usual for files and no second line.
    if text.lines().count() < 2 {
        return None;
    }
    let lines: Doc = text.lines().map(|l| line(role, format!("  {l}"))).collect();
    Some(Long {
        summary: format!("({format}{})", count(lines.len(), "line")),
        lines,
    })
}

/// Returns a JSON object or list with line breaks.
fn pretty(text: &str) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let container = json.is_object() || json.is_array();
    container
        .then(|| serde_json::to_string_pretty(&json).ok())
        .flatten()
}

/// Shows the changed values of a document.
fn structure(found: &Document, extent: Extent) -> Long {
    let (changed, same): (Vec<_>, Vec<_>) = found.rows.iter().partition(|r| r.changed);
    let summary = format!(
        "({}) {} changed of {}",
        found.format,
        changed.len(),
        count(found.rows.len(), "value"),
    );
    let changed = grouped(&changed, true);
    let unchanged: Vec<_> = same.iter().map(|r| Grouped::one(r)).collect();
    let (shown, hidden) = unchanged.split_at(if extent.all { unchanged.len() } else { 0 });
    let name = name_width(changed.iter().chain(shown));
    let mut lines = Doc::new();
    for row in changed.iter().chain(shown) {
        attribute::push(&mut lines, row, Action::Update, name, extent);
    }
    // Two redacted texts are equal, but the values need not be.
    let redacted = |r: &&&AttributeChange| r.after.as_ref().is_some_and(|t| t.contains(MASK));
    let redacted = same.iter().filter(redacted).count();
    if redacted > 0 {
        let values = count(redacted, "redacted value");
        lines.push(line(Role::Warn, format!("  {values} may differ")));
    }
    if hidden.len() > redacted {
        let values = count(hidden.len() - redacted, "unchanged value");
        lines.push(line(Role::Dim, format!("  … {values}")));
    }
    Long { summary, lines }
}

/// Shows the changed lines of a text with their context.
fn by_line(before: &str, after: &str, extent: Extent) -> Option<Long> {
    // JSON without line breaks is compared by line, too, if its structure does not tell the
    // difference.
    let (before, after) = match (pretty(before), pretty(after)) {
        (Some(b), Some(a)) if b != a => (b, a),
        _ => (before.to_owned(), after.to_owned()),
    };
    if !before.contains('\n') && !after.contains('\n') {
        return None;
    }
    if before == after {
        return Some(Long {
            summary: "differs in redacted text".to_owned(),
            lines: Doc::new(),
        });
    }
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    let groups = if extent.all {
        vec![diff.ops().to_vec()]
    } else {
        diff.grouped_ops(CONTEXT)
    };
    let (mut lines, mut changed, mut shown) = (Doc::new(), 0, 0);
    // Named only if it is a difference.
    let break_differs = before.ends_with('\n') != after.ends_with('\n');
    let fold = |lines: &mut Doc, from: usize, to: usize| {
        if to > from {
            let unchanged = count(to - from, "unchanged line");
            lines.push(line(Role::Dim, format!("   … {unchanged}")));
        }
    };
    for group in groups {
        let Some((first, last)) = group.first().zip(group.last()) else {
            continue;
        };
        fold(&mut lines, shown, first.old_range().start);
        shown = last.old_range().end;
        for op in &group {
            for c in diff.iter_inline_changes(op) {
                changed += usize::from(c.tag() != ChangeTag::Equal);
                lines.push(diff_line(&c, break_differs));
            }
        }
    }
    fold(&mut lines, shown, diff.old_len());
    Some(Long {
        summary: format!("{} changed", count(changed, "line")),
        lines,
    })
}

fn diff_line(c: &InlineChange<'_, str>, break_differs: bool) -> Line {
    let (sign, role, part) = match c.tag() {
        ChangeTag::Delete => (" - ", Role::Destroy, Role::Removed),
        ChangeTag::Insert => (" + ", Role::Create, Role::Added),
        ChangeTag::Equal => ("   ", Role::Dim, Role::Dim),
    };
    let mut l = vec![span(role, sign)];
    for (emphasized, text) in c.values() {
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            l.push(span(if *emphasized { part } else { role }, text));
        }
    }
    if break_differs && c.missing_newline() && c.tag() != ChangeTag::Equal {
        l.push(span(Role::Dim, "  (no line break at the end)"));
    }
    l
}

/// Marks the words that differ between two long texts of one line. `None` if they are short or have
/// little in common.
pub(super) fn changed_words(before: &str, after: &str) -> Option<(Line, Line)> {
    if before.len().min(after.len()) < LONG_TEXT || before.len() + after.len() > MAX_DIFF {
        return None;
    }
    let (old, new) = (words(before), words(after));
    let diff = TextDiff::from_slices(&old, &new);
    // Blanks and punctuation are alike in most texts.
    let is_word = |text: &&&str| text.starts_with(char::is_alphanumeric);
    let length = |text: &&str| text.len();
    let all: usize = old.iter().chain(&new).filter(is_word).map(length).sum();
    let equal = diff
        .iter_all_changes()
        .filter(|c| c.tag() == ChangeTag::Equal);
    let equal: usize = equal
        .map(|c| c.value())
        .filter(|v| is_word(&v))
        .map(str::len)
        .sum();
    if equal * 200 < all * SIMILAR {
        return None;
    }
    let (mut b, mut a) = (Line::new(), Line::new());
    for c in diff.iter_all_changes() {
        match c.tag() {
            ChangeTag::Delete => b.push(span(Role::Removed, c.value())),
            ChangeTag::Insert => a.push(span(Role::Added, c.value())),
            ChangeTag::Equal => {
                b.push(span(Role::Destroy, c.value()));
                a.push(span(Role::Create, c.value()));
            }
        }
    }
    Some((joined(b), joined(a)))
}

/// Joins neighbours of the same role, because wrapping breaks lines inside a piece only.
fn joined(line: Line) -> Line {
    let mut out = Line::new();
    for s in line {
        match out.last_mut() {
            Some(last) if last.role == s.role => last.text.push_str(&s.text),
            _ => out.push(s),
        }
    }
    out
}

/// Splits a text into words and single other characters.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first.is_alphanumeric() {
            true => rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        out.push(word);
        rest = after;
    }
    out
}
