//! Shared parts of the recovering parser: lookahead, errors, and resynchronisation. Bodies are in
//! `structure`, expressions in `expression`, templates in `template`.

use std::sync::Arc;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::ast::{Expr, ExprKind};
use super::lexer::{Start, scan};
use super::token::{Kind, Token, check_tokens};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::{FileId, Span};

/// One text being parsed.
pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    file: FileId,
    /// Offset of `text` in the file.
    base: u32,
    tokens: Vec<Token>,
    next: usize,
    newlines: Vec<bool>,
    /// Set in recovery, where follow-up errors are suppressed.
    pub(crate) recovery: bool,
    pub(crate) diags: Diagnostics,
    pub(crate) depth: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(
        text: &'a str,
        file: FileId,
        base: u32,
        start: Start,
        newlines: bool,
    ) -> Self {
        let tokens = scan(text, start);
        let diags = check_tokens(&tokens, text, file, base);
        Parser {
            text,
            file,
            base,
            tokens,
            next: 0,
            newlines: vec![newlines],
            recovery: false,
            diags,
            depth: 0,
        }
    }

    fn peek_with_offset(&self) -> (Token, usize) {
        let newlines = self.newlines.last().copied().unwrap_or(true);
        for (index, token) in self.tokens.iter().enumerate().skip(self.next) {
            match token.kind {
                Kind::Comment => {
                    // A line comment includes the newline, which still ends an argument.
                    if newlines
                        && self.text[token.start as usize..token.end as usize].ends_with('\n')
                    {
                        return (
                            Token {
                                kind: Kind::Newline,
                                ..*token
                            },
                            index + 1,
                        );
                    }
                }
                Kind::Newline if !newlines => {}
                _ => return (*token, index + 1),
            }
        }
        // The last token is always `Eof`, and it can be read again and again.
        (self.tokens[self.tokens.len() - 1], self.tokens.len())
    }

    pub(crate) fn peek(&self) -> Token {
        self.peek_with_offset().0
    }

    pub(crate) fn peek_kind(&self) -> Kind {
        self.peek_with_offset().0.kind
    }

    pub(crate) fn read(&mut self) -> Token {
        let (token, next) = self.peek_with_offset();
        self.next = next;
        token
    }

    pub(crate) fn span(&self, token: Token) -> Span {
        Span {
            file: self.file,
            start: self.base + token.start,
            end: self.base + token.end,
        }
    }

    /// Span of the token before the next one, including comments and newlines.
    pub(crate) fn previous(&self) -> Span {
        match self.next.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(token) => self.span(*token),
            None => self.span(self.peek()),
        }
    }

    pub(crate) fn bytes(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// Text of a token as a normalized name.
    pub(crate) fn name(&self, token: Token) -> Arc<str> {
        normal(self.bytes(token)).into()
    }

    pub(crate) fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Ident && self.bytes(token) == word
    }

    pub(crate) fn push_newlines(&mut self, include: bool) {
        self.newlines.push(include);
    }

    pub(crate) fn pop_newlines(&mut self) {
        // The outermost setting stays, so that an unbalanced call cannot empty the stack.
        if self.newlines.len() > 1 {
            self.newlines.pop();
        }
    }

    pub(crate) fn error(
        &mut self,
        span: Span,
        summary: impl Into<String>,
        detail: impl Into<Message>,
    ) {
        self.diags.error(span, summary, detail);
    }

    pub(crate) fn error_within(
        &mut self,
        span: Span,
        context: Span,
        summary: impl Into<String>,
        detail: impl Into<Message>,
    ) {
        self.diags
            .push(Diagnostic::error(summary, detail).at(span).within(context));
    }

    /// Number of errors so far, to be passed to `lost` after parsing a part.
    pub(crate) fn mark(&self) -> usize {
        self.diags.len()
    }

    /// Returns true if errors since the mark put the parser in recovery.
    pub(crate) fn is_recovering(&self, mark: usize) -> bool {
        self.recovery && self.diags.len() > mark
    }

    /// Skips past the next `end` that closes the current bracket. Returns that token, or the end of
    /// the text.
    pub(crate) fn recover(&mut self, end: Kind) -> Token {
        // Never reset: errors after this point may be consequences of the first one.
        self.recovery = true;
        let start = end.matching_bracket();
        let mut nest = 0usize;
        loop {
            let token = self.read();
            // `${` and `%{` end with the same token, so both nest.
            let kind = if end == Kind::TemplateSeqEnd && token.kind == Kind::TemplateControl {
                Kind::TemplateInterp
            } else {
                token.kind
            };
            if kind == Kind::Eof {
                return token;
            }
            if Some(kind) == start {
                nest += 1;
            } else if kind == end {
                if nest == 0 {
                    return token;
                }
                nest -= 1;
            }
        }
    }

    /// Skips past the next bracketed part that opens with `start`.
    pub(crate) fn skip_bracketed(&mut self, start: Kind) {
        loop {
            let kind = self.read().kind;
            if kind == start || kind == Kind::Eof {
                break;
            }
        }
        if let Some(end) = start.matching_bracket() {
            self.recover(end);
        }
    }

    /// Skips past the newline that ends the current argument or block.
    pub(crate) fn recover_after_item(&mut self) {
        self.recovery = true;
        let mut open: Vec<Kind> = Vec::new();
        loop {
            let token = self.read();
            match token.kind {
                Kind::Newline if open.is_empty() => return,
                Kind::Eof => return,
                Kind::OBrace
                | Kind::OBrack
                | Kind::OParen
                | Kind::OQuote
                | Kind::OHeredoc
                | Kind::TemplateInterp
                | Kind::TemplateControl => open.push(token.kind),
                Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::CQuote | Kind::CHeredoc => {
                    let opener = token.kind.matching_bracket();
                    // Unclosed inner brackets end with the outer one.
                    while open.last().is_some_and(|k| Some(*k) != opener) {
                        open.pop();
                    }
                    open.pop();
                }
                Kind::TemplateSeqEnd => {
                    while open
                        .last()
                        .is_some_and(|k| !matches!(k, Kind::TemplateInterp | Kind::TemplateControl))
                    {
                        open.pop();
                    }
                    open.pop();
                }
                _ => {}
            }
        }
    }

    /// Placeholder for an expression that could not be parsed.
    pub(crate) fn placeholder(&self, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span,
        }
    }
}

/// Unicode normalization form C.
pub(crate) fn normal(text: &str) -> String {
    if is_nfc(text) {
        text.to_owned()
    } else {
        text.nfc().collect()
    }
}
