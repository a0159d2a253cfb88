//! Tokens with the spaces before them, so that the layout of a text changes but not its content.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::syntax::token::Kind;
use crate::syntax::{Start, scan};

/// A token of a text that is laid out.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: Cow<'t, str>,
    /// Offset in the text, to match tokens with the syntax tree.
    pub(super) start: u32,
    pub(super) spaces: usize,
}

impl<'t> Token<'t> {
    /// New token; layout sets the spaces before it.
    pub(super) fn new(kind: Kind, text: impl Into<Cow<'t, str>>, start: u32) -> Self {
        Self {
            kind,
            text: text.into(),
            start,
            spaces: 0,
        }
    }

    /// Returns true if the token ends a line. A line comment includes the line's end.
    pub(super) fn ends_line(&self) -> bool {
        self.kind == Kind::Newline || (self.kind == Kind::Comment && self.text.ends_with('\n'))
    }

    /// Returns 1 for an opening and -1 for a closing bracket.
    pub(super) fn brackets(&self) -> isize {
        match self.kind {
            Kind::OBrace
            | Kind::OBrack
            | Kind::OParen
            | Kind::TemplateControl
            | Kind::TemplateInterp => 1,
            Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::TemplateSeqEnd => -1,
            _ => 0,
        }
    }
}

/// Display width of the tokens, in grapheme clusters.
pub(super) fn width(tokens: &[Token<'_>]) -> usize {
    tokens
        .iter()
        .map(|t| t.spaces + t.text.graphemes(true).count())
        .sum()
}

/// Tokens of a text, including its end.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut end = 0;
    let with_spaces = |token: crate::syntax::token::Token| {
        let spaces = token.start - std::mem::replace(&mut end, token.end);
        let said = &text[token.start as usize..token.end as usize];
        Token {
            kind: token.kind,
            text: said.into(),
            start: token.start,
            spaces: spaces as usize,
        }
    };
    scan(text, Start::Normal)
        .into_iter()
        .map(with_spaces)
        .collect()
}

/// Text of the tokens.
pub(super) fn text_of(tokens: &[Token<'_>]) -> String {
    let mut out = String::with_capacity(tokens.iter().map(|t| t.spaces + t.text.len()).sum());
    for token in tokens {
        out.extend(std::iter::repeat_n(' ', token.spaces));
        out.push_str(&token.text);
    }
    out
}
