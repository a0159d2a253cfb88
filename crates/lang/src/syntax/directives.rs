//! Builds the tree of template directives: `%{if}` becomes a conditional, `%{for}` a joined tuple.

use std::sync::Arc;

use super::ast::{Expr, ExprKind, ForExpr, MAX_DEPTH, TemplateOrigin};
use super::parser::Parser;
use super::template::{Control, Part};
use crate::source::Span;

/// Second pass: directives to a tree.
pub(super) struct Directives<'p, 'a> {
    parts: std::iter::Peekable<std::vec::IntoIter<Part>>,
    depth: usize,
    /// Set once the rest was skipped, to suppress errors about missing parts.
    skipped_rest: bool,
    parser: &'p mut Parser<'a>,
}

/// End of the parts inside a directive.
enum Ended {
    By(Control, Span),
    Early(Span),
}

impl<'p, 'a> Directives<'p, 'a> {
    pub(super) fn new(parts: Vec<Part>, parser: &'p mut Parser<'a>) -> Self {
        Directives {
            parts: parts.into_iter().peekable(),
            // Continues the parser's own count, because templates nest inside expressions.
            depth: parser.depth,
            skipped_rest: false,
            parser,
        }
    }

    /// Returns true if there are parts before the end.
    pub(super) fn has_more(&mut self) -> bool {
        self.parts
            .peek()
            .is_some_and(|p| !matches!(p, Part::End(_)))
    }

    /// Next expression with all of its parts.
    pub(super) fn next(&mut self) -> Expr {
        match self.parts.next() {
            Some(Part::Text(text, span)) => Expr {
                kind: ExprKind::Literal(super::text_value(&text)),
                span,
            },
            Some(Part::Interp(expr)) => expr,
            Some(Part::If(cond, span)) => self.nested(span, |d| d.conditional(cond, span)),
            Some(Part::For {
                key,
                value,
                collection,
                span,
            }) => self.nested(span, |d| d.repetition(key, value, collection, span)),
            Some(Part::Control(control, span)) => {
                // An opening directive reads its own parts in `until_control`, so this one has no
                // opener.
                self.parser.error(
                    span,
                    format!("Unexpected {} directive", control.name()),
                    "The control directives within this template are unbalanced.",
                );
                self.parser.placeholder(span)
            }
            Some(Part::End(span)) => {
                // The end is put back, because every enclosing directive must find it too.
                self.parts = vec![Part::End(span)].into_iter().peekable();
                self.parser.error(
                    span,
                    "Unexpected end of template",
                    "The control directives within this template are unbalanced.",
                );
                self.parser.placeholder(span)
            }
            None => Expr {
                kind: ExprKind::Error,
                span: self.parser.previous(),
            },
        }
    }

    fn nested(&mut self, span: Span, parse: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if self.depth >= MAX_DEPTH {
            self.parser.error(
                span,
                "Template nested too deeply",
                format!("Directives can be nested at most {MAX_DEPTH} levels deep."),
            );
            // Skips the rest, because its directives would only give follow-up errors.
            while self.has_more() {
                self.parts.next();
            }
            self.skipped_rest = true;
            return self.parser.placeholder(span);
        }
        self.depth += 1;
        let expr = parse(self);
        self.depth -= 1;
        expr
    }

    /// Collects parts up to the next dividing or ending directive.
    fn until_control(&mut self, out: &mut Vec<Expr>) -> Ended {
        loop {
            match self.parts.peek() {
                Some(Part::Control(control, span)) => {
                    let ended = Ended::By(*control, *span);
                    self.parts.next();
                    return ended;
                }
                Some(Part::End(span)) => return Ended::Early(*span),
                Some(_) => {
                    let expr = self.next();
                    out.push(expr);
                }
                None => return Ended::Early(self.parser.previous()),
            }
        }
    }

    fn conditional(&mut self, cond: Expr, open: Span) -> Expr {
        let (mut then, mut other) = (Vec::new(), Vec::new());
        let mut ended = self.until_control(&mut then);
        if matches!(ended, Ended::By(Control::Else, _)) {
            ended = self.until_control(&mut other);
            if let Ended::By(Control::Else, span) = ended {
                self.parser.error(
                    span,
                    "Unexpected else directive",
                    "This if directive already has an else directive.",
                );
                return self.parser.placeholder(span);
            }
        }
        match ended {
            Ended::By(Control::EndIf, close) => {
                let then = body(then, open.at_end());
                let other = body(other, close.at_start());
                Expr {
                    kind: ExprKind::Conditional {
                        cond: Box::new(cond),
                        then: Box::new(then),
                        other: Box::new(other),
                    },
                    span: open.to(close),
                }
            }
            ended => self.unbalanced(ended, "endif", "if"),
        }
    }

    fn repetition(
        &mut self,
        key_var: Option<Arc<str>>,
        value_var: Arc<str>,
        collection: Expr,
        open: Span,
    ) -> Expr {
        let mut content = Vec::new();
        match self.until_control(&mut content) {
            Ended::By(Control::EndFor, close) => {
                let value = body(content, open.at_end());
                let span = open.to(close);
                let inner = ForExpr {
                    key_var,
                    value_var,
                    collection,
                    key: None,
                    value,
                    cond: None,
                    group: false,
                    open,
                    close,
                };
                let tuple = Expr {
                    kind: ExprKind::For(Box::new(inner)),
                    span,
                };
                Expr {
                    kind: ExprKind::TemplateJoin(Box::new(tuple)),
                    span,
                }
            }
            ended => self.unbalanced(ended, "endfor", "for"),
        }
    }

    fn unbalanced(&mut self, ended: Ended, want: &str, open: &str) -> Expr {
        match ended {
            // The end was skipped on purpose, so it is not reported as missing.
            Ended::Early(span) if self.skipped_rest => self.parser.placeholder(span),
            Ended::By(control, span) => {
                self.parser.error(
                    span,
                    format!("Unexpected {} directive", control.name()),
                    format!("Expecting an {want} directive for the {open} before."),
                );
                self.parser.placeholder(span)
            }
            Ended::Early(span) => {
                self.parser.error(
                    span,
                    "Unexpected end of template",
                    format!("An earlier {open} directive has no matching {want} directive."),
                );
                self.parser.placeholder(span)
            }
        }
    }
}

fn body(parts: Vec<Expr>, empty_at: Span) -> Expr {
    let span = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => empty_at,
    };
    Expr {
        kind: ExprKind::Template {
            parts,
            origin: TemplateOrigin::Directive,
        },
        span,
    }
}
