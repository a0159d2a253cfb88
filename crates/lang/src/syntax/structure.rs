//! Bodies, arguments and blocks of the native syntax.

use std::sync::Arc;

use indexmap::IndexMap;

use super::FLOOD;
use super::ast::{Expr, MAX_DEPTH};
use super::json::Node;
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

/// An argument: `name = expression`, or a property of a JSON body.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// The name alone.
    pub name_span: Span,
    /// From the name to the end of the expression.
    pub span: Span,
    /// The value, strings of JSON read as templates.
    pub expr: Arc<Expr>,
    /// The JSON value as written, for the places where strings of JSON are no templates.
    pub json: Option<Arc<Node>>,
}

/// A block label.
#[derive(Clone, Debug)]
pub struct Label {
    /// Without quotes.
    pub text: Arc<str>,
    /// With quotes.
    pub span: Span,
}

/// A block of the native syntax.
#[derive(Clone, Debug)]
pub struct NativeBlock {
    /// Its type.
    pub type_name: Arc<str>,
    /// The type alone.
    pub type_span: Span,
    /// Its labels.
    pub labels: Vec<Label>,
    /// What is between its braces.
    pub body: Arc<NativeBody>,
    /// The opening brace.
    pub open: Span,
    /// The closing brace.
    pub close: Span,
}

impl NativeBlock {
    /// The header: type and labels.
    pub fn header(&self) -> Span {
        self.labels
            .last()
            .map_or(self.type_span, |l| self.type_span.to(l.span))
    }
}

/// A body of the native syntax.
#[derive(Clone, Debug)]
pub struct NativeBody {
    /// Arguments in source order.
    pub attributes: IndexMap<Arc<str>, Attribute>,
    /// Blocks in source order.
    pub blocks: Vec<NativeBlock>,
    /// The whole body, braces included.
    pub span: Span,
}

enum Item {
    Attribute(Attribute),
    Block(NativeBlock),
}

const REQUIRED: &str = "Argument or block definition required";
const REQUIRED_DETAIL: &str = "An argument or block definition is required here.";
const USE_EQUALS: &str = "An argument or block definition is required here. To set an argument, write the equals sign \"=\" before its value.";
const UNCLOSED: &str = "There is no closing brace for this block before the end of the file. Braces elsewhere in this file may be nested wrongly.";

impl Parser<'_> {
    /// Items up to `end`, which is read too.
    pub(crate) fn body(&mut self, end: Kind) -> NativeBody {
        let start = self.previous();
        let mut attributes: IndexMap<Arc<str>, Attribute> = IndexMap::new();
        let mut blocks = Vec::new();
        let end_span = loop {
            let next = self.peek();
            if next.kind == end {
                self.read();
                break self.span(next);
            }
            if self.mark() >= FLOOD {
                let last = self.recover(end);
                break self.span(last);
            }
            match next.kind {
                Kind::Newline => {
                    self.read();
                }
                Kind::Ident => match self.item() {
                    Some(Item::Block(block)) => blocks.push(block),
                    Some(Item::Attribute(attribute)) => {
                        if attributes.contains_key(&attribute.name) {
                            self.error(
                                attribute.name_span,
                                "Attribute redefined",
                                format!("The argument \"{}\" was already set. Each argument may be set only once.", attribute.name),
                            );
                        } else {
                            attributes.insert(attribute.name.clone(), attribute);
                        }
                    }
                    None => {}
                },
                _ => {
                    self.read();
                    if !self.recovery {
                        let span = self.span(next);
                        match next.kind {
                            Kind::OQuote => self.error(
                                span,
                                "Invalid argument name",
                                "Argument names must not be quoted.",
                            ),
                            Kind::Eof => {
                                self.error(start, "Unclosed configuration block", UNCLOSED)
                            }
                            _ => self.error(span, REQUIRED, REQUIRED_DETAIL),
                        }
                    }
                    let last = self.previous();
                    self.recover(end);
                    break last;
                }
            }
        };
        NativeBody {
            attributes,
            blocks,
            span: start.to(end_span),
        }
    }

    fn item(&mut self) -> Option<Item> {
        let ident = self.read();
        match self.peek_kind() {
            Kind::Equal => Some(Item::Attribute(self.attribute(ident, false))),
            Kind::OQuote | Kind::OBrace | Kind::Ident => Some(Item::Block(self.block(ident))),
            _ => {
                self.recover_after_item();
                let span = self.span(ident);
                self.error(span, REQUIRED, USE_EQUALS);
                None
            }
        }
    }

    fn attribute(&mut self, ident: Token, single_line: bool) -> Attribute {
        let name_span = self.span(ident);
        self.read();
        let mark = self.mark();
        let expr = self.expression();
        let end;
        if self.lost(mark) {
            end = self.previous();
            self.recover_after_item();
        } else {
            end = self.previous();
            if !single_line {
                let next = self.peek();
                if matches!(next.kind, Kind::Newline | Kind::Eof) {
                    self.read();
                } else {
                    if !self.recovery {
                        let span = self.span(next);
                        let (summary, detail) = if next.kind == Kind::Comma {
                            (
                                "Unexpected comma after argument",
                                "Arguments are separated by newlines, not commas.",
                            )
                        } else {
                            (
                                "Missing newline after argument",
                                "An argument definition must end with a newline.",
                            )
                        };
                        self.error_within(span, name_span.to(span), summary, detail);
                    }
                    self.recover_after_item();
                }
            }
        }
        Attribute {
            name: self.name(ident),
            name_span,
            span: name_span.to(end),
            expr: Arc::new(expr),
            json: None,
        }
    }

    fn block(&mut self, ident: Token) -> NativeBlock {
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
                    self.read();
                    labels.push(Label {
                        text: self.name(token),
                        span,
                    });
                }
                _ => {
                    self.bad_header(token, type_span);
                    self.recover_after_item();
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
        let body = if self.depth >= MAX_DEPTH {
            self.error(
                open,
                "Blocks nested too deeply",
                format!("Blocks may be nested in each other at most {MAX_DEPTH} deep."),
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
                    "A block on a single line holds one argument only. Write several arguments on lines of their own, one a line.",
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
                        "A block on a single line can hold a single argument only. To set \"{word}\", write an equals sign; \
                         to define a nested block, put it on a line of its own."
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
