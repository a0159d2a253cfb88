//! State of one evaluation: scope, names bound by enclosing `for` expressions, element of the
//! enclosing splat. Lives as long as the call of `evaluate`; children borrow from their parents.

use cty::{Type, Value};

use super::{Scope, Steps};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::Span;
use crate::syntax::{BinaryOp, Expr, ExprKind, Traversal};

/// Environment of an evaluation: scope, bound names, and limits.
#[derive(Clone, Copy)]
pub struct Env<'e> {
    pub(super) scope: &'e dyn Scope,
    pub(super) names: Option<&'e Names<'e>>,
    pub(super) item: Option<&'e Value>,
    pub(super) depth: usize,
    pub(super) steps: &'e Steps,
}

/// Names bound by one `for`, innermost first.
pub(super) struct Names<'e> {
    pub(super) key: Option<(&'e str, Value)>,
    pub(super) value: (&'e str, Value),
    pub(super) outer: Option<&'e Names<'e>>,
}

impl Names<'_> {
    fn find(&self, name: &str) -> Option<&Value> {
        let mut at = Some(self);
        while let Some(names) = at {
            // In `for x, x in …` the value shadows the key.
            if names.value.0 == name {
                return Some(&names.value.1);
            }
            if let Some((key, value)) = &names.key
                && *key == name
            {
                return Some(value);
            }
            at = names.outer;
        }
        None
    }
}

/// Value with the diagnostics of its evaluation.
pub(super) type Outcome = (Value, Diagnostics);

impl<'e> Env<'e> {
    /// Environment with only the names of the scope.
    pub fn new(scope: &'e dyn Scope, steps: &'e Steps) -> Env<'e> {
        Env::nested(scope, 0, steps)
    }

    /// Environment inside `depth` nested templates.
    pub(crate) fn nested(scope: &'e dyn Scope, depth: usize, steps: &'e Steps) -> Env<'e> {
        Env {
            scope,
            names: None,
            item: None,
            depth,
            steps,
        }
    }

    /// Reason to stop evaluation now, if any.
    pub(super) fn stop_reason(&self) -> Option<Diagnostic> {
        self.steps
            .exhausted_error()
            .or_else(|| self.scope.stop_reason())
    }

    /// The value of an expression.
    pub fn value(&self, expr: &Expr) -> (Value, Diagnostics) {
        self.steps.consume(1);
        match &expr.kind {
            ExprKind::Literal(value) => (value.clone(), Diagnostics::new()),
            ExprKind::Error => (Value::dynamic(), Diagnostics::new()),
            ExprKind::Faulty(diags) => (Value::dynamic(), (**diags).clone()),
            ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => self.value(inner),
            ExprKind::SplatItem => (
                self.item.cloned().unwrap_or_else(Value::dynamic),
                Diagnostics::new(),
            ),
            ExprKind::Traversal(traversal) => self.traversal(traversal),
            ExprKind::RelativeTraversal { source, steps } => {
                let (value, diags) = self.value(source);
                super::access::apply_steps(value, steps, diags)
            }
            ExprKind::Index {
                source,
                key,
                brackets,
            } => self.indexed(source, key, *brackets),
            ExprKind::Template { parts, .. } => self.template(parts, expr.span),
            ExprKind::TemplateJoin(tuple) => self.join(tuple),
            ExprKind::Splat(splat) => self.splat(splat, expr.span),
            ExprKind::Call(call) => bounded(self.call(call, expr.span), expr.span),
            ExprKind::Unary { op, operand, .. } => self.unary(*op, operand, expr.span),
            ExprKind::Binary { first, rest } => self.chain(first, rest, expr.span),
            ExprKind::Conditional { cond, then, other } => {
                self.conditional(cond, then, other, expr.span)
            }
            ExprKind::For(each) => bounded(self.for_each(each, expr.span), expr.span),
            ExprKind::Tuple(items) => bounded(self.tuple(items), expr.span),
            ExprKind::Object(items) => bounded(self.object(items), expr.span),
        }
    }

    fn traversal(&self, traversal: &Traversal) -> Outcome {
        // Names bound by `for` shadow those of the scope.
        if let Some(value) = self.names.and_then(|names| names.find(&traversal.root)) {
            return super::access::apply_steps(value.clone(), &traversal.steps, Diagnostics::new());
        }
        match self.scope.resolve(traversal) {
            Ok((value, used)) => super::access::apply_steps(
                value,
                traversal.steps.get(used..).unwrap_or_default(),
                Diagnostics::new(),
            ),
            // Errors about names quote text of the configuration, or values that still have their
            // marks.
            Err(diags) => (Value::dynamic(), diags.without_sensitive()),
        }
    }

    fn indexed(&self, source: &Expr, key: &Expr, brackets: Span) -> Outcome {
        let (collection, mut diags) = self.value(source);
        let (key, key_diags) = self.value(key);
        diags.append(key_diags);
        match super::access::index(&collection, &key) {
            Ok(value) => (value, diags),
            Err(fault) => {
                diags.push(fault.at(brackets));
                (Value::dynamic(), diags)
            }
        }
    }

    /// Applies operators of equal precedence from left to right, iteratively.
    fn chain(&self, first: &Expr, rest: &[(BinaryOp, Span, Expr)], whole: Span) -> Outcome {
        let mut left = self.value(first);
        let mut left_span = first.span;
        for (op, _, operand) in rest {
            let right = self.value(operand);
            let span = Span {
                end: operand.span.end,
                ..whole
            };
            left = super::binary::apply(*op, left, left_span, right, operand.span, span);
            left_span = span;
        }
        left
    }

    fn tuple(&self, items: &[Expr]) -> Outcome {
        let mut diags = Diagnostics::new();
        let values = items
            .iter()
            .map(|item| {
                let (value, more) = self.value(item);
                diags.append(more);
                value
            })
            .collect();
        (Value::tuple(values), diags)
    }
}

/// Rejects values with too many parts. Values are shared, so doubling a value again and again takes
/// little memory until a function expands it.
fn bounded((value, mut diags): Outcome, span: Span) -> Outcome {
    const MAX_ITERATIONS: u32 = 1 << 24;
    if value.size() <= MAX_ITERATIONS {
        return (value, diags);
    }
    if !diags.has_errors() {
        let detail = format!(
            "The value has more than {MAX_ITERATIONS} elements on all levels together. An element that occurs \
            several times counts each time. Use smaller collections."
        );
        diags.push(Diagnostic::error("Value too large", Message::plain(detail)).at(span));
    }
    (Value::dynamic(), diags)
}

/// Unknown value of the type that a failed operation would have had.
pub(super) fn failed(ty: Type) -> Value {
    Value::unknown(ty)
}
