//! Parses the operators after a term: attributes, indexes and splats.

use cty::Value;

use super::ast::{Expr, ExprKind, MAX_DEPTH, Splat, Step, StepKind, TemplateOrigin};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

impl Parser<'_> {
    /// Parses attributes, indexes and splats after a term.
    pub(super) fn parse_postfix(&mut self, from: Expr) -> Expr {
        let from_span = from.span;
        let mut expr = from;
        let mut nested = 0usize;
        loop {
            match self.peek_kind() {
                Kind::Dot => {
                    let dot = self.read();
                    match self.after_dot(expr, from_span, dot) {
                        Ok(next) => expr = next,
                        Err(last) => return last,
                    }
                }
                Kind::OBrack => {
                    // Each index nests the tree deeper, although it is parsed in a loop.
                    nested += 1;
                    if self.depth + nested >= MAX_DEPTH {
                        return self.too_deep();
                    }
                    expr = self.index(expr, from_span);
                }
                _ => return expr,
            }
        }
    }

    /// `Err` if no further operator may follow.
    fn after_dot(&mut self, expr: Expr, from: Span, dot: Token) -> Result<Expr, Expr> {
        let dot_span = self.span(dot);
        let token = self.peek();
        let span = self.span(token);
        match token.kind {
            Kind::Ident => {
                self.read();
                let step = Step {
                    kind: StepKind::Attr(self.name(token)),
                    span: dot_span.to(span),
                };
                Ok(extend(expr, step))
            }
            Kind::Number => {
                // HCL still accepts the index syntax of its first version, as in `list.0`.
                self.read();
                let step = self.legacy_index(token, dot_span);
                Ok(match step {
                    Some(step) => extend(expr, step),
                    None => self.placeholder(from.to(span)),
                })
            }
            Kind::Star => {
                self.read();
                Ok(self.attribute_splat(expr, from, dot_span.to(span)))
            }
            _ => {
                self.error(
                    span,
                    "Invalid attribute name",
                    "An attribute name is required after a dot.",
                );
                self.recovery = true;
                Err(self.placeholder(from.to(dot_span)))
            }
        }
    }

    fn legacy_index(&mut self, token: Token, dot: Span) -> Option<Step> {
        let span = self.span(token);
        // The lexer reads the digits of `list.0.1` as one decimal number.
        if let Some((first, second)) = self.bytes(token).split_once('.') {
            self.error(
                span,
                "Invalid legacy index syntax",
                format!(
                    "Two indexes in the legacy syntax cannot follow each other. Use brackets \
                    instead, as in [{first}][{second}]."
                ),
            );
            // The intended index is ambiguous; an unknown key avoids follow-up errors.
            return Some(Step {
                kind: StepKind::Index(Value::dynamic()),
                span: dot.to(span),
            });
        }
        let value = self.number(token)?;
        Some(Step {
            kind: StepKind::Index(value),
            span: dot.to(span),
        })
    }

    fn attribute_splat(&mut self, source: Expr, from: Span, marker: Span) -> Expr {
        let first = self.span(self.peek());
        let mut last = marker;
        let mut steps = Vec::new();
        // An attribute-only splat ends at the first bracket, which then applies to its result.
        while self.peek_kind() == Kind::Dot {
            let dot = self.read();
            let dot_span = self.span(dot);
            let token = self.peek();
            let span = self.span(token);
            match token.kind {
                Kind::Ident => {
                    self.read();
                    steps.push(Step {
                        kind: StepKind::Attr(self.name(token)),
                        span: dot_span.to(span),
                    });
                    last = span;
                }
                Kind::Number => {
                    self.read();
                    steps.extend(self.legacy_index(token, dot_span));
                    last = span;
                }
                _ => {
                    if !self.recovery {
                        if token.kind == Kind::Star {
                            self.error(
                                span,
                                "Nested splat expression not allowed",
                                "A splat (*) cannot be used inside another attribute-only splat.",
                            );
                        } else {
                            self.error(
                                span,
                                "Invalid attribute name",
                                "An attribute name is required after a dot.",
                            );
                        }
                    }
                    self.recovery = true;
                    return source;
                }
            }
        }
        let item = Expr {
            kind: ExprKind::SplatItem,
            span: marker,
        };
        let each = match steps.is_empty() {
            true => item,
            false => Expr {
                kind: ExprKind::RelativeTraversal {
                    source: Box::new(item),
                    steps,
                },
                span: first.to(last),
            },
        };
        Expr {
            kind: ExprKind::Splat(Box::new(Splat {
                source,
                each,
                full: false,
                marker,
            })),
            span: from.to(last),
        }
    }

    fn index(&mut self, expr: Expr, from: Span) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        if self.peek_kind() == Kind::Star {
            return self.full_splat(expr, from, open_span);
        }
        self.push_newlines(false);
        let mark = self.mark();
        let key = self.expression();
        let close = if self.is_recovering(mark) {
            self.recover(Kind::CBrack)
        } else {
            let close = self.read();
            if close.kind != Kind::CBrack && !self.recovery {
                let span = self.span(close);
                self.error(
                    span,
                    "Missing close bracket on index",
                    "The index operator must end with a closing bracket (\"]\").",
                );
                self.recover(Kind::CBrack)
            } else {
                close
            }
        };
        self.pop_newlines();
        let brackets = open_span.to(self.span(close));
        // Constant keys become part of a traversal, so that references stay static.
        match constant_key(&key) {
            Some(value) => extend(
                expr,
                Step {
                    kind: StepKind::Index(value),
                    span: brackets,
                },
            ),
            None => {
                let span = from.to(brackets);
                Expr {
                    kind: ExprKind::Index {
                        source: Box::new(expr),
                        key: Box::new(key),
                        brackets,
                    },
                    span,
                }
            }
        }
    }

    fn full_splat(&mut self, source: Expr, from: Span, open: Span) -> Expr {
        self.read();
        let mut close = self.read();
        if close.kind != Kind::CBrack && !self.recovery {
            let span = self.span(close);
            self.error(
                span,
                "Missing close bracket on splat index",
                "The star of a splat must be followed immediately by a closing bracket (\"]\").",
            );
            close = self.recover(Kind::CBrack);
        }
        let marker = open.to(self.span(close));
        let item = Expr {
            kind: ExprKind::SplatItem,
            span: marker,
        };
        // All operators that follow apply to each element, so they become part of the splat.
        self.depth += 1;
        let each = if self.depth >= MAX_DEPTH {
            self.too_deep()
        } else {
            self.parse_postfix(item)
        };
        self.depth -= 1;
        let span = from.to(each.span);
        Expr {
            kind: ExprKind::Splat(Box::new(Splat {
                source,
                each,
                full: true,
                marker,
            })),
            span,
        }
    }
}

/// Value of a literal index key.
fn constant_key(key: &Expr) -> Option<Value> {
    match &key.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        ExprKind::Template {
            parts,
            origin: TemplateOrigin::Quoted,
        } => match &parts[..] {
            [] => Some(super::text_value("")),
            [
                Expr {
                    kind: ExprKind::Literal(value),
                    ..
                },
            ] => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn extend(expr: Expr, step: Step) -> Expr {
    let span = expr.span.to(step.span);
    match expr.kind {
        ExprKind::Traversal(mut traversal) => {
            // A reference stays one traversal, which static contexts require.
            traversal.steps.push(step);
            Expr {
                kind: ExprKind::Traversal(traversal),
                span,
            }
        }
        ExprKind::RelativeTraversal { source, mut steps } => {
            steps.push(step);
            Expr {
                kind: ExprKind::RelativeTraversal { source, steps },
                span,
            }
        }
        kind => {
            let source = Box::new(Expr {
                kind,
                span: expr.span,
            });
            Expr {
                kind: ExprKind::RelativeTraversal {
                    source,
                    steps: vec![step],
                },
                span,
            }
        }
    }
}
