//! Parses references from text: quoted in old configurations, strings in JSON, addresses on the
//! command line.

use super::ast::{Step, StepKind, Traversal};
use super::lexer::Start;
use super::parser::Parser;
use super::token::Kind;
use crate::source::{FileId, Span};

/// Parses `a.b["c"][0]` at offset `base` of the file. `None` for other text.
pub(crate) fn parse_traversal_at(text: &str, file: FileId, base: u32) -> Option<Traversal> {
    let mut parser = Parser::new(text, file, base, Start::Normal, false);
    // A text with invalid characters is no reference, and the caller decides about its error.
    if !parser.diags.is_empty() {
        return None;
    }
    let first = parser.read();
    if first.kind != Kind::Ident {
        return None;
    }
    let mut traversal = Traversal {
        root: parser.name(first),
        root_span: parser.span(first),
        steps: Vec::new(),
    };
    loop {
        let next = parser.read();
        let start = parser.span(next);
        let step = match next.kind {
            Kind::Eof => return Some(traversal),
            Kind::Dot => {
                let name = parser.read();
                if name.kind != Kind::Ident {
                    return None;
                }
                Step {
                    kind: StepKind::Attr(parser.name(name)),
                    span: start.to(parser.span(name)),
                }
            }
            Kind::OBrack => {
                let value = match parser.peek_kind() {
                    Kind::Number => {
                        let token = parser.read();
                        parser.number(token)?
                    }
                    Kind::OQuote => super::text_value(&parser.quoted_literal().0),
                    _ => return None,
                };
                let close = parser.read();
                if close.kind != Kind::CBrack || !parser.diags.is_empty() {
                    return None;
                }
                Step {
                    kind: StepKind::Index(value),
                    span: start.to(parser.span(close)),
                }
            }
            _ => return None,
        };
        traversal.steps.push(step);
    }
}

/// Same for a quoted string at `span`; source positions count from its opening quote.
pub(crate) fn parse_traversal_text(text: &str, span: Span) -> Option<Traversal> {
    parse_traversal_at(text, span.file, span.start + 1)
}
