//! Spaces between the tokens of a line.

use super::token::Token;
use crate::syntax::token::Kind;

/// Tokens before a minus that is a sign: opening brackets, separators, comparisons and other
/// operators.
const BEFORE_A_SIGN: [Kind; 21] = [
    Kind::OParen,
    Kind::OBrace,
    Kind::OBrack,
    Kind::Equal,
    Kind::Colon,
    Kind::Comma,
    Kind::Question,
    Kind::Plus,
    Kind::Star,
    Kind::Slash,
    Kind::Percent,
    Kind::Minus,
    Kind::EqualEqual,
    Kind::NotEqual,
    Kind::Greater,
    Kind::GreaterEqual,
    Kind::Less,
    Kind::LessEqual,
    Kind::And,
    Kind::Or,
    Kind::Bang,
];

/// Returns true if a space separates `token` from `after`; `before` precedes `token` in the same
/// cell.
pub(super) fn space_between(before: Option<Kind>, token: &Token<'_>, after: &Token<'_>) -> bool {
    use Kind::*;
    match (token.kind, after.kind) {
        (_, Newline)
        | (Ident, OParen | DoubleColon)
        | (DoubleColon, Ident)
        | (Dot, _)
        | (_, Dot | Comma | Ellipsis) => false,
        (Comma, _) => true,
        // Spaces inside a text are part of it.
        (QuotedLit | StringLit | OQuote | OHeredoc, _)
        | (_, QuotedLit | StringLit | CQuote | CHeredoc) => false,
        // `for x in [a]` is not an index of `in`.
        (Ident, _) if token.text == "in" && before == Some(Ident) => true,
        (Ident | Number, OBrack) => false,
        (_, OBrack) if token.brackets() < 0 => false,
        (Bang, _) => false,
        (Minus, _) => before.is_some_and(|b| !BEFORE_A_SIGN.contains(&b)),
        (OBrace, CBrace) => false,
        (OBrace, _) | (_, CBrace) => true,
        (TemplateInterp | TemplateControl, OBrace) | (CBrace, TemplateSeqEnd) => true,
        (TemplateSeqEnd, TemplateInterp | TemplateControl) => false,
        _ => token.brackets() <= 0 && after.brackets() >= 0,
    }
}
