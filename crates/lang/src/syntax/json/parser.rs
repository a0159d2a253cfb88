//! JSON parser that keeps source positions and reports detailed errors.

use std::sync::Arc;

use super::node::{Node, NodeKind, Property};
use super::tokens::{Tok, Token};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::{FileId, Span};
use crate::syntax::ast::MAX_DEPTH;

/// Parses a JSON text. The root may be any value; the caller checks its type.
pub fn parse(text: &str, file: FileId) -> (Arc<Node>, Diagnostics) {
    let mut parser = Json {
        text,
        bytes: text.as_bytes(),
        file,
        at: 0,
        depth: 0,
        skipped_rest: false,
        diags: Diagnostics::new(),
    };
    let node = parser.value().unwrap_or_else(|| {
        Arc::new(Node {
            kind: NodeKind::Invalid,
            span: Span::new(file, 0, 0),
        })
    });
    // After an error, text may have been skipped, so trailing characters prove nothing.
    if parser.diags.is_empty() {
        let next = parser.peek();
        if next.kind != Tok::Eof {
            parser.error(
                next,
                "Extraneous data after value",
                "Extra characters appear after the JSON value.",
            );
        }
    }
    (node, parser.diags)
}

pub(super) struct Json<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) file: FileId,
    pub(super) at: usize,
    depth: usize,
    /// Set once the rest was skipped, to suppress errors about missing parts.
    skipped_rest: bool,
    diags: Diagnostics,
}

const VALUE_START: &str =
    "A JSON value must start with a brace, a bracket, a number, a string, or a keyword.";

impl Json<'_> {
    pub(super) fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    fn error(&mut self, token: Token, summary: &str, detail: impl Into<Message>) {
        let span = self.span(token);
        self.diags.push(Diagnostic::error(summary, detail).at(span));
    }

    pub(super) fn value(&mut self) -> Option<Arc<Node>> {
        let token = self.peek();
        let span = self.span(token);
        let mark = self.diags.len();
        let kind = match token.kind {
            Tok::BraceO | Tok::BrackO if self.depth >= MAX_DEPTH => {
                self.error(
                    token,
                    "JSON nested too deeply",
                    format!("Values can be nested at most {MAX_DEPTH} levels deep."),
                );
                // The rest is skipped, because its closing brackets would give only follow-up
                // errors.
                self.at = self.bytes.len();
                self.skipped_rest = true;
                None
            }
            Tok::BraceO => {
                self.depth += 1;
                let object = self.object();
                self.depth -= 1;
                object
            }
            Tok::BrackO => {
                self.depth += 1;
                let array = self.array();
                self.depth -= 1;
                array
            }
            Tok::Number => self.number(),
            Tok::Text => self.string().map(NodeKind::Text),
            Tok::Keyword => self.keyword(),
            Tok::BraceC => {
                self.error(token, "Missing JSON value", VALUE_START);
                None
            }
            Tok::BrackC => {
                self.error(token, "Missing array element value", VALUE_START);
                None
            }
            Tok::Eof => {
                self.error(token, "Missing value", "The JSON data ends prematurely.");
                None
            }
            // A byte order mark is invisible, so the error must name it.
            _ if self.text[token.start..].starts_with('\u{feff}') => {
                let detail = "The file begins with a byte order mark, which JSON does not allow. \
                    Save it as UTF-8 without one.";
                self.error(token, "Invalid start of value", detail);
                None
            }
            _ => {
                self.error(token, "Invalid start of value", VALUE_START);
                None
            }
        };
        match kind {
            Some(kind) => Some(Arc::new(Node {
                kind,
                span: span.to(Span::new(self.file, token.start, self.at)),
            })),
            // A failed part keeps its place, so that the values around it can be parsed.
            None if self.diags.len() > mark => Some(Arc::new(Node {
                kind: NodeKind::Invalid,
                span,
            })),
            None => None,
        }
    }

    pub(super) fn object(&mut self) -> Option<NodeKind> {
        let open = self.read();
        let mut properties = Vec::new();
        while self.peek().kind != Tok::BraceC {
            let before = self.at;
            // Any value is read as the name, so that a wrong one is reported at its place.
            let key = self.value()?;
            let NodeKind::Text(name) = &key.kind else {
                // Ensures progress: a failed value may not have read a token.
                if matches!(key.kind, NodeKind::Invalid) && self.at == before {
                    self.read();
                }
                self.diags.push(
                    Diagnostic::error(
                        "Invalid object property name",
                        "A JSON object property name must be a string.",
                    )
                    .at(key.start_span()),
                );
                return None;
            };
            let name = name.clone();
            let colon = self.read();
            if colon.kind != Tok::Colon {
                self.skip(colon, Tok::BraceO, Tok::BraceC);
                let (summary, detail) = match colon.kind {
                    Tok::BraceC | Tok::Comma => (
                        "Missing object value",
                        "A property of a JSON object must have a value, after a colon.",
                    ),
                    Tok::Equals => (
                        "Missing property value colon",
                        "JSON puts a colon between name and value, not an equals sign.",
                    ),
                    _ => (
                        "Missing property value colon",
                        "A colon must appear between a property's name and its value.",
                    ),
                };
                self.error(colon, summary, detail);
                return None;
            }
            let value = self.value()?;
            properties.push(Property {
                name,
                name_span: key.span,
                value,
            });
            let next = self.peek();
            match next.kind {
                Tok::Comma => {
                    self.read();
                    if self.peek().kind == Tok::BraceC {
                        self.error(
                            next,
                            "Trailing comma in object",
                            "JSON does not permit a comma after the last property of an object.",
                        );
                        return None;
                    }
                }
                Tok::BraceC => break,
                Tok::Eof if self.skipped_rest => return None,
                Tok::Eof => {
                    self.error(
                        open,
                        "Unclosed object",
                        "No closing brace was found for this JSON object.",
                    );
                    return None;
                }
                Tok::BrackC => {
                    // Consumed, so that the enclosing value does not stop at it again. HCL reports
                    // the token after it.
                    self.read();
                    let at = self.peek();
                    self.error(
                        at,
                        "Mismatched braces",
                        "A JSON object must be closed with a brace, not a bracket.",
                    );
                    return None;
                }
                _ => {
                    let token = self.read();
                    self.skip(token, Tok::BraceO, Tok::BraceC);
                    let at = self.peek();
                    self.error(
                        at,
                        "Missing attribute separator comma",
                        "A comma must appear between the properties of an object.",
                    );
                    return None;
                }
            }
        }
        self.read();
        Some(NodeKind::Object(properties))
    }

    fn array(&mut self) -> Option<NodeKind> {
        let open = self.read();
        let mut items = Vec::new();
        while self.peek().kind != Tok::BrackC {
            items.push(self.value()?);
            let next = self.peek();
            match next.kind {
                Tok::Comma => {
                    self.read();
                    if self.peek().kind == Tok::BrackC {
                        self.error(
                            next,
                            "Trailing comma in array",
                            "JSON does not permit a comma after the last value of an array.",
                        );
                        return None;
                    }
                }
                Tok::BrackC => break,
                Tok::Eof if self.skipped_rest => return None,
                Tok::Eof => {
                    self.error(
                        open,
                        "Unclosed array",
                        "No closing bracket was found for this JSON array.",
                    );
                    return None;
                }
                other => {
                    let token = self.read();
                    self.skip(token, Tok::BrackO, Tok::BrackC);
                    let at = self.peek();
                    let (summary, detail) = match other {
                        Tok::Colon => (
                            "Invalid array value",
                            "A colon is not used in a JSON array.",
                        ),
                        Tok::BraceC => (
                            "Mismatched brackets",
                            "A JSON array must be closed with a bracket, not a brace.",
                        ),
                        _ => (
                            "Missing attribute separator comma",
                            "A comma must appear between the values of an array.",
                        ),
                    };
                    self.error(at, summary, detail);
                    return None;
                }
            }
        }
        self.read();
        Some(NodeKind::Array(items))
    }

    fn number(&mut self) -> Option<NodeKind> {
        let token = self.read();
        let text = &self.text[token.start..token.end];
        // The grammar of JSON is stricter than that of the language, so both must accept the
        // number.
        let detail = match (
            serde_json::from_str::<serde_json::Number>(text),
            super::super::number_value(text),
        ) {
            (Ok(_), Ok(value)) => return Some(NodeKind::Number(value)),
            (Ok(_), Err(error)) => super::super::number_refused(error),
            (Err(_), _) => "There is a syntax error in this JSON number.".to_owned(),
        };
        self.error(token, "Invalid JSON number", detail);
        None
    }

    fn string(&mut self) -> Option<Arc<str>> {
        let token = self.read();
        match serde_json::from_str::<String>(&self.text[token.start..token.end]) {
            // Normalized, because native strings are and both must compare equal.
            Ok(text) => Some(super::super::parser::normal(&text).into()),
            Err(_) => {
                self.error(
                    token,
                    "Invalid JSON string",
                    "There is a syntax error in this JSON string.",
                );
                None
            }
        }
    }

    fn keyword(&mut self) -> Option<NodeKind> {
        let token = self.read();
        match &self.text[token.start..token.end] {
            "true" => Some(NodeKind::Bool(true)),
            "false" => Some(NodeKind::Bool(false)),
            "null" => Some(NodeKind::Null),
            word => {
                let lower = word.to_ascii_lowercase();
                let hint = match lower.as_str() {
                    "true" | "false" | "null" => format!(" Did you mean \"{lower}\"?"),
                    _ => String::new(),
                };
                let detail = format!("\"{word}\" is not a valid JSON keyword.{hint}");
                self.error(token, "Invalid JSON keyword", detail);
                None
            }
        }
    }
}
