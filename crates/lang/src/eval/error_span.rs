//! Source positions for errors about an expression, and suggestions for misspelt names.

use crate::source::Span;
use crate::syntax::{Expr, ExprKind, TemplateOrigin};

/// Most specific part of an expression for an error position: the name of a call, the brackets of
/// an index, the text after the opening quote.
pub fn start_of(expr: &Expr) -> Span {
    match &expr.kind {
        ExprKind::Template {
            origin: TemplateOrigin::Json,
            ..
        } => expr.span,
        ExprKind::Template { parts, origin } => match parts.first() {
            Some(part) => start_of(part),
            // An empty string: the place between its quotes.
            None if *origin == TemplateOrigin::Quoted && expr.span.end > expr.span.start => Span {
                start: expr.span.start + 1,
                end: expr.span.start + 1,
                ..expr.span
            },
            None => expr.span,
        },
        ExprKind::TemplateJoin(inner) | ExprKind::Parens(inner) => start_of(inner),
        ExprKind::Index { brackets, .. } => *brackets,
        ExprKind::Splat(splat) => splat.marker,
        ExprKind::Call(call) => call.name_span.to(call.open),
        ExprKind::Unary { op_span, .. } => *op_span,
        ExprKind::Binary { first, .. } => start_of(first),
        ExprKind::Conditional { cond, .. } => start_of(cond),
        ExprKind::For(each) => each.open,
        // As in HCL, only the opening bracket.
        ExprKind::Tuple(_) | ExprKind::Object(_) => Span {
            end: expr.span.start + 1,
            ..expr.span
        },
        _ => expr.span,
    }
}

/// Returns the name in `known` that is most similar to `wrong`.
pub fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (edit_distance(wrong, name), name))
        .filter(|(d, _)| *d < 3)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != *y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_returns_a_similar_name() {
        assert_eq!(closest("lenght", ["length", "list"]), Some("length"));
        assert_eq!(closest("abc", ["xyz"]), None);
    }
}
