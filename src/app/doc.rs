//! Text with meaning and without looks: what a detail pane, a title or a popup says. `ui` gives
//! each [`Role`] its colours. Everything put into a [`Doc`] is made safe for a terminal on the way
//! in.

mod around;
mod call;
mod change;
mod deploy;
mod diagnostic;
mod header;
mod operation;
mod plugin;
mod popup;
mod resource;
mod schema;
pub(in crate::app) mod stage_title;
pub(in crate::app) mod title;
mod unknown;
mod welcome;

pub use around::{
    Choice, absent_badge, choice, choices, finding, finding_line, findings, findings_head,
    installing, no_choice,
};
pub use call::{call, finished, outcome};
pub use change::{change, drift, drift_role, output, why};
pub use deploy::{counts, deploy_summary, failure_group, mode, outcome_role};
pub use diagnostic::{diagnostic, diagnostics};
pub use header::{header, status};
pub use operation::{operation, pause};
pub use plugin::{attempts, calls, found, level_role, logs, orphan, processes};
pub use popup::{RUNGS, help, ladder};
pub use resource::{log_line, state_row};
pub use schema::{schema_line, schema_text};
pub use title::{detail_title, title};
pub use unknown::{
    unknown, unknown_badge, unknown_head, unknown_keys, unknown_line, unknown_note,
    unknown_of_operation,
};
pub use welcome::{empty, note};

use super::text::{clean, width};
use unicode_segmentation::UnicodeSegmentation;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Plain,
    Dim,
    Strong,
    Heading,
    Ok,
    Busy,
    Warn,
    Bad,
    Create,
    Update,
    Destroy,
    Read,
    Forget,
    Key,
    Match,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub role: Role,
    pub text: String,
}

/// A line of pieces.
pub type Line = Vec<Span>;
/// Lines, one below the other.
pub type Doc = Vec<Line>;

/// A piece of text, made safe.
pub fn span(role: Role, text: impl AsRef<str>) -> Span {
    Span {
        role,
        text: clean(text.as_ref()).into_owned(),
    }
}

/// A line of one piece.
pub fn line(role: Role, text: impl AsRef<str>) -> Line {
    vec![span(role, text)]
}

/// Text of several lines, one role.
pub fn push_text(doc: &mut Doc, role: Role, indent: &str, text: &str) {
    for l in text.lines() {
        doc.push(vec![span(role, format!("{indent}{}", clean(l)))]);
    }
}

/// A heading with room above it.
pub fn push_heading(doc: &mut Doc, text: impl AsRef<str>) {
    if !doc.is_empty() {
        doc.push(Line::new());
    }
    doc.push(line(Role::Heading, text));
}

/// `name   value`, the name dim and padded.
pub fn push_pair(doc: &mut Doc, name: &str, value: impl AsRef<str>) {
    doc.push(vec![
        span(Role::Dim, format!("{name:<12} ")),
        span(Role::Plain, value),
    ]);
}

/// Cells that a line takes.
pub fn cells_of(line: &Line) -> usize {
    line.iter().map(|s| width(&s.text)).sum()
}

/// A line cut to so many cells, with `…` where something was cut.
pub fn fit_line(mut line: Line, cells: usize) -> Line {
    if cells_of(&line) <= cells {
        return line;
    }
    let mut left = cells.saturating_sub(1);
    for (i, s) in line.iter_mut().enumerate() {
        let w = width(&s.text);
        if w <= left {
            left -= w;
            continue;
        }
        // With something after it, so that there is always something to cut.
        s.text = super::text::fit(&format!("{}  ", s.text), left + 1).into_owned();
        line.truncate(i + 1);
        break;
    }
    line
}

/// The words of a line.
pub fn plain(line: &Line) -> String {
    line.iter().map(|s| s.text.as_str()).collect()
}

/// The words of a doc.
pub fn plain_text(doc: &Doc) -> String {
    doc.iter()
        .map(|l| plain(l).trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The role of an action.
pub fn action_role(action: crate::engine::words::Action) -> Role {
    use crate::engine::words::Action::*;
    match action {
        NoOp => Role::Dim,
        Read => Role::Read,
        Create => Role::Create,
        Update => Role::Update,
        Replace | ReplaceCreateFirst | Destroy => Role::Destroy,
        Forget => Role::Forget,
    }
}

/// The sign of an action, coloured: the `-` of a replace red, its `+` green.
pub fn action_sign(action: crate::engine::words::Action) -> Line {
    use crate::engine::words::Action::*;
    match action {
        Replace => vec![
            span(Role::Destroy, "-"),
            span(Role::Dim, "/"),
            span(Role::Create, "+"),
        ],
        ReplaceCreateFirst => vec![
            span(Role::Create, "+"),
            span(Role::Dim, "/"),
            span(Role::Destroy, "-"),
        ],
        other => vec![span(action_role(other), other.sign())],
    }
}

/// Breaks lines that are longer than `cells`, at blanks where there are some; continuations keep
/// the indent.
pub fn wrap(doc: &Doc, cells: usize) -> Doc {
    let cells = cells.max(8);
    let mut out = Doc::with_capacity(doc.len());
    for l in doc {
        if l.iter().map(|s| width(&s.text)).sum::<usize>() <= cells {
            out.push(l.clone());
        } else {
            wrap_line(l, cells, &mut out);
        }
    }
    out
}

/// What a continuation begins with: the line's own indent; its rule, where text is quoted behind
/// one; the value's column, where the line is a name and its value and the name takes little of the
/// room.
fn continuation(l: &Line, cells: usize) -> Line {
    let text = plain(l);
    let indent = (text.len() - text.trim_start().len()).min(cells / 2);
    if text.trim_start().starts_with("│ ") {
        let role = l
            .iter()
            .find(|s| !s.text.trim().is_empty())
            .map_or(Role::Dim, |s| s.role);
        return vec![span(Role::Plain, " ".repeat(indent)), span(role, "│ ")];
    }
    let name = |s: &Span| {
        !s.text.trim().is_empty()
            && (s.text.ends_with("  ") || s.text.starts_with(' ') && s.text.ends_with(' '))
    };
    let indent = match l
        .first()
        .filter(|s| l.len() > 1 && name(s))
        .map(|s| width(&s.text))
    {
        Some(w) if w <= cells * 2 / 5 => w,
        Some(_) => (indent + 4).min(cells / 2),
        None => indent,
    };
    line(Role::Plain, " ".repeat(indent))
}

/// Blanks and what is between them, by turns.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let blank = rest.chars().next()?.is_whitespace();
        let end = rest
            .find(|c: char| c.is_whitespace() != blank)
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn wrap_line(l: &Line, cells: usize, out: &mut Doc) {
    let begin = continuation(l, cells);
    let indent = cells_of(&begin);
    // For a word that has no room under its value.
    let near = line(Role::Plain, " ".repeat(indent.min(4)));
    let (mut current, mut used, mut fresh) = (Line::new(), 0, true);
    for s in l {
        for word in words(&s.text) {
            let w = width(word);
            if used + w <= cells {
                put(&mut current, s.role, word);
                used += w;
                fresh = false;
                continue;
            }
            // One that is longer than a whole line gains nothing by being moved.
            let next = [&begin, &near]
                .into_iter()
                .find(|b| w <= cells - cells_of(b));
            if let (false, Some(next)) = (fresh, next) {
                out.push(std::mem::replace(&mut current, next.clone()));
                (used, fresh) = (cells_of(next), true);
                if word.trim().is_empty() {
                    continue;
                }
            }
            // A word longer than the line is cut where the line ends.
            for g in word.graphemes(true) {
                if used + width(g) > cells {
                    out.push(std::mem::replace(&mut current, begin.clone()));
                    used = indent;
                }
                put(&mut current, s.role, g);
                used += width(g);
                fresh = false;
            }
        }
    }
    if !current.is_empty() {
        out.push(current);
    }
}

fn put(l: &mut Line, role: Role, text: &str) {
    match l.last_mut() {
        Some(last) if last.role == role => last.text.push_str(text),
        _ => l.push(Span {
            role,
            text: text.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_at_blanks_and_keep_their_indent() {
        let doc = vec![line(Role::Plain, "  the quick brown fox jumps")];
        let wrapped: Vec<String> = wrap(&doc, 14).iter().map(plain).collect();
        assert_eq!(wrapped, ["  the quick ", "  brown fox ", "  jumps"]);
        let pair = vec![vec![
            span(Role::Dim, "took   "),
            span(Role::Plain, "a while, and then some more"),
        ]];
        let wrapped: Vec<String> = wrap(&pair, 22)
            .iter()
            .map(|l| plain(l).trim_end().to_owned())
            .collect();
        assert_eq!(wrapped, ["took   a while, and", "       then some more"]);
        let long = vec![vec![
            span(Role::Dim, "name   "),
            span(Role::Plain, "module.network.vpc"),
        ]];
        let wrapped: Vec<String> = wrap(&long, 22)
            .iter()
            .map(|l| plain(l).trim_end().to_owned())
            .collect();
        assert_eq!(wrapped, ["name", "    module.network.vpc"]);
        let quoted = vec![line(Role::Dim, "  │ created name=shop-logs id=bkt-7")];
        let wrapped: Vec<String> = wrap(&quoted, 28)
            .iter()
            .map(|l| plain(l).trim_end().to_owned())
            .collect();
        assert_eq!(wrapped, ["  │ created name=shop-logs", "  │ id=bkt-7"]);
        let doc = vec![line(Role::Plain, "aaaaaaaaaaaaaaaaaaaa")];
        assert_eq!(wrap(&doc, 8).len(), 3);
    }

    #[test]
    fn every_wrapped_line_fits() {
        let doc = vec![vec![
            span(Role::Bad, "漢字 error: "),
            span(
                Role::Plain,
                "policy is not valid JSON at position 漢字漢字漢字漢字",
            ),
        ]];
        for cells in 8..40 {
            assert!(
                wrap(&doc, cells).iter().all(|l| width(&plain(l)) <= cells),
                "{cells}"
            );
        }
    }
}
