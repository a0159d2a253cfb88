//! Parses lists and objects. Newlines are ignored in lists and end an item in objects.

use std::sync::Arc;

use super::ast::{Expr, ExprKind, ObjectItem};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn tuple(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        self.push_newlines(false);
        let expr = if self.is_word(self.peek(), "for") {
            self.for_expression(open)
        } else {
            let mut items = Vec::new();
            let close = self.tuple_items(open_span, &mut items);
            Expr {
                kind: ExprKind::Tuple(items),
                span: open_span.to(close),
            }
        };
        self.pop_newlines();
        expr
    }

    fn tuple_items(&mut self, open: Span, items: &mut Vec<Expr>) -> Span {
        loop {
            if self.peek_kind() == Kind::CBrack {
                let close = self.read();
                return self.span(close);
            }
            let mark = self.mark();
            items.push(self.expression());
            // The error may be anywhere in the item, so the rest of the list is skipped.
            if self.is_recovering(mark) {
                let close = self.recover(Kind::CBrack);
                return self.span(close);
            }
            let next = self.peek();
            match next.kind {
                Kind::CBrack | Kind::Comma => {
                    // A trailing comma is valid: the next round then finds the bracket.
                    self.read();
                    if next.kind == Kind::CBrack {
                        return self.span(next);
                    }
                }
                _ => {
                    let span = self.span(next);
                    if !self.recovery {
                        if next.kind == Kind::Eof {
                            self.error(
                                open,
                                "Unterminated tuple constructor expression",
                                "There is no closing bracket for this list before the end of the file.",
                            );
                        } else {
                            self.error_within(
                                span,
                                open.to(span),
                                "Missing item separator",
                                "Expected a comma to mark the beginning of the next item.",
                            );
                        }
                    }
                    let close = self.recover(Kind::CBrack);
                    return self.span(close);
                }
            }
        }
    }

    pub(super) fn object(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        // `for` may be on a later line than the brace, so newlines are ignored while looking for
        // it.
        self.push_newlines(false);
        let is_for = self.is_word(self.peek(), "for");
        self.pop_newlines();
        if is_for {
            return self.for_expression(open);
        }
        self.push_newlines(true);
        let mut items = Vec::new();
        let close = self.object_items(open_span, &mut items);
        self.pop_newlines();
        Expr {
            kind: ExprKind::Object(items),
            span: open_span.to(close),
        }
    }

    fn object_items(&mut self, open: Span, items: &mut Vec<ObjectItem>) -> Span {
        loop {
            match self.peek_kind() {
                Kind::Newline => {
                    self.read();
                    continue;
                }
                Kind::CBrace => {
                    let close = self.read();
                    return self.span(close);
                }
                _ => {}
            }
            // `(name)` is evaluated, and a bare `name` is a literal key.
            let parenthesised = self.peek_kind() == Kind::OParen;
            let mark = self.mark();
            let key = self.expression();
            if self.is_recovering(mark) {
                break;
            }
            let next = self.peek();
            // HCL accepts a colon too, as in JSON.
            if !matches!(next.kind, Kind::Equal | Kind::Colon) {
                self.key_without_value(open, next);
                break;
            }
            self.read();
            let mark = self.mark();
            let value = self.expression();
            // A failed value is kept, so that its key is still known.
            let lost = self.is_recovering(mark);
            let name: Option<Arc<str>> = if parenthesised { None } else { key.bare_word() };
            items.push(ObjectItem { key, name, value });
            if lost {
                break;
            }
            let next = self.peek();
            match next.kind {
                Kind::Comma | Kind::Newline => {
                    self.read();
                }
                Kind::CBrace => {
                    self.read();
                    return self.span(next);
                }
                _ => {
                    let span = self.span(next);
                    if !self.recovery {
                        if next.kind == Kind::Eof {
                            self.unterminated_object(open);
                        } else {
                            self.error_within(
                                span,
                                open.to(span),
                                "Missing attribute separator",
                                "Expected a newline or comma to mark the beginning of the next attribute.",
                            );
                        }
                    }
                    break;
                }
            }
        }
        let close = self.recover(Kind::CBrace);
        self.span(close)
    }

    fn unterminated_object(&mut self, open: Span) {
        self.error(
            open,
            "Unterminated object constructor expression",
            "There is no closing brace for this object before the end of the file.",
        );
    }

    fn key_without_value(&mut self, open: Span, next: Token) {
        if self.recovery {
            return;
        }
        let span = self.span(next);
        let (summary, detail) = match next.kind {
            Kind::Newline | Kind::Comma => (
                "Missing attribute value",
                "Expected an attribute value, introduced by an equals sign (\"=\").",
            ),
            Kind::Ident => (
                "Missing key/value separator",
                "Expected an equals sign (\"=\") to mark the beginning of the attribute value. A \
                name that contains periods or spaces must be quoted.",
            ),
            Kind::Eof => return self.unterminated_object(open),
            _ => (
                "Missing key/value separator",
                "Expected an equals sign (\"=\") to mark the beginning of the attribute value.",
            ),
        };
        self.error_within(span, open.to(span), summary, detail);
    }
}
