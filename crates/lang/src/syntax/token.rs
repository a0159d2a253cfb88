//! Tokens of native syntax, and errors about invalid characters.

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{FileId, Span};

/// Token kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    OBrace,
    CBrace,
    OBrack,
    CBrack,
    OParen,
    CParen,
    OQuote,
    CQuote,
    OHeredoc,
    CHeredoc,
    TemplateInterp,
    TemplateControl,
    TemplateSeqEnd,
    Star,
    Slash,
    Plus,
    Minus,
    Percent,
    Equal,
    EqualEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Bang,
    Dot,
    Comma,
    Ellipsis,
    FatArrow,
    DoubleColon,
    Question,
    Colon,
    QuotedLit,
    StringLit,
    QuotedNewline,
    Number,
    Ident,
    Comment,
    Newline,
    Eof,
    BitAnd,
    BitOr,
    BitNot,
    BitXor,
    Backtick,
    Apostrophe,
    Semicolon,
    Invalid,
}

impl Kind {
    /// The other end of a bracketing pair.
    pub(crate) fn matching_bracket(self) -> Option<Kind> {
        Some(match self {
            Kind::OBrace => Kind::CBrace,
            Kind::CBrace => Kind::OBrace,
            Kind::OBrack => Kind::CBrack,
            Kind::CBrack => Kind::OBrack,
            Kind::OParen => Kind::CParen,
            Kind::CParen => Kind::OParen,
            Kind::OQuote => Kind::CQuote,
            Kind::CQuote => Kind::OQuote,
            Kind::OHeredoc => Kind::CHeredoc,
            Kind::CHeredoc => Kind::OHeredoc,
            Kind::TemplateInterp | Kind::TemplateControl => Kind::TemplateSeqEnd,
            Kind::TemplateSeqEnd => Kind::TemplateInterp,
            _ => return None,
        })
    }
}

/// Token: its byte range in the scanned text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

const BACKTICK: &str = "The character \"`\" is not valid here. For text of several lines use a \
    heredoc, as in \"<<EOT\".";
const APOSTROPHE: &str = "Single quotes are not valid. Enclose strings in double quotes (\").";
const SEMICOLON: &str = "The character \";\" is not valid. Separate arguments and blocks by \
    newlines, and items of collections by commas.";

/// Reports invalid tokens, each kind only a few times per file.
pub(crate) fn check_tokens(tokens: &[Token], text: &str, file: FileId, base: u32) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let invalid = |detail: &str| ("Invalid character", detail.to_owned());
    let (mut bitwise, mut backticks, mut apostrophes, mut semicolons) = (0, 0, 0, 0);
    for token in tokens {
        // A binary file would otherwise give an error for every token.
        if diags.len() >= super::MAX_ERRORS {
            break;
        }
        let complaint = match token.kind {
            Kind::BitAnd | Kind::BitOr | Kind::BitXor | Kind::BitNot => {
                bitwise += 1;
                // Repetitions of one mistake need no further errors.
                (bitwise <= 4).then(|| {
                    (
                        "Unsupported operator",
                        format!(
                            "Bitwise operators are not supported.{}",
                            boolean_hint(token.kind)
                        ),
                    )
                })
            }
            Kind::Backtick => {
                backticks += 1;
                // Backticks come in pairs, and one error for each pair is enough.
                (backticks % 2 == 1 && backticks <= 3).then(|| invalid(BACKTICK))
            }
            Kind::Apostrophe => {
                apostrophes += 1;
                (apostrophes % 2 == 1 && apostrophes <= 3).then(|| invalid(APOSTROPHE))
            }
            Kind::Semicolon => {
                semicolons += 1;
                // Other languages end every line so; one error is enough.
                (semicolons == 1).then(|| invalid(SEMICOLON))
            }
            Kind::QuotedNewline => Some((
                "Invalid multi-line string",
                "A quoted string must not span several lines. Write a newline as \\n, or use a \
                heredoc (\"<<EOT\")."
                    .to_owned(),
            )),
            Kind::Invalid => {
                let character = text.get(token.start as usize..token.end as usize);
                Some(invalid(invalid_character(character.unwrap_or(""))))
            }
            _ => None,
        };
        if let Some((summary, detail)) = complaint {
            diags.push(Diagnostic::error(summary, detail).at(Span {
                file,
                start: base + token.start,
                end: base + token.end,
            }));
        }
    }
    diags
}

/// Suggests the boolean operator for a bitwise one.
fn boolean_hint(operator: Kind) -> &'static str {
    match operator {
        Kind::BitAnd => " Did you mean boolean AND (\"&&\")?",
        Kind::BitOr => " Did you mean boolean OR (\"||\")?",
        Kind::BitNot => " Did you mean boolean NOT (\"!\")?",
        _ => "",
    }
}

/// Detail for a character that starts no token.
fn invalid_character(character: &str) -> &'static str {
    match character {
        "\u{201c}" | "\u{201d}" => {
            "Curly quotes are not valid here. Replace them with straight quotes (\")."
        }
        "\r" => {
            "This carriage return is not followed by a line feed. Save the file with LF or CRLF \
            line endings."
        }
        _ => "This character is not used within the language.",
    }
}
