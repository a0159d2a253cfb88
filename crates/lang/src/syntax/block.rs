//! Parses blocks of native syntax: the header, and a body on one or several lines.

use std::sync::Arc;

use indexmap::IndexMap;

use super::ast::MAX_DEPTH;
use super::parser::Parser;
use super::structure::{
    Label, NativeBlock, NativeBody, REQUIRED, REQUIRED_DETAIL, UNCLOSED, USE_EQUALS,
};
use super::token::{Kind, Token};
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn block(&mut self, ident: Token) -> NativeBlock {
        let type_span = self.span(ident);
        let type_name = self.name(ident);
        let mut labels = Vec::new();
        let open = loop {
            let token = self.peek();
            let span = self.span(token);
            match token.kind {
                Kind::OBrace => {
                    self.read();
                    break span;
                }
                Kind::OQuote => {
                    let (text, span) = self.quoted_literal();
                    labels.push(Label {
                        text: text.into(),
                        span,
                    });
                }
                Kind::Ident => {
                    // HCL also accepts a bare word as a label.
                    self.read();
                    labels.push(Label {
                        text: self.name(token),
                        span,
                    });
                }
                _ => {
                    self.bad_header(token, type_span);
                    self.recover_after_item();
                    // The block is returned without content, so that later steps know that it
                    // exists.
                    let body = NativeBody {
                        attributes: IndexMap::new(),
                        blocks: Vec::new(),
                        span: type_span,
                    };
                    return NativeBlock {
                        type_name,
                        type_span,
                        labels,
                        body: Arc::new(body),
                        open: type_span,
                        close: type_span,
                    };
                }
            }
        };
        // Each nested block is a recursion of this parser, so the limit protects the stack.
        let body = if self.depth >= MAX_DEPTH {
            self.error(
                open,
                "Blocks nested too deeply",
                format!("Blocks can be nested at most {MAX_DEPTH} levels deep."),
            );
            self.recover(Kind::CBrace);
            None
        } else {
            self.depth += 1;
            let body = self.block_body(open, type_span);
            self.depth -= 1;
            body
        };
        let close = self.previous();
        let eol = self.peek();
        if matches!(eol.kind, Kind::Newline | Kind::Eof) {
            self.read();
        } else {
            // In recovery, the position is uncertain, so a missing newline proves nothing.
            if !self.recovery {
                let span = self.span(eol);
                self.error_within(
                    span,
                    type_span.to(span),
                    "Missing newline after block definition",
                    "A block definition must end with a newline.",
                );
            }
            self.recover_after_item();
        }
        let body = body.unwrap_or_else(|| NativeBody {
            attributes: IndexMap::new(),
            blocks: Vec::new(),
            span: open.to(close),
        });
        NativeBlock {
            type_name,
            type_span,
            labels,
            body: Arc::new(body),
            open,
            close,
        }
    }

    fn bad_header(&mut self, token: Token, type_span: Span) {
        let span = self.span(token);
        let detail = match token.kind {
            Kind::Equal => {
                "The equals sign \"=\" indicates an argument definition, and must not be used when defining a block."
            }
            Kind::Newline => {
                "A block must have its content between \"{\" and \"}\", starting on the same line as the block header."
            }
            _ if self.recovery => return,
            _ => "Either a quoted block label or an opening brace (\"{\") is expected here.",
        };
        self.error_within(span, type_span.to(span), "Invalid block definition", detail);
    }

    fn block_body(&mut self, open: Span, type_span: Span) -> Option<NativeBody> {
        if matches!(self.peek_kind(), Kind::Newline | Kind::Eof | Kind::CBrace) {
            return Some(self.body(Kind::CBrace));
        }
        let mark = self.mark();
        let body = self.single_line_body();
        // As in HCL, errors of the block's form come before those of its argument.
        let inner_errors = self.diags.0.split_off(mark);
        let next = self.peek();
        let span = self.span(next);
        const SUMMARY: &str = "Invalid single-argument block definition";
        match next.kind {
            Kind::CBrace => {
                self.read();
            }
            Kind::Comma => {
                self.error(
                    span,
                    SUMMARY,
                    "A block on a single line can have only one argument. Write each argument on \
                    its own line.",
                );
                self.recover(Kind::CBrace);
            }
            Kind::Newline => {
                self.error(
                    span,
                    SUMMARY,
                    "An argument on the line of the opening brace makes a single-line block, which must also be closed on that line.",
                );
                self.recover(Kind::CBrace);
            }
            _ => {
                if !self.recovery {
                    if next.kind == Kind::Eof {
                        self.error_within(
                            open,
                            type_span.to(open),
                            "Unclosed configuration block",
                            UNCLOSED,
                        );
                    } else {
                        self.error(span, SUMMARY, "A single-line block must end with a closing brace right after its one argument.");
                    }
                }
                self.recover(Kind::CBrace);
            }
        }
        self.diags.0.extend(inner_errors);
        body
    }

    fn single_line_body(&mut self) -> Option<NativeBody> {
        let ident = self.read();
        let span = self.span(ident);
        if ident.kind != Kind::Ident {
            self.recover_after_item();
            self.error(span, REQUIRED, REQUIRED_DETAIL);
            return None;
        }
        let next = self.peek();
        match next.kind {
            Kind::Equal => {
                let attribute = self.attribute(ident, true);
                let span = attribute.span;
                let attributes = IndexMap::from([(attribute.name.clone(), attribute)]);
                Some(NativeBody {
                    attributes,
                    blocks: Vec::new(),
                    span,
                })
            }
            Kind::OQuote | Kind::OBrace | Kind::Ident => {
                let word = self.name(ident);
                let to = self.span(next);
                self.recover_after_item();
                self.error(
                    span.to(to),
                    "Argument definition required",
                    format!(
                        "A block on a single line can have only one argument. To set \"{word}\", \
                        write an equals sign; to define a nested block, write it on its own \
                        line."
                    ),
                );
                None
            }
            _ => {
                self.recover_after_item();
                self.error(span, REQUIRED, USE_EQUALS);
                None
            }
        }
    }
}
