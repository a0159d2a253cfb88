//! Indentation of lines, and alignment of equals signs and comments in neighbouring lines. The
//! rules are those of `hclwrite`.

use std::ops::Range;

use super::spacing::space_between;
use super::token::{Token, width};
use crate::syntax::token::Kind;

/// A line as up to three aligned cells: the start of the line, an assignment from its equals sign
/// on, and a trailing comment. The numbers are indexes into the list of tokens.
#[derive(Default)]
struct Line {
    lead: Range<usize>,
    assign: Option<Range<usize>>,
    comment: Option<usize>,
}

/// Sets the spaces before all tokens.
pub(super) fn set_spaces(tokens: &mut [Token<'_>]) {
    let lines = lines(tokens);
    indent(tokens, &lines);
    for line in &lines {
        set_spacing(&mut tokens[line.lead.clone()]);
        if let Some(assign) = &line.assign {
            // The first token of a cell has no token before it to decide by.
            tokens[assign.start].spaces = 1;
            set_spacing(&mut tokens[assign.clone()]);
        }
    }
    // Assignments first, because aligning them moves the comments after them.
    align(tokens, &lines, |line| line.assign.as_ref().map(|a| a.start));
    align(tokens, &lines, |line| line.comment);
}

fn lines(tokens: &[Token<'_>]) -> Vec<Line> {
    let end = tokens
        .iter()
        .position(|t| t.kind == Kind::Eof)
        .unwrap_or(tokens.len());
    let tokens = &tokens[..end];
    let mut out = Vec::new();
    let mut start = 0;
    for line in tokens.split_inclusive(Token::ends_line) {
        out.push(cells(line, start));
        start += line.len();
    }
    out
}

/// Splits a line into cells.
fn cells(line: &[Token<'_>], start: usize) -> Line {
    let mut lead = line.len();
    let mut comment = None;
    if lead > 1 && line[lead - 1].kind == Kind::Comment {
        lead -= 1;
        comment = Some(start + lead);
    }
    // From 1, because an equals sign needs a name before it.
    let equals = (1..lead).find(|i| line[*i].kind == Kind::Equal);
    // An expression that continues on the next line is not a cell.
    let whole = |i: &usize| line[*i..lead].iter().map(Token::brackets).sum::<isize>() == 0;
    let equals = equals.filter(whole);
    let assign = equals.map(|i| start + i..start + lead);
    Line {
        lead: start..start + equals.unwrap_or(lead),
        assign,
        comment,
    }
}

/// Indents by two spaces for each line that left brackets open, however many: a line that closes
/// several goes back by as many levels as lines opened them.
fn indent(tokens: &mut [Token<'_>], lines: &[Line]) {
    let mut open: Vec<isize> = Vec::new();
    for line in lines {
        let Some(first) = tokens.get(line.lead.start) else {
            continue;
        };
        if first.kind == Kind::Newline {
            // A blank line gets no indentation.
            tokens[line.lead.start].spaces = 0;
            continue;
        }
        let lead = &tokens[line.lead.clone()];
        // The lines of a heredoc keep their text.
        let counted = lead
            .iter()
            .position(|t| t.kind == Kind::OHeredoc)
            .unwrap_or(lead.len());
        let assign = line.assign.clone().map_or(&[][..], |a| &tokens[a]);
        let net: isize = lead[..counted]
            .iter()
            .chain(assign)
            .map(Token::brackets)
            .sum();
        // Closing brackets move their own line back, opening ones only the next lines.
        if net < 0 {
            close(&mut open, -net);
        }
        tokens[line.lead.start].spaces = 2 * open.len();
        if net > 0 {
            open.push(net);
        }
    }
}

fn close(open: &mut Vec<isize>, mut closed: isize) {
    while closed > 0 {
        let Some(last) = open.last_mut() else { return };
        if closed < *last {
            *last -= closed;
            return;
        }
        closed -= *last;
        open.pop();
    }
}

/// Sets one space or none between the tokens of a cell.
fn set_spacing(cell: &mut [Token<'_>]) {
    for i in 1..cell.len() {
        let before = i.checked_sub(2).map(|b| cell[b].kind);
        let space = space_between(before, &cell[i - 1], &cell[i]);
        cell[i].spaces = usize::from(space);
    }
}

/// Aligns one cell of neighbouring lines to a column after the widest.
fn align(tokens: &mut [Token<'_>], lines: &[Line], cell: impl Fn(&Line) -> Option<usize>) {
    // A line without the cell ends the group, so distant lines are not aligned.
    for chain in lines.chunk_by(|a, b| cell(a).is_some() == cell(b).is_some()) {
        let widths: Vec<(usize, usize)> = chain
            .iter()
            .filter_map(|line| cell(line).map(|at| (at, width(&tokens[line.lead.start..at]))))
            .collect();
        let widest = widths.iter().map(|(_, width)| *width).max().unwrap_or(0);
        for (at, width) in widths {
            tokens[at].spaces = widest - width + 1;
        }
    }
}
