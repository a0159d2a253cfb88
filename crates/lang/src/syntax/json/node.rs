//! JSON values with their positions in the source, and their conversion to expressions.

use std::sync::Arc;

use cty::Value;

use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, ObjectItem, TemplateOrigin};

/// JSON value with its source position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Kind with its content.
    pub kind: NodeKind,
    /// All of it.
    pub span: Span,
}

/// Kind of a JSON value.
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
    /// Value that could not be parsed.
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
    /// Source position for errors at the start of the value: its opening bracket, or all of a
    /// scalar.
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

    /// Value with strings used literally.
    pub fn literal(&self) -> Value {
        match &self.kind {
            NodeKind::Object(properties) => Value::object(
                properties
                    .iter()
                    .map(|p| (p.name.clone(), p.value.literal())),
            ),
            NodeKind::Array(items) => Value::tuple(items.iter().map(|i| i.literal()).collect()),
            NodeKind::Text(text) => super::super::text_value(text),
            NodeKind::Number(value) => value.clone(),
            NodeKind::Bool(value) => super::super::bool_value(*value),
            NodeKind::Null => super::super::null_value(),
            NodeKind::Invalid => Value::dynamic(),
        }
    }

    /// Converts the value to an expression: strings and property names are templates.
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
                        // HCL evaluates property names as templates too.
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

/// Parses a string as a template. Source positions count from the opening quote, so they shift
/// after escapes.
fn string_expr(text: &str, span: Span, diags: &mut Diagnostics) -> Expr {
    // Without a sequence the text is literal, because JSON already resolved the escapes.
    if !text.contains("${") && !text.contains("%{") {
        let literal = Expr {
            kind: ExprKind::Literal(super::super::text_value(text)),
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
        super::super::parse_template_at(text, span.file, span.start + 1, TemplateOrigin::Json);
    if found.has_errors() {
        // Not every string is used as a template, so errors are reported on evaluation.
        return Expr {
            kind: ExprKind::Faulty(Arc::new(found)),
            span,
        };
    }
    diags.append(found);
    // A template gets the span of its quotes; a lone interpolation keeps its own.
    if matches!(expr.kind, ExprKind::Template { .. }) {
        expr.span = span;
    }
    expr
}
