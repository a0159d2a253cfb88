//! Maps the path of a part of a decoded value to its source position in the body.

use cty::{Path, PathStep};

use crate::body::{Body, BodySchema};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind};

/// Source position of the value at `path`: the expression of an argument, a part of its
/// constructor, or a block's body. Returns the innermost body found if the path leads into blocks
/// made by `dynamic`.
pub fn place_of(body: &Body, path: &Path) -> Span {
    find_span(body, path.steps())
}

fn find_span(body: &Body, steps: &[PathStep]) -> Span {
    let Some((PathStep::Attr(name), rest)) = steps.split_first() else {
        return body.missing_span();
    };
    if body.has_attribute(name) {
        let (content, _, _) = body.partial_content(&BodySchema::new().optional(&[name]));
        if let Some(attribute) = content.attribute(name) {
            return span_in_constructor(&attribute.expr, rest);
        }
    }
    // Blocks of a map have a label; others are found by index.
    for labels in [&[][..], &["key"][..]] {
        // Labels that do not match give no block, so one of both schemas finds nothing.
        let (content, _, _) = body.partial_content(&BodySchema::new().block(name, labels));
        let mut blocks = content.blocks_of(name);
        let found = match (labels, rest.first()) {
            ([], Some(PathStep::Index(key))) => key
                .as_number()
                .and_then(cty::Number::to_usize)
                .and_then(|at| blocks.nth(at))
                .map(|b| (b, &rest[1..])),
            ([], _) => blocks.next().map(|b| (b, rest)),
            (_, Some(PathStep::Index(key))) => blocks
                .find(|b| {
                    b.labels
                        .first()
                        .is_some_and(|l| Some(&*l.text) == key.as_str())
                })
                .map(|b| (b, &rest[1..])),
            _ => None,
        };
        if let Some((block, rest)) = found {
            return if rest.is_empty() {
                block.def_span
            } else {
                find_span(&block.body, rest)
            };
        }
    }
    body.missing_span()
}

/// Source position of a part of a constructor.
fn span_in_constructor(expr: &Expr, steps: &[PathStep]) -> Span {
    let Some((step, rest)) = steps.split_first() else {
        return expr.span;
    };
    let inner = match (&expr.kind, step) {
        (ExprKind::Parens(inner), _) => return span_in_constructor(inner, steps),
        (ExprKind::Object(items), PathStep::Attr(name)) => {
            items.iter().find(|i| names(i, name)).map(|i| &i.value)
        }
        (ExprKind::Object(items), PathStep::Index(key)) => key
            .as_str()
            .and_then(|name| items.iter().find(|i| names(i, name)))
            .map(|i| &i.value),
        (ExprKind::Tuple(items), PathStep::Index(key)) => key
            .as_number()
            .and_then(cty::Number::to_usize)
            .and_then(|at| items.get(at)),
        _ => None,
    };
    inner.map_or(expr.span, |inner| span_in_constructor(inner, rest))
}

fn names(item: &crate::syntax::ObjectItem, name: &str) -> bool {
    match &item.name {
        Some(own) => &**own == name,
        None => item.key.literal_text().as_deref() == Some(name),
    }
}
