//! Literal blocks and `dynamic` blocks, which make one block per element of `for_each` with the
//! iterator in scope.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

use super::{Decoder, Place};
use crate::body::{Block, Body, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{Bindings, evaluate};
use crate::source::Span;
use crate::syntax::Expr;

const BAD_EACH: &str = "Invalid dynamic for_each value";
const BAD_LABEL: &str = "Invalid dynamic block label";

/// Block to decode, literal or made by `dynamic`.
pub(super) struct Found<'a> {
    pub(super) body: Body,
    pub(super) labels: Vec<Arc<str>>,
    pub(super) def_span: Span,
    pub(super) place: Place<'a>,
}

/// Parsed `dynamic` block.
struct Spec {
    each: Value,
    iterator: Arc<str>,
    labels: Vec<Expr>,
    content: Body,
    def_span: Span,
}

/// The arguments of a `dynamic` block.
pub(super) fn spec_schema(labels: bool) -> BodySchema {
    let schema = BodySchema::new()
        .required(&["for_each"])
        .optional(&["iterator"])
        .block("content", &[]);
    if labels {
        schema.required(&["labels"])
    } else {
        schema
    }
}

impl Decoder<'_> {
    /// Calls `visit` for every block of this type, in source order.
    pub(super) fn each_block(
        &self,
        name: &str,
        labels: &[&str],
        diags: &mut Diagnostics,
        visit: &mut dyn FnMut(Found<'_>, &mut Diagnostics),
    ) {
        for block in &self.content.blocks {
            if &*block.type_name == name {
                let found = Found {
                    body: block.body.clone(),
                    labels: block.labels.iter().map(|l| l.text.clone()).collect(),
                    def_span: block.def_span,
                    place: self.place.with_scope(self.place.scope),
                };
                visit(found, diags);
            // A schema may have a block type named `dynamic`, which is then an ordinary block.
            } else if is_dynamic(block, name) && !self.schema.blocks.contains_key("dynamic") {
                self.expand(block, name, labels, diags, visit);
            }
        }
    }

    fn expand(
        &self,
        block: &Block,
        name: &str,
        labels: &[&str],
        diags: &mut Diagnostics,
        visit: &mut dyn FnMut(Found<'_>, &mut Diagnostics),
    ) {
        let Some(spec) = self.spec(block, name, labels, diags) else {
            return;
        };
        let (each, marks) = spec.each.clone().unmark();
        let rounds: Vec<(Value, Value)> = if each.is_known() {
            each.elements()
                .map(|(key, value)| (key, value.clone()))
                .collect()
        } else {
            // With an unknown for_each, one body is still decoded, to report errors of its
            // structure.
            vec![(Value::dynamic(), Value::dynamic())]
        };
        for (key, value) in rounds {
            let item = Value::object([("key", key), ("value", value)]);
            let scope = Bindings::extending(
                self.place.scope,
                BTreeMap::from([(spec.iterator.clone(), item)]),
            );
            let place = Place {
                scope: &scope,
                marks: self.place.marks.union(&marks),
                unknown: self.place.unknown || !each.is_known(),
            };
            let mut inside = Diagnostics::new();
            if let Some(labels) = made_labels(&spec.labels, &place, &mut inside) {
                visit(
                    Found {
                        body: spec.content.clone(),
                        labels,
                        def_span: spec.def_span,
                        place,
                    },
                    &mut inside,
                );
            }
            // The bound elements lost the marks of for_each, so messages must be hidden here.
            diags.append_redacted(inside, marks.needs_redaction());
        }
    }

    fn spec(
        &self,
        block: &Block,
        name: &str,
        labels: &[&str],
        diags: &mut Diagnostics,
    ) -> Option<Spec> {
        let (content, found) = block.body.content(&spec_schema(!labels.is_empty()));
        let bad = found.has_errors();
        diags.append(found);
        if bad {
            return None;
        }
        let iterator = match content.attribute("iterator") {
            Some(given) => iterator_name(&given.expr, diags)?,
            None => Arc::from(name),
        };
        let each_expr = &content.attribute("for_each")?.expr;
        let (each, found) = evaluate(each_expr, self.place.scope);
        let bad = found.has_errors();
        diags.append(found);
        if bad {
            return None;
        }
        if each.ty().is_primitive() {
            let detail = format!(
                "Cannot use a {} value in for_each. An iterable collection is required.",
                each.ty().friendly_name()
            );
            diags.push(Diagnostic::error(BAD_EACH, detail).at(each_expr.span));
            return None;
        }
        if each.is_null() {
            diags.push(
                Diagnostic::error(BAD_EACH, "Cannot use a null value in for_each.")
                    .at(each_expr.span),
            );
            return None;
        }
        let label_exprs = match content.attribute("labels") {
            Some(given) => label_list(&given.expr, name, labels.len(), diags)?,
            None => Vec::new(),
        };
        let mut bodies = content.blocks_of("content");
        let Some(first) = bodies.next() else {
            let detail = "A dynamic block must have a nested block of type \"content\" to describe the body of each generated block.";
            diags.push(
                Diagnostic::error("Missing dynamic content block", detail).at(content.missing),
            );
            return None;
        };
        if let Some(second) = bodies.next() {
            let detail = "Only one nested content block is allowed for each dynamic block.";
            diags.push(
                Diagnostic::error("Extraneous dynamic content block", detail).at(second.def_span),
            );
            return None;
        }
        Some(Spec {
            each,
            iterator,
            labels: label_exprs,
            content: first.body.clone(),
            def_span: block.def_span,
        })
    }
}

pub(super) fn is_dynamic(block: &Block, name: &str) -> bool {
    &*block.type_name == "dynamic" && block.labels.first().is_some_and(|l| &*l.text == name)
}

fn iterator_name(expr: &Expr, diags: &mut Diagnostics) -> Option<Arc<str>> {
    match expr.as_static_traversal() {
        Some(traversal) if traversal.steps.is_empty() => Some(traversal.root),
        _ => {
            let detail = "Dynamic iterator must be a single variable name.";
            diags.push(Diagnostic::error("Invalid dynamic iterator name", detail).at(expr.span));
            None
        }
    }
}

fn label_list(expr: &Expr, name: &str, want: usize, diags: &mut Diagnostics) -> Option<Vec<Expr>> {
    let Some(list) = expr.static_list() else {
        let detail = "A static list expression is required.";
        diags.push(Diagnostic::error("Invalid expression", detail).at(expr.span));
        return None;
    };
    let detail = format!("Blocks of type {name:?} require {want} label(s).");
    if let Some(extra) = list.get(want) {
        diags.push(Diagnostic::error("Extraneous dynamic block label", detail).at(extra.span));
        return None;
    }
    if list.len() < want {
        diags.push(Diagnostic::error("Insufficient dynamic block labels", detail).at(expr.span));
        return None;
    }
    Some(list.to_vec())
}

fn made_labels(
    exprs: &[Expr],
    place: &Place<'_>,
    diags: &mut Diagnostics,
) -> Option<Vec<Arc<str>>> {
    let mut labels = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let (value, found) = evaluate(expr, place.scope);
        let bad = found.has_errors();
        diags.append(found);
        if bad {
            return None;
        }
        match label_text(&value) {
            Ok(label) => labels.push(label),
            Err(detail) => {
                diags.push(Diagnostic::error(BAD_LABEL, detail).at(expr.span));
                return None;
            }
        }
    }
    Some(labels)
}

fn label_text(value: &Value) -> Result<Arc<str>, String> {
    let value = cty::convert(value, &Type::String)
        .map_err(|e| format!("Cannot use this value as a dynamic block label: {e}."))?;
    if value.is_null() {
        return Err("Cannot use a null value as a dynamic block label.".to_owned());
    }
    if value.is_marked() {
        return Err(
            "This value has dynamic marks that make it unsuitable for use as a block label."
                .to_owned(),
        );
    }
    value.as_arc_str().ok_or_else(|| {
        "This value is not yet known. Dynamic block labels must be immediately-known values."
            .to_owned()
    })
}
