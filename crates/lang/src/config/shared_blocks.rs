//! Parsers and checks shared by several block types: names, conditions, `depends_on`, provider
//! references, `count` and `for_each`.

use super::model::{Condition, ProviderRef};
use crate::addr::{Reference, Resource, Subject};
use crate::body::{Attribute, Block, Body, BodySchema, Content, Label};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::json::NodeKind;
use crate::syntax::{Expr, ExprKind, Step, StepKind, TemplateOrigin, Traversal, is_identifier};
use dependency::ProviderAddress;
use std::sync::Arc;

pub(super) const BAD_NAME: &str = "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.";

/// Reports a label that is not an identifier.
pub(super) fn check_name(label: &Label, what: &str, diags: &mut Diagnostics) {
    if !is_identifier(&label.text) {
        diags.error(label.span, format!("Invalid {what}"), BAD_NAME);
    }
}

/// Expression of an argument for references: JSON strings are parsed as expressions.
pub(super) fn static_expr(attribute: &Attribute, diags: &mut Diagnostics) -> Expr {
    match attribute.json.as_deref() {
        // In JSON, a reference is the whole string, without the syntax of templates.
        Some(node) => match &node.kind {
            NodeKind::Text(text) => json_text_expr(text, node.span, diags),
            _ => (*attribute.expr).clone(),
        },
        None => (*attribute.expr).clone(),
    }
}

fn json_text_expr(text: &str, span: Span, diags: &mut Diagnostics) -> Expr {
    let (expr, found) = crate::syntax::parse_expression_at(text, span.file, span.start + 1);
    diags.append(found);
    expr
}

/// Element of a list of references: JSON strings are parsed as expressions.
pub(super) fn static_item(expr: &Expr, diags: &mut Diagnostics) -> Expr {
    match &expr.kind {
        ExprKind::Template {
            origin: TemplateOrigin::Json,
            ..
        } => match expr.literal_text() {
            Some(text) => json_text_expr(&text, expr.span, diags),
            None => expr.clone(),
        },
        _ => expr.clone(),
    }
}

/// Elements of a list literal.
pub(super) fn list<'a>(expr: &'a Expr, diags: &mut Diagnostics) -> &'a [Expr] {
    match expr.static_list() {
        Some(items) => items,
        None => {
            // A syntax error is already reported.
            if !matches!(expr.kind, ExprKind::Error) {
                diags.error(
                    expr.span,
                    "Invalid expression",
                    "A static list expression is required.",
                );
            }
            &[]
        }
    }
}

fn is_quoted(expr: &Expr) -> bool {
    matches!(
        &expr.kind,
        ExprKind::Template { origin: TemplateOrigin::Quoted | TemplateOrigin::Heredoc, parts }
            if parts.iter().all(|p| matches!(p.kind, ExprKind::Literal(_)))
    )
}

/// Literal reference; quotes around it give a deprecation warning.
pub(super) fn reference(expr: &Expr, diags: &mut Diagnostics) -> Option<Traversal> {
    if is_quoted(expr) {
        diags.warning(
            expr.span,
            "Quoted references are deprecated",
            "References are expected literally here, not in quotes. Remove the quotes to silence this warning.",
        );
        let traversal = expr.quoted_traversal();
        if traversal.is_none() {
            diags.error(
                expr.span,
                "Invalid reference",
                "The text in quotes is not a reference.",
            );
        }
        return traversal;
    }
    plain_reference(expr, diags)
}

/// Literal reference without quotes.
pub(super) fn plain_reference(expr: &Expr, diags: &mut Diagnostics) -> Option<Traversal> {
    let traversal = expr.as_static_traversal();
    if traversal.is_none() && !matches!(expr.kind, ExprKind::Error) {
        diags.error(
            expr.span,
            "Invalid expression",
            "A single static reference is required: only attribute access and indexing with constant keys. \
             No calculations, function calls or template expressions are allowed here.",
        );
    }
    traversal
}

/// `depends_on`.
pub(super) fn depends_on(content: &Content, diags: &mut Diagnostics) -> Vec<Traversal> {
    let Some(attribute) = content.attribute("depends_on") else {
        return Vec::new();
    };
    list(&attribute.expr, diags)
        .iter()
        .filter_map(|item| reference(item, diags))
        .collect()
}

/// Reports `depends_on` in an override file, at its first element.
pub(super) fn no_override_of_depends_on(over: &Content, diags: &mut Diagnostics) {
    if let Some(attribute) = over.attribute("depends_on")
        && let Some(first) = attribute.expr.static_list().and_then(<[Expr]>::first)
    {
        diags.error(
            first.span,
            "Unsupported override",
            "The depends_on argument may not be overridden.",
        );
    }
}

/// Resolves `count` and `for_each` spread over a body and its override: `count` wins.
pub(super) fn resolve_repetition(base: &Body, over: &Body) -> (Body, Body) {
    let for_each = BodySchema::new().optional(&["for_each"]);
    let counted = |a: &Body, b: &Body| a.has_attribute("count") && b.has_attribute("for_each");
    match (
        counted(base, over) && !over.has_attribute("count"),
        counted(over, base) && !base.has_attribute("count"),
    ) {
        // OpenTofu ignores a for_each beside the count of the other block.
        (true, _) => (base.clone(), over.without(&for_each)),
        (_, true) => (base.without(&for_each), over.clone()),
        _ => (base.clone(), over.clone()),
    }
}

/// Checks that a local provider name is in normal form.
pub(super) fn check_provider_name(name: &str, span: Span, diags: &mut Diagnostics) -> bool {
    let detail = match ProviderAddress::part(name) {
        // Parsing converts to lower case, so another result means another spelling.
        Ok(normal) if normal == name => return true,
        Ok(normal) => format!(
            "Provider names must be in normal form. Replace \"{name}\" with \"{normal}\" to fix this error."
        ),
        Err(error) => format!("{name} is an invalid provider local name: {error}."),
    };
    diags.error(span, "Invalid provider local name", detail);
    false
}

/// Checks the provider name that a resource type implies: its part before the first underscore.
pub(super) fn check_implied_provider(kind: &str, span: Span, diags: &mut Diagnostics) {
    let name = kind.split_once('_').map_or(kind, |(first, _)| first);
    if let Err(error) = ProviderAddress::part(name) {
        let detail = format!(
            "{name:?}, which the type {kind:?} implies, is an invalid provider local name: {error}."
        );
        diags.error(span, "Invalid provider local name", detail);
    }
}

/// A reference to a provider configuration: `aws`, `aws.west` or `aws.by_region[each.key]`.
pub(super) fn provider_ref(
    expr: &Expr,
    argument: &str,
    diags: &mut Diagnostics,
) -> Option<ProviderRef> {
    const SUMMARY: &str = "Invalid provider configuration reference";
    const FORM: &str =
        "A provider name must either stand alone or be followed by a period and an alias.";
    let whole = &static_item(expr, diags);
    let (expr, mut key) = match &whole.kind {
        ExprKind::Index { source, key, .. } => (&**source, Some((**key).clone())),
        _ => (whole, None),
    };
    // A constant key is a step of the traversal; a computed one is already split off.
    let longest = if key.is_some() { 1 } else { 2 };
    let traversal = if is_quoted(expr) {
        reference(expr, diags)
    } else {
        expr.as_static_traversal()
    };
    let Some(traversal) = traversal.filter(|t| t.steps.len() <= longest) else {
        if !matches!(expr.kind, ExprKind::Error) && !is_quoted(expr) {
            let detail = format!(
                "The {argument} argument requires a provider's local name, optionally followed by \
                a period and an alias, and, if the configuration has for_each, by an instance \
                key in brackets."
            );
            diags.error(expr.span, SUMMARY, detail);
        }
        return None;
    };
    if !check_provider_name(&traversal.root, traversal.root_span, diags) {
        return None;
    }
    let alias = match traversal.steps.first() {
        None => None,
        Some(Step {
            kind: StepKind::Attr(alias),
            ..
        }) => Some(alias.clone()),
        Some(Step {
            kind: StepKind::Index(_),
            span,
        }) => {
            diags.error(*span, SUMMARY, FORM);
            return None;
        }
    };
    match traversal.steps.get(1) {
        Some(Step {
            kind: StepKind::Index(value),
            span,
        }) => {
            key = Some(Expr {
                kind: ExprKind::Literal(value.clone()),
                span: *span,
            })
        }
        Some(Step {
            kind: StepKind::Attr(_),
            span,
        }) => {
            diags.error(*span, SUMMARY, FORM);
            return None;
        }
        None => {}
    }
    if alias.is_none() && key.is_some() {
        let detail = "Only a configuration with an alias has instances. Write the name, a period, \
            the alias, then the key in brackets.";
        diags.error(traversal.span(), SUMMARY, detail);
        return None;
    }
    Some(ProviderRef {
        name: traversal.root.clone(),
        alias,
        key: key.map(Arc::new),
        span: traversal.span(),
    })
}

/// Parses a block with `condition` and `error_message`.
pub(super) fn condition(
    block: &Block,
    is_override: bool,
    diags: &mut Diagnostics,
) -> Option<Condition> {
    let kind = &block.type_name;
    if is_override {
        diags.error(
            block.def_span,
            format!("Can't override {kind} blocks"),
            format!("Override files cannot override \"{kind}\" blocks."),
        );
        return None;
    }
    let (content, found) = block
        .body
        .content(&BodySchema::new().required(&["condition", "error_message"]));
    diags.append(found);
    let condition = content.attribute("condition").map(|a| (*a.expr).clone());
    // A condition without references is constant and checks nothing.
    if let Some(condition) = &condition
        && condition.traversals().is_empty()
        && !matches!(condition.kind, ExprKind::Error)
    {
        diags.error(
            condition.span,
            format!("Invalid {kind} expression"),
            "The condition must refer to at least one object from elsewhere in the configuration, or else it would not be checking anything.",
        );
    }
    let message = content
        .attribute("error_message")
        .map(|a| (*a.expr).clone());
    Some(Condition {
        condition: condition?,
        message: message?,
        span: block.def_span,
    })
}

/// Reports conditions of a resource that refer to it by name.
pub(super) fn no_self_reference(
    condition: &Condition,
    kind: &str,
    own: &Resource,
    diags: &mut Diagnostics,
) {
    for expr in [&condition.condition, &condition.message] {
        let refers = expr
            .traversals()
            .into_iter()
            .any(|t| matches!(Reference::parse(t), Ok(Reference { subject: Subject::Resource { resource, .. }, .. }) if resource == *own));
        if refers {
            diags.error(
                expr.span,
                format!("Invalid reference in {kind}"),
                format!("Configuration for {own} may not refer to itself."),
            );
        }
    }
}

/// Reports more than one of `count`, `for_each` and `enabled`.
pub(super) fn check_single_repetition(
    count: Option<Span>,
    for_each: Option<Span>,
    enabled: Option<Span>,
    diags: &mut Diagnostics,
) {
    let given: Vec<(&str, Span)> = [
        ("count", count),
        ("enabled", enabled),
        ("for_each", for_each),
    ]
    .into_iter()
    .filter_map(|(n, s)| Some((n, s?)))
    .collect();
    if given.len() < 2 {
        return;
    }
    let names: Vec<String> = given.iter().map(|(n, _)| format!("\"{n}\"")).collect();
    let names = names.join(" and ");
    // The error has the place of the first argument in the file.
    let first = given
        .iter()
        .map(|(_, span)| *span)
        .min_by_key(|span| span.start)
        .unwrap_or(given[0].1);
    diags.error(
        first,
        format!("Invalid combination of {names}"),
        format!(
            "The {names} meta-arguments are mutually exclusive: only one can set the number \
            of instances."
        ),
    );
}
