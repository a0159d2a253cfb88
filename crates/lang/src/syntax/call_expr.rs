//! Parses function calls.

use super::ast::{Call, Expr, ExprKind};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn call(&mut self, first: Token) -> Expr {
        let mut name = self.name(first).to_string();
        let mut name_span = self.span(first);
        let first_span = name_span;
        let mut open = self.read();
        while open.kind == Kind::DoubleColon {
            let part = self.read();
            let part_span = self.span(part);
            if part.kind != Kind::Ident {
                self.error_within(
                    part_span,
                    first_span.to(part_span),
                    "Missing function name",
                    "The symbol :: must be followed by the name of a function or a further namespace.",
                );
                // Arguments without a name are of no interest: skips to the closing parenthesis.
                self.skip_bracketed(Kind::OParen);
                return self.placeholder(first_span.to(part_span));
            }
            name.push_str("::");
            name.push_str(&self.name(part));
            name_span = first_span.to(part_span);
            open = self.read();
        }
        let open_span = self.span(open);
        if open.kind != Kind::OParen {
            self.error_within(
                open_span,
                first_span.to(open_span),
                "Missing open parenthesis",
                "The name of a function must be followed by an open parenthesis.",
            );
            self.skip_bracketed(Kind::OParen);
            return self.placeholder(first_span.to(open_span));
        }
        self.push_newlines(false);
        let (args, expand_final, close) = self.arguments(first_span, open_span);
        self.pop_newlines();
        let span = first_span.to(close);
        Expr {
            kind: ExprKind::Call(Call {
                name: name.into(),
                name_span,
                args,
                expand_final,
                open: open_span,
                close,
            }),
            span,
        }
    }

    fn arguments(&mut self, name: Span, open: Span) -> (Vec<Expr>, bool, Span) {
        let mut args = Vec::new();
        loop {
            if self.peek_kind() == Kind::CParen {
                let close = self.read();
                return (args, false, self.span(close));
            }
            let mark = self.mark();
            args.push(self.expression());
            if self.is_recovering(mark) {
                // Errors of later arguments would only be consequences, so the rest of the call is
                // skipped.
                let token = self.recover(Kind::CParen);
                return (args, false, self.span(token));
            }
            let sep = self.read();
            let sep_span = self.span(sep);
            match sep.kind {
                Kind::CParen => return (args, false, sep_span),
                Kind::Comma => {}
                Kind::Ellipsis => {
                    let close = if self.peek_kind() == Kind::CParen {
                        self.read()
                    } else {
                        if !self.recovery {
                            self.error_within(
                                sep_span,
                                name.to(sep_span),
                                "Missing closing parenthesis",
                                "An expanded argument (with ...) must be followed immediately by \
                                the closing parenthesis.",
                            );
                        }
                        self.recover(Kind::CParen)
                    };
                    return (args, true, self.span(close));
                }
                Kind::Eof => {
                    self.error(
                        name.to(open),
                        "Unterminated function call",
                        "There is no closing parenthesis for this function call before the end of the file.",
                    );
                    let close = self.recover(Kind::CParen);
                    return (args, false, self.span(close));
                }
                _ => {
                    self.error_within(
                        sep_span,
                        name.to(sep_span),
                        "Missing argument separator",
                        "A comma is required to separate each function argument from the next.",
                    );
                    let close = self.recover(Kind::CParen);
                    return (args, false, self.span(close));
                }
            }
        }
    }
}
