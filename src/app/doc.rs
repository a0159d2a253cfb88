//! Styled text without colours: contents of detail panes, titles and popups. `ui` maps each
//! [`Role`] to a colour. All text in a [`Doc`] is escaped for the terminal when it is added.

mod beside;
mod call;
mod chain;
mod change;
mod comparison;
mod deploy;
mod diagnostic;
mod gauge;
mod header;
mod history;
mod identity;
mod launches;
mod log_text;
mod observation;
mod operation;
mod operation_log;
mod plugin;
mod resource;
mod rollout;
mod schema;
mod staging;
mod title;
mod unknown;
mod welcome;

pub use beside::beside;
pub use call::{
    call, finished, finished_line, finished_state, open_state, outcome, outcome_sign, reported,
};
pub use chain::{duration_of_deploy, reason_of_operation};
pub use change::{
    Extent, Grouped, change, change_head, changed_values, drift, drift_head, drift_role, explain,
    grouped, long_attribute, neighbours, output, output_head, replaced_value,
};
pub use comparison::{comparison, file_differences};
pub use deploy::{counts, mode, nonzero, outcome_role, plan_options};
pub use diagnostic::{diagnostic, diagnostics};
pub use gauge::{LEVELS, bar, gauge, maximum, sparkline, sum};
pub use header::{PluginCounts, badge, header, status};
pub use history::{
    deploy_head, deploy_summary, failed_with, failure_group, failure_head, failure_status,
    failures_of, operations_now, push_deploys,
};
pub use identity::{Varying, varying};
pub use launches::{cause, launches};
pub use log_text::log_text;
pub use observation::{HISTORY, drift_cell, exists_cell, oldest_read, ready_cell};
pub use operation::{
    is_retry_enough, more_needs, operation, operation_sign, operation_title, pause,
};
pub use operation_log::{Reported, newest_log_text};
pub use plugin::{calls, found, level_role, logs, orphan, processes};
pub use resource::{
    log_line, output_value, short_provider, state_output, state_row, stream_label, telling_values,
};
pub use rollout::{is_unhealthy, rollout, rollout_role};
pub use schema::{schema_cells, schema_text};
pub use staging::{staged_message, staging, write_staging};
pub use title::{detail_title, title, title_bar};
pub use unknown::{
    unknown, unknown_head, unknown_keys, unknown_line, unknown_note, unknown_of_operation,
};
pub use welcome::{empty, notes};

use super::address::shorten_address;
use super::list::Row;
use super::text::{clean, width};
use unicode_segmentation::UnicodeSegmentation;

/// Meaning of a piece of text.
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
    /// Bad, and a choice that the operator must notice.
    Alarm,
    Create,
    Update,
    Destroy,
    /// Changed part of a removed text.
    Removed,
    /// Changed part of an added text.
    Added,
    Read,
    Forget,
    Key,
    /// Key that ends processes or can destroy objects.
    RiskyKey,
    Match,
}

/// Change of a piece of text that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fit {
    /// Its end is cut.
    #[default]
    Cut,
    /// It is an address, and is shortened in the middle.
    Shorten,
    /// It is left out, because a part of it would be wrong.
    Omit,
    /// It belongs to a part of a note. Parts are whole or left out, and the note says how many.
    Part,
}

/// Piece of text with one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub role: Role,
    pub text: String,
    pub fit: Fit,
}

/// Line of text pieces.
pub type Line = Vec<Span>;
/// Lines of text.
pub type Doc = Vec<Line>;

/// Creates a piece of escaped text.
pub fn span(role: Role, text: impl AsRef<str>) -> Span {
    Span {
        role,
        text: clean(text.as_ref()).into_owned(),
        fit: Fit::Cut,
    }
}

/// Creates a piece with the address of a resource.
pub fn address(role: Role, text: impl AsRef<str>) -> Span {
    Span {
        fit: Fit::Shorten,
        ..span(role, text)
    }
}

/// Renders the label of a row: its indent or mark in a tree, and its address.
pub fn row_label(role: Role, row: &Row) -> Line {
    let label = row.label();
    let name = label.trim_start_matches([' ', '▸', '▾']);
    let indent = &label[..label.len() - name.len()];
    vec![span(role, indent), address(role, name)]
}

/// Creates a piece that is whole or absent, such as a progress bar.
pub fn omittable(role: Role, text: impl AsRef<str>) -> Span {
    Span {
        fit: Fit::Omit,
        ..span(role, text)
    }
}

/// Text between two parts of a note.
const DOT: &str = " · ";

/// Renders parts of a note, such as `name = value · name = value`, with dim names.
pub fn parts(all: &[String]) -> Line {
    let mut l = Line::new();
    for (i, part) in all.iter().enumerate() {
        if i > 0 {
            l.push(span(Role::Dim, DOT));
        }
        let named = part.split_once(" = ");
        match named.filter(|(name, _)| !name.contains(['"', ' '])) {
            Some((name, value)) => {
                l.push(span(Role::Dim, format!("{name} = ")));
                l.push(span(Role::Plain, value));
            }
            None if more_parts(part).is_some() => l.push(span(Role::Dim, part)),
            None => l.push(span(Role::Plain, part)),
        }
    }
    l.iter_mut().for_each(|s| s.fit = Fit::Part);
    l
}

/// Returns the number of parts that `+2 more` stands for.
fn more_parts(part: &str) -> Option<usize> {
    let number = part.strip_prefix('+')?.strip_suffix(" more")?;
    number.parse().ok()
}

/// Leaves out parts of the note at the end of a line, from the last one on, and says how many.
fn drop_parts(line: &mut Line, cells: usize) {
    let (mut dropped, mut more) = (0, String::new());
    while cells_of(line) + width(&more) > cells {
        let dot = |s: &Span| s.fit == Fit::Part && s.text == DOT;
        let Some(at) = line.iter().rposition(dot) else {
            break;
        };
        let part = plain(&line.split_off(at));
        dropped += more_parts(part.trim_start_matches(DOT)).unwrap_or(1);
        more = format!("{DOT}+{dropped} more");
    }
    let mut marks = [more.as_str(), " …"].into_iter();
    let fitting = marks.find(|mark| cells_of(line) + width(mark) <= cells);
    if let Some(mark) = fitting.filter(|_| dropped > 0) {
        line.push(span(Role::Dim, mark));
    }
}

/// Creates a line with one piece.
pub fn line(role: Role, text: impl AsRef<str>) -> Line {
    vec![span(role, text)]
}

/// Appends text of several lines in one role.
pub fn push_text(doc: &mut Doc, role: Role, indent: &str, text: &str) {
    for l in text.lines() {
        doc.push(vec![span(role, format!("{indent}{}", clean(l)))]);
    }
}

/// Appends the first `most` addresses below a heading, and the number of the others.
pub fn push_addresses<'a>(
    doc: &mut Doc,
    heading: &str,
    all: impl ExactSizeIterator<Item = &'a str>,
    most: usize,
) {
    let more = all.len().saturating_sub(most);
    push_heading(doc, heading);
    let shown = all.take(most);
    doc.extend(shown.map(|name| vec![span(Role::Plain, "  "), address(Role::Plain, name)]));
    if more > 0 {
        doc.push(line(Role::Dim, format!("  and {more} more")));
    }
}

/// Appends a heading, after a blank line.
pub fn push_heading(doc: &mut Doc, text: impl AsRef<str>) {
    if !doc.is_empty() {
        doc.push(Line::new());
    }
    doc.push(line(Role::Heading, text));
}

/// Appends `name   value`, with the name dim and padded.
pub fn push_pair(doc: &mut Doc, name: &str, value: impl AsRef<str>) {
    doc.push(vec![
        span(Role::Dim, format!("{name:<12} ")),
        span(Role::Plain, value),
    ]);
}

/// Width of a line in cells.
pub fn cells_of(line: &Line) -> usize {
    line.iter().map(|s| width(&s.text)).sum()
}

/// Least width of an address that is followed by other text.
const MIN_ADDRESS: usize = 8;

/// Shortens a line to a width: leaves out progress bars, then parts of a note, then shortens
/// addresses from the last one on, then cuts the end and marks the cut with `…`.
pub fn fit_line(mut line: Line, cells: usize) -> Line {
    if cells_of(&line) <= cells {
        return line;
    }
    // The last ones first; a bar has several pieces.
    while cells_of(&line) > cells
        && let Some(last) = line.iter().rposition(|s| s.fit == Fit::Omit)
    {
        let kept = line[..last].iter().rposition(|s| s.fit != Fit::Omit);
        line.drain(kept.map_or(0, |at| at + 1)..=last);
    }
    drop_parts(&mut line, cells);
    // Blanks at the end are no text that could be missed.
    while let Some(last) = line.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        line.pop();
    }
    let mut excess = cells_of(&line).saturating_sub(cells);
    let least = if line.len() > 1 { MIN_ADDRESS } else { 0 };
    for s in line.iter_mut().rev().filter(|s| s.fit == Fit::Shorten) {
        let w = width(&s.text);
        let short = w.saturating_sub(excess).max(least);
        s.text = shorten_address(&s.text, short);
        excess = excess.saturating_sub(w.saturating_sub(width(&s.text)));
    }
    if excess == 0 {
        return line;
    }
    let mut left = cells;
    for (i, s) in line.iter_mut().enumerate() {
        let w = width(&s.text);
        // One cell is reserved for the mark.
        if w < left {
            left -= w;
            continue;
        }
        // Two blanks make the text longer than its space, so that it is cut and gets its `…`.
        s.text = super::text::truncate_end(&format!("{}  ", s.text), left).into_owned();
        line.truncate(i + 1);
        break;
    }
    line
}

/// Returns the text of a line without roles.
pub fn plain(line: &Line) -> String {
    line.iter().map(|s| s.text.as_str()).collect()
}

/// Returns the text of a document without roles.
pub fn plain_text(doc: &Doc) -> String {
    doc.iter()
        .map(|l| plain(l).trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Role of an action.
pub fn action_role(action: model::Action) -> Role {
    use model::Action::*;
    match action {
        NoOp => Role::Dim,
        Read => Role::Read,
        Create => Role::Create,
        Update => Role::Update,
        Replace | ReplaceCreateFirst | Destroy => Role::Destroy,
        Forget => Role::Forget,
    }
}

/// Symbol of an action with its colours: in a replace, `-` is red and `+` green.
pub fn action_sign(action: model::Action) -> Line {
    use model::Action::*;
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

/// Returns the role of a change: that of its action, or of an import or a move.
pub fn change_role(c: &model::ChangeView) -> Role {
    match (c.action, &c.import) {
        (model::Action::NoOp, Some(_)) => Role::Read,
        (model::Action::NoOp, None) if c.has_effect() => Role::Forget,
        (action, _) => action_role(action),
    }
}

/// Symbol of a change with its colours.
pub fn change_sign(c: &model::ChangeView) -> Line {
    match c.action {
        model::Action::NoOp => line(change_role(c), c.sign()),
        action => action_sign(action),
    }
}

/// Wraps lines that are longer than `cells`, at blanks if possible. Continuation lines keep the
/// indent.
pub fn wrap(doc: &Doc, cells: usize) -> Doc {
    // A minimum, so that indents leave space for text.
    let cells = cells.max(8);
    let mut out = Doc::with_capacity(doc.len());
    for l in doc {
        // Most lines fit and are copied as they are.
        if l.iter().map(|s| width(&s.text)).sum::<usize>() <= cells {
            out.push(l.clone());
        } else {
            wrap_line(l, cells, &mut out);
        }
    }
    out
}

/// Returns the start of a continuation line: the indent; the quote bar of quoted text; or the
/// column of the value, if the line is a narrow name with its value.
fn continuation(l: &Line, cells: usize) -> Line {
    let text = plain(l);
    // An indent takes half of the width at most.
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
        // A wide name would leave too little space for its value.
        Some(w) if w <= cells * 2 / 5 => w,
        Some(_) => (indent + 4).min(cells / 2),
        None => indent,
    };
    line(Role::Plain, " ".repeat(indent))
}

/// Splits text into blanks and words, alternating.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
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
    // Smaller indent for a word that is too long for the column of the value.
    let near = line(Role::Plain, " ".repeat(indent.min(4)));
    let (mut current, mut used, mut fresh) = (Line::new(), 0, true);
    for s in l {
        for word in split_words(&s.text) {
            let w = width(word);
            if used + w <= cells {
                push_span(&mut current, s.role, word);
                used += w;
                fresh = false;
                continue;
            }
            // A word longer than a whole line stays on this line and is split.
            let next = [&begin, &near]
                .into_iter()
                .find(|b| w <= cells - cells_of(b));
            if let (false, Some(next)) = (fresh, next) {
                out.push(std::mem::replace(&mut current, next.clone()));
                (used, fresh) = (cells_of(next), true);
                // A blank at the break is dropped.
                if word.trim().is_empty() {
                    continue;
                }
            }
            // A word longer than the line is split, after dots and slashes if possible.
            for piece in word.split_inclusive(['.', '/']) {
                let w = width(piece);
                if used + w > cells && !fresh && indent + w <= cells {
                    out.push(std::mem::replace(&mut current, begin.clone()));
                    used = indent;
                }
                for g in piece.graphemes(true) {
                    if used + width(g) > cells {
                        out.push(std::mem::replace(&mut current, begin.clone()));
                        used = indent;
                    }
                    push_span(&mut current, s.role, g);
                    used += width(g);
                    fresh = false;
                }
            }
        }
    }
    if !current.is_empty() {
        out.push(current);
    }
}

fn push_span(l: &mut Line, role: Role, text: &str) {
    match l.last_mut() {
        Some(last) if last.role == role => last.text.push_str(text),
        _ => l.push(Span {
            role,
            text: text.to_owned(),
            fit: Fit::Cut,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_wrap_at_spaces_and_keep_their_indent() {
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
        let doc = vec![line(Role::Plain, "  module.network.aws_vpc.main")];
        let wrapped: Vec<String> = wrap(&doc, 16).iter().map(plain).collect();
        assert_eq!(wrapped, ["  module.", "  network.", "  aws_vpc.main"]);
    }

    #[test]
    fn line_loses_its_bar_then_the_middle_of_addresses_then_its_end() {
        let note = vec![
            omittable(Role::Busy, "▕██░░▏"),
            span(Role::Dim, " for "),
            address(Role::Dim, "module.app.lab_database.orders"),
            span(Role::Dim, " +3 more  "),
        ];
        for (cells, expected) in [
            (51, "▕██░░▏ for module.app.lab_database.orders +3 more  "),
            (43, " for module.app.lab_database.orders +3 more"),
            (42, " for app.lab_database.orders +3 more"),
            (28, " for app…orders +3 more"),
            (20, " for …orders +3 more"),
            (19, " for …orders +3 mo…"),
        ] {
            assert_eq!(plain(&fit_line(note.clone(), cells)), expected, "{cells}");
        }
    }

    #[test]
    fn note_loses_whole_parts_from_the_last_one_on() {
        let all = ["url = \"http://a\"", "log_file = \"…/a/b.log\"", "+2 more"];
        let note = parts(&all.map(str::to_owned));
        for (cells, expected) in [
            (
                51,
                "url = \"http://a\" · log_file = \"…/a/b.log\" · +2 more",
            ),
            (50, "url = \"http://a\" · +3 more"),
            (26, "url = \"http://a\" · +3 more"),
            (25, "url = \"http://a\" …"),
            (17, "url = \"http://a\""),
            (12, "url = \"http…"),
        ] {
            assert_eq!(plain(&fit_line(note.clone(), cells)), expected, "{cells}");
        }
    }

    #[test]
    fn wrapped_lines_fit_the_width() {
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
