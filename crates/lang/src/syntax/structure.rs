//! Bodies, arguments and blocks of native syntax.

use std::sync::Arc;

use indexmap::IndexMap;

use super::MAX_ERRORS;
use super::ast::Expr;
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
    /// Value; JSON strings are parsed as templates.
    pub expr: Arc<Expr>,
    /// JSON value as written, for arguments whose strings are not templates.
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
    /// Content between the braces.
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

pub(super) const REQUIRED: &str = "Argument or block definition required";

pub(super) const REQUIRED_DETAIL: &str = "An argument or block definition is required here.";

pub(super) const USE_EQUALS: &str = "An argument or block definition is required here. To set an argument, write the equals sign \"=\" before its value.";

pub(super) const UNCLOSED: &str = "There is no closing brace for this block before the end of the \
    file. Check the nesting of braces elsewhere in this file.";

impl Parser<'_> {
    /// Parses items up to `end`, and `end` itself.
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
            // A binary file would otherwise give an error for every token.
            if self.mark() >= MAX_ERRORS {
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
                        // Like in HCL, the first definition stays.
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
                    // The structure is unclear from here on, so the rest of the body is skipped.
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
            // A label or a brace after the name makes it a block.
            Kind::OQuote | Kind::OBrace | Kind::Ident => Some(Item::Block(self.block(ident))),
            _ => {
                self.recover_after_item();
                let span = self.span(ident);
                self.error(span, REQUIRED, USE_EQUALS);
                None
            }
        }
    }

    pub(super) fn attribute(&mut self, ident: Token, single_line: bool) -> Attribute {
        let name_span = self.span(ident);
        self.read();
        let mark = self.mark();
        let expr = self.expression();
        let end;
        if self.is_recovering(mark) {
            // Taken before recovery, which moves past skipped text.
            end = self.previous();
            self.recover_after_item();
        } else {
            end = self.previous();
            // On a single line, the caller checks for the closing brace.
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
}
