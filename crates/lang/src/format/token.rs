//! Tokens with the spaces before them: a text that can be laid out anew without touching what it
//! says.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::syntax::token::Kind;
use crate::syntax::{Start, scan};

/// A token of a text that is laid out.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: Cow<'t, str>,
    /// Where it stood, to be found by the places of the syntax tree.
    pub(super) start: u32,
    pub(super) spaces: usize,
}

impl<'t> Token<'t> {
    /// One that was not there before; its spaces are for the layout to say.
    pub(super) fn new(kind: Kind, text: impl Into<Cow<'t, str>>, start: u32) -> Self {
        Self {
            kind,
            text: text.into(),
            start,
            spaces: 0,
        }
    }

    /// Whether a line ends with it. Comments of one line take the end of the line with them.
    pub(super) fn ends_line(&self) -> bool {
        self.kind == Kind::Newline || (self.kind == Kind::Comment && self.text.ends_with('\n'))
    }

    /// How many brackets it leaves open (1) or closes (-1).
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

/// How wide they are together, in characters as people count them.
pub(super) fn width(tokens: &[Token<'_>]) -> usize {
    tokens
        .iter()
        .map(|t| t.spaces + t.text.graphemes(true).count())
        .sum()
}

/// The tokens of a text, the one for its end included.
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

/// The text that they are.
pub(super) fn written(tokens: &[Token<'_>]) -> String {
    let mut out = String::with_capacity(tokens.iter().map(|t| t.spaces + t.text.len()).sum());
    for token in tokens {
        out.extend(std::iter::repeat_n(' ', token.spaces));
        out.push_str(&token.text);
    }
    out
}
