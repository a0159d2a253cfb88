//! Rewrites outdated forms before layout: block labels without quotes, strings of one
//! interpolation, quoted types.

use super::token::Token;
use crate::source::Span;
use crate::syntax::strings::escaped;
use crate::syntax::token::Kind;
use crate::syntax::{NativeBlock, NativeBody};

/// Replacement tokens for a range.
struct Edit<'t> {
    from: usize,
    to: usize,
    tokens: Vec<Token<'t>>,
}

/// Tokens of a file, with outdated forms replaced.
pub(super) fn modernize<'t>(tokens: Vec<Token<'t>>, body: &NativeBody) -> Vec<Token<'t>> {
    let mut edits = Vec::new();
    collect_edits(&tokens, body, &[], &mut edits);
    // The syntax tree lists arguments before blocks, but edits apply in text order.
    edits.sort_by_key(|e| e.from);
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&tokens[at..edit.from]);
        out.extend(edit.tokens);
        at = edit.to;
    }
    out.extend_from_slice(&tokens[at..]);
    out
}

/// Collects edits of a body; `path` has the types of the enclosing blocks.
fn collect_edits<'t>(
    tokens: &[Token<'t>],
    body: &NativeBody,
    path: &[&str],
    edits: &mut Vec<Edit<'t>>,
) {
    for attribute in body.attributes.values() {
        let (from, to) = expression(tokens, attribute.name_span);
        let written = &tokens[from..to];
        // Quoted types are legacy forms only in `variable` blocks.
        let usual = if path == ["variable"] && &*attribute.name == "type" {
            modern_type(written)
        } else {
            unwrapped(written)
        };
        edits.extend(usual.map(|tokens| Edit { from, to, tokens }));
    }
    for block in &body.blocks {
        labels(tokens, block, edits);
        let inner: Vec<&str> = path.iter().copied().chain([&*block.type_name]).collect();
        collect_edits(tokens, &block.body, &inner, edits);
    }
}

/// First token at or after an offset.
fn index_at(tokens: &[Token<'_>], start: u32) -> usize {
    tokens.partition_point(|t| t.start < start)
}

/// Token range of an argument's expression, without surrounding comments.
fn expression(tokens: &[Token<'_>], name: Span) -> (usize, usize) {
    let mut from = index_at(tokens, name.end);
    while tokens
        .get(from)
        .is_some_and(|t| matches!(t.kind, Kind::Equal | Kind::Comment))
    {
        from += 1;
    }
    let (mut to, mut depth) = (from, 0);
    while let Some(token) = tokens.get(to) {
        // A closing brace at this depth belongs to a block on a single line.
        let over = token.ends_line() || matches!(token.kind, Kind::Eof | Kind::CBrace);
        if depth == 0 && over {
            break;
        }
        depth += token.brackets();
        to += 1;
    }
    // A trailing comment belongs to the line, not to the expression.
    while to > from && tokens[to - 1].kind == Kind::Comment {
        to -= 1;
    }
    (from, to)
}

fn labels<'t>(tokens: &[Token<'t>], block: &NativeBlock, edits: &mut Vec<Edit<'t>>) {
    for label in &block.labels {
        let (from, to) = (
            index_at(tokens, label.span.start),
            index_at(tokens, label.span.end),
        );
        let start = label.span.start;
        let tokens = vec![
            Token::new(Kind::OQuote, "\"", start),
            Token::new(Kind::QuotedLit, escaped(&label.text), start),
            Token::new(Kind::CQuote, "\"", start),
        ];
        edits.push(Edit { from, to, tokens });
    }
}

/// Content of `"${ … }"` if the string has nothing else. An expression over several lines gets
/// parentheses, because newlines end an expression outside of a string.
fn unwrapped<'t>(tokens: &[Token<'t>]) -> Option<Vec<Token<'t>>> {
    let [first, open, inside @ .., close, last] = tokens else {
        return None;
    };
    let kinds = [first.kind, open.kind, close.kind, last.kind];
    if inside.is_empty()
        || kinds
            != [
                Kind::OQuote,
                Kind::TemplateInterp,
                Kind::TemplateSeqEnd,
                Kind::CQuote,
            ]
    {
        return None;
    }
    // Strings inside the interpolation may contain sequences of their own.
    let mut quotes = 0;
    for token in inside {
        match token.kind {
            Kind::OQuote => quotes += 1,
            Kind::CQuote => quotes -= 1,
            // Another sequence beside the first, or text.
            Kind::TemplateInterp | Kind::TemplateSeqEnd | Kind::QuotedLit if quotes <= 0 => {
                return None;
            }
            _ => {}
        }
    }
    let start = inside.iter().position(|t| t.kind != Kind::Newline)?;
    let end = inside.iter().rposition(|t| t.kind != Kind::Newline)? + 1;
    let inside = &inside[start..end];
    let lines = inside.iter().any(|t| t.kind == Kind::Newline);
    let in_parentheses =
        inside[0].kind == Kind::OParen && inside[inside.len() - 1].kind == Kind::CParen;
    // Parentheses keep the newlines from ending the argument.
    if !lines || in_parentheses {
        return Some(inside.to_vec());
    }
    let mut out = vec![Token::new(Kind::OParen, "(", open.start)];
    out.extend_from_slice(inside);
    out.push(Token::new(Kind::CParen, ")", close.start));
    Some(out)
}

/// Current form of a type: collections have an element type, and nothing is quoted.
fn modern_type<'t>(tokens: &[Token<'t>]) -> Option<Vec<Token<'t>>> {
    let (name, of) = match tokens {
        [name] if name.kind == Kind::Ident && matches!(&*name.text, "list" | "map" | "set") => {
            (name, Some("any"))
        }
        [open, name, close]
            if [open.kind, name.kind, close.kind]
                == [Kind::OQuote, Kind::QuotedLit, Kind::CQuote] =>
        {
            match &*name.text {
                "string" => (name, None),
                // Quoted types are older than `any`.
                "list" | "map" => (name, Some("string")),
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut out = vec![Token::new(Kind::Ident, name.text.clone(), name.start)];
    if let Some(of) = of {
        out.push(Token::new(Kind::OParen, "(", name.start));
        out.push(Token::new(Kind::Ident, of, name.start));
        out.push(Token::new(Kind::CParen, ")", name.start));
    }
    Some(out)
}
