//! Compares expressions regardless of their source positions.

use std::mem::discriminant;

use super::ast::{Expr, ExprKind};

impl Expr {
    /// Returns true if both expressions have the same text, ignoring spaces and parentheses.
    pub fn same_as(&self, other: &Expr) -> bool {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.walk(&mut |e| ours.push(e));
        other.walk(&mut |e| theirs.push(e));
        // Parentheses have no meaning of their own, because the tree already has the grouping.
        ours.retain(|e| !matches!(e.kind, ExprKind::Parens(_)));
        theirs.retain(|e| !matches!(e.kind, ExprKind::Parens(_)));
        ours.len() == theirs.len()
            && ours
                .into_iter()
                .zip(theirs)
                .all(|(a, b)| same_node(&a.kind, &b.kind))
    }
}

/// Compares two nodes without their nested expressions, which must be equal in number.
fn same_node(a: &ExprKind, b: &ExprKind) -> bool {
    match (a, b) {
        (ExprKind::Literal(a), ExprKind::Literal(b)) => a.raw_equals(b),
        (ExprKind::Template { parts: a, .. }, ExprKind::Template { parts: b, .. }) => {
            a.len() == b.len()
        }
        (ExprKind::Traversal(a), ExprKind::Traversal(b)) => a.to_string() == b.to_string(),
        (
            ExprKind::RelativeTraversal { steps: a, .. },
            ExprKind::RelativeTraversal { steps: b, .. },
        ) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_string() == b.to_string()),
        (ExprKind::Splat(a), ExprKind::Splat(b)) => a.full == b.full,
        (ExprKind::Call(a), ExprKind::Call(b)) => {
            a.name == b.name && a.args.len() == b.args.len() && a.expand_final == b.expand_final
        }
        (ExprKind::Unary { op: a, .. }, ExprKind::Unary { op: b, .. }) => a == b,
        (ExprKind::Binary { rest: a, .. }, ExprKind::Binary { rest: b, .. }) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
        }
        (ExprKind::For(a), ExprKind::For(b)) => {
            let words = |f: &super::ast::ForExpr| {
                (
                    f.key_var.clone(),
                    f.value_var.clone(),
                    f.key.is_some(),
                    f.cond.is_some(),
                    f.group,
                )
            };
            words(a) == words(b)
        }
        (ExprKind::Tuple(a), ExprKind::Tuple(b)) => a.len() == b.len(),
        (ExprKind::Object(a), ExprKind::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name)
        }
        // Parts that could not be parsed are not known to be equal.
        (ExprKind::Error | ExprKind::Faulty(_), _) => false,
        (a, b) => discriminant(a) == discriminant(b),
    }
}
