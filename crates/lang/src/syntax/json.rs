//! The JSON syntax: text into nodes with spans, and nodes into the same expressions as the native
//! syntax. What a node means (block, label, argument) is decided by the schema that reads it, in
//! `body`.

use std::sync::Arc;

use cty::Value;

use super::ast::{Expr, ExprKind, MAX_DEPTH, ObjectItem, TemplateOrigin};
use crate::diag::{Diagnostic, Diagnostics, Said};
use crate::source::{FileId, Span};

/// A JSON value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// All of it.
    pub span: Span,
}

/// What a JSON value is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// `{…}`, properties in source order, duplicates kept.
    Object(Vec<Property>),
    /// `[…]`.
    Array(Vec<Arc<Node>>),
    /// A string, escapes resolved.
    Text(Arc<str>),
    /// A number, as written.
    Number(Value),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// What could not be parsed.
    Invalid,
}

/// One property of an object.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name, escapes resolved.
    pub name: Arc<str>,
    /// The name with its quotes.
    pub name_span: Span,
    /// Its value.
    pub value: Arc<Node>,
}

impl Node {
    /// Where the value starts: its opening bracket, or all of it.
    pub fn start_span(&self) -> Span {
        match &self.kind {
            NodeKind::Object(_) | NodeKind::Array(_) => Span {
                end: (self.span.start + 1).min(self.span.end),
                ..self.span
            },
            _ => self.span,
        }
    }

    /// The closing bracket.
    pub fn close_span(&self) -> Span {
        Span {
            start: self.span.end.saturating_sub(1).max(self.span.start),
            ..self.span
        }
    }

    /// The value as it stands, strings verbatim.
    pub fn literal(&self) -> Value {
        match &self.kind {
            NodeKind::Object(properties) => Value::object(
                properties
                    .iter()
                    .map(|p| (p.name.clone(), p.value.literal())),
            ),
            NodeKind::Array(items) => Value::tuple(items.iter().map(|i| i.literal()).collect()),
            NodeKind::Text(text) => super::text_value(text),
            NodeKind::Number(value) => value.clone(),
            NodeKind::Bool(value) => super::bool_value(*value),
            NodeKind::Null => super::null_value(),
            NodeKind::Invalid => Value::dynamic(),
        }
    }

    /// The value as an expression: strings and property names are templates.
    pub fn to_expr(&self, diags: &mut Diagnostics) -> Expr {
        let kind = match &self.kind {
            NodeKind::Text(text) => return string_expr(text, self.span, diags),
            NodeKind::Array(items) => {
                ExprKind::Tuple(items.iter().map(|i| i.to_expr(diags)).collect())
            }
            NodeKind::Object(properties) => ExprKind::Object(
                properties
                    .iter()
                    .map(|p| ObjectItem {
                        key: string_expr(&p.name, p.name_span, diags),
                        name: None,
                        value: p.value.to_expr(diags),
                    })
                    .collect(),
            ),
            NodeKind::Invalid => ExprKind::Error,
            _ => ExprKind::Literal(self.literal()),
        };
        Expr {
            kind,
            span: self.span,
        }
    }
}

/// A string as a template. Places inside count from the opening quote; escapes before them shift
/// them.
fn string_expr(text: &str, span: Span, diags: &mut Diagnostics) -> Expr {
    if !text.contains("${") && !text.contains("%{") {
        let literal = Expr {
            kind: ExprKind::Literal(super::text_value(text)),
            span,
        };
        return Expr {
            kind: ExprKind::Template {
                parts: vec![literal],
                origin: TemplateOrigin::Json,
            },
            span,
        };
    }
    let (mut expr, found) =
        super::parse_template_at(text, span.file, span.start + 1, TemplateOrigin::Json);
    if found.has_errors() {
        // Not every string is taken for a template; where this one is, it is said then.
        return Expr {
            kind: ExprKind::Faulty(Arc::new(found)),
            span,
        };
    }
    diags.append(found);
    if matches!(expr.kind, ExprKind::Template { .. }) {
        expr.span = span;
    }
    expr
}

/// Parses a whole JSON text. The root may be any value; the caller says what it must be.
pub fn parse(text: &str, file: FileId) -> (Arc<Node>, Diagnostics) {
    let mut parser = Json {
        text,
        bytes: text.as_bytes(),
        file,
        at: 0,
        depth: 0,
        given_up: false,
        diags: Diagnostics::new(),
    };
    let node = parser.value().unwrap_or_else(|| {
        Arc::new(Node {
            kind: NodeKind::Invalid,
            span: Span::new(file, 0, 0),
        })
    });
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tok {
    BraceO,
    BraceC,
    BrackO,
    BrackC,
    Comma,
    Colon,
    Equals,
    Text,
    Number,
    Keyword,
    Invalid,
    Eof,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Tok,
    start: usize,
    end: usize,
}

struct Json<'a> {
    text: &'a str,
    bytes: &'a [u8],
    file: FileId,
    at: usize,
    depth: usize,
    /// Set once the rest was left out: nothing is said of what is missing then.
    given_up: bool,
    diags: Diagnostics,
}

const VALUE_START: &str =
    "A JSON value must start with a brace, a bracket, a number, a string, or a keyword.";

impl Json<'_> {
    fn peek(&self) -> Token {
        let mut start = self.at;
        while matches!(self.bytes.get(start), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            start += 1;
        }
        let single = |kind| Token {
            kind,
            start,
            end: start + 1,
        };
        let run = |kind, fits: fn(u8) -> bool| {
            let len = self.bytes[start..].iter().take_while(|b| fits(**b)).count();
            Token {
                kind,
                start,
                end: start + len,
            }
        };
        match self.bytes.get(start) {
            None => Token {
                kind: Tok::Eof,
                start,
                end: start,
            },
            Some(b'{') => single(Tok::BraceO),
            Some(b'}') => single(Tok::BraceC),
            Some(b'[') => single(Tok::BrackO),
            Some(b']') => single(Tok::BrackC),
            Some(b',') => single(Tok::Comma),
            Some(b':') => single(Tok::Colon),
            Some(b'=') => single(Tok::Equals),
            Some(b'"') => Token {
                kind: Tok::Text,
                start,
                end: self.string_end(start),
            },
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => run(Tok::Number, |b| {
                matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
            }),
            Some(b) if b.is_ascii_alphabetic() => {
                run(Tok::Keyword, |b| b.is_ascii_alphabetic() || b == b'_')
            }
            Some(_) => {
                let len = self.text[start..].chars().next().map_or(1, char::len_utf8);
                Token {
                    kind: Tok::Invalid,
                    start,
                    end: start + len,
                }
            }
        }
    }

    fn string_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        let mut escaping = false;
        while let Some(b) = self.bytes.get(at) {
            match b {
                b'\\' => escaping = !escaping,
                b'"' if !escaping => return at + 1,
                b if *b < 32 => return at,
                _ => escaping = false,
            }
            at += 1;
        }
        at
    }

    fn read(&mut self) -> Token {
        let token = self.peek();
        // Nothing after a character that JSON does not know is looked at.
        self.at = if token.kind == Tok::Invalid {
            self.bytes.len()
        } else {
            token.end
        };
        token
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    fn error(&mut self, token: Token, summary: &str, detail: impl Into<Said>) {
        let span = self.span(token);
        self.diags.push(Diagnostic::error(summary, detail).at(span));
    }

    fn value(&mut self) -> Option<Arc<Node>> {
        let token = self.peek();
        let span = self.span(token);
        let mark = self.diags.len();
        let kind = match token.kind {
            Tok::BraceO | Tok::BrackO if self.depth >= MAX_DEPTH => {
                self.error(
                    token,
                    "JSON nested too deeply",
                    format!("Values may be nested in each other at most {MAX_DEPTH} deep."),
                );
                self.at = self.bytes.len();
                self.given_up = true;
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
            // Nobody sees it: it must be named.
            _ if self.text[token.start..].starts_with('\u{feff}') => {
                let detail = "The file begins with a byte order mark, which JSON does not have. Save it as UTF-8 without one.";
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
            // A part that failed still has a place, so that what is around it can be read.
            None if self.diags.len() > mark => Some(Arc::new(Node {
                kind: NodeKind::Invalid,
                span,
            })),
            None => None,
        }
    }

    /// Skips to behind the closing bracket of the value at hand, starting at a token just read.
    fn skip(&mut self, mut token: Token, open: Tok, close: Tok) {
        let mut depth = 1;
        loop {
            if token.kind == open {
                depth += 1;
            } else if token.kind == close {
                depth -= 1;
                if depth <= 1 {
                    return;
                }
            } else if token.kind == Tok::Eof {
                return;
            }
            token = self.read();
        }
    }

    fn object(&mut self) -> Option<NodeKind> {
        let open = self.read();
        let mut properties = Vec::new();
        while self.peek().kind != Tok::BraceC {
            let before = self.at;
            let key = self.value()?;
            let NodeKind::Text(name) = &key.kind else {
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
                Tok::Eof if self.given_up => return None,
                Tok::Eof => {
                    self.error(
                        open,
                        "Unclosed object",
                        "No closing brace was found for this JSON object.",
                    );
                    return None;
                }
                Tok::BrackC => {
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
                Tok::Eof if self.given_up => return None,
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
        let detail = match (
            serde_json::from_str::<serde_json::Number>(text),
            super::number_value(text),
        ) {
            (Ok(_), Ok(value)) => return Some(NodeKind::Number(value)),
            (Ok(_), Err(error)) => super::number_refused(error),
            (Err(_), _) => "There is a syntax error in this JSON number.".to_owned(),
        };
        self.error(token, "Invalid JSON number", detail);
        None
    }

    fn string(&mut self) -> Option<Arc<str>> {
        let token = self.read();
        match serde_json::from_str::<String>(&self.text[token.start..token.end]) {
            Ok(text) => Some(super::parser::normal(&text).into()),
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
