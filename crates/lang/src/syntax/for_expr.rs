//! Parses `[for …]` and `{for …}`.

use super::ast::{Expr, ExprKind, ForExpr};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn for_expression(&mut self, open: Token) -> Expr {
        let open_span = self.span(open);
        let makes_object = open.kind == Kind::OBrace;
        let close_kind = if makes_object {
            Kind::CBrace
        } else {
            Kind::CBrack
        };
        // Newlines are no separators inside `for`, unlike in a plain object.
        self.push_newlines(false);
        self.read();
        let expr = match self.for_inner(open_span, close_kind, makes_object) {
            Some(expr) => expr,
            None => {
                let close = self.recover(close_kind);
                self.placeholder(open_span.to(self.span(close)))
            }
        };
        self.pop_newlines();
        expr
    }

    fn report_for_error(&mut self, open: Span, detail: &'static str) {
        if !self.recovery {
            let span = self.span(self.peek());
            self.error_within(span, open.to(span), "Invalid 'for' expression", detail);
        }
    }

    /// `None` if the rest of the expression must be skipped.
    fn for_inner(&mut self, open: Span, close_kind: Kind, makes_object: bool) -> Option<Expr> {
        if self.peek_kind() != Kind::Ident {
            self.report_for_error(open, "For expression requires variable name after 'for'.");
            return None;
        }
        let token = self.read();
        let mut value_var = self.name(token);
        let mut key_var = None;
        if self.peek_kind() == Kind::Comma {
            self.read();
            if self.peek_kind() != Kind::Ident {
                self.report_for_error(
                    open,
                    "For expression requires value variable name after comma.",
                );
                return None;
            }
            let token = self.read();
            // Of two names, the first one is the key.
            key_var = Some(std::mem::replace(&mut value_var, self.name(token)));
        }
        if !self.is_word(self.peek(), "in") {
            self.report_for_error(
                open,
                "For expression requires the 'in' keyword after its name declarations.",
            );
            return None;
        }
        self.read();
        let mark = self.mark();
        let collection = self.expression();
        if self.is_recovering(mark) {
            return None;
        }
        if self.peek_kind() != Kind::Colon {
            self.report_for_error(
                open,
                "For expression requires a colon after the collection expression.",
            );
            return None;
        }
        self.read();
        let mark = self.mark();
        let mut value = self.expression();
        let mut key = None;
        // Only the arrow shows that the first expression was the key.
        if self.peek_kind() == Kind::FatArrow {
            self.read();
            key = Some(std::mem::replace(&mut value, self.expression()));
        }
        if self.is_recovering(mark) {
            return None;
        }
        let mut ellipsis = None;
        if self.peek_kind() == Kind::Ellipsis {
            let token = self.read();
            ellipsis = Some(self.span(token));
        }
        let mut cond = None;
        if self.is_word(self.peek(), "if") {
            self.read();
            let mark = self.mark();
            cond = Some(self.expression());
            if self.is_recovering(mark) {
                return None;
            }
        }
        let close = if self.peek_kind() == close_kind {
            self.read()
        } else {
            self.report_for_error(
                open,
                "Extra characters after the end of the 'for' expression.",
            );
            self.recover(close_kind)
        };
        let close = self.span(close);
        let span = open.to(close);
        // A form that does not match the brackets is reported, but the expression is kept.
        self.check_for(&key, &value, ellipsis, makes_object, span);
        let group = ellipsis.is_some();
        let inner = ForExpr {
            key_var,
            value_var,
            collection,
            key,
            value,
            cond,
            group,
            open,
            close,
        };
        Some(Expr {
            kind: ExprKind::For(Box::new(inner)),
            span,
        })
    }

    fn check_for(
        &mut self,
        key: &Option<Expr>,
        value: &Expr,
        ellipsis: Option<Span>,
        makes_object: bool,
        span: Span,
    ) {
        const SUMMARY: &str = "Invalid 'for' expression";
        match key {
            Some(key) if !makes_object => self.error_within(
                key.span,
                span,
                SUMMARY,
                "Key expression is not valid when building a tuple.",
            ),
            None if makes_object => self.error_within(
                value.span,
                span,
                SUMMARY,
                "Key expression is required when building an object.",
            ),
            _ => {}
        }
        if let (Some(ellipsis), false) = (ellipsis, makes_object) {
            self.error_within(
                ellipsis,
                span,
                SUMMARY,
                "Grouping ellipsis (...) cannot be used when building a tuple.",
            );
        }
    }
}
