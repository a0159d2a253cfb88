//! The `lifecycle` block of a resource.

use super::constant;
use super::model::{IgnoreChanges, Resource};
use super::resource::Repetition;
use super::shared_blocks::{condition, list, no_self_reference, reference, static_item};
use crate::addr::{Mode, Reference, Subject};
use crate::body::{Attribute, Body, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::{Expr, Traversal};

pub(super) fn lifecycle_schema() -> BodySchema {
    BodySchema::new()
        .optional(&[
            "create_before_destroy",
            "prevent_destroy",
            "destroy",
            "ignore_changes",
            "replace_triggered_by",
            "enabled",
        ])
        .block("precondition", &[])
        .block("postcondition", &[])
}

pub(super) fn lifecycle(
    resource: &mut Resource,
    body: &Body,
    header: Span,
    repetition: &mut Repetition,
    diags: &mut Diagnostics,
) {
    let (content, found) = body.content(&lifecycle_schema());
    diags.append(found);
    let own = resource.name.clone();
    let out = &mut resource.lifecycle;
    if let Some(a) = content.attribute("enabled") {
        out.enabled = Some((*a.expr).clone());
        repetition.enabled = Some(a.name_span);
    }
    for block in &content.blocks {
        if let Some(rule) = condition(block, false, diags) {
            no_self_reference(&rule, &block.type_name, &own, diags);
            if &*block.type_name == "precondition" {
                out.preconditions.push(rule)
            } else {
                out.postconditions.push(rule)
            }
        }
    }
    if own.mode != Mode::Managed {
        // `enabled` is valid for resources of all kinds.
        for (name, a) in content
            .attributes
            .iter()
            .filter(|(name, _)| &***name != "enabled")
        {
            let (summary, place) = match own.mode {
                Mode::Data => ("Invalid data resource lifecycle argument", a.name_span),
                _ => (
                    "Invalid lifecycle configuration for ephemeral resource",
                    header,
                ),
            };
            diags.error(
                place,
                summary,
                format!(
                    "The lifecycle argument \"{name}\" is valid only \
                for managed resources (\"resource\" blocks)."
                ),
            );
        }
        return;
    }
    if let Some(a) = content.attribute("create_before_destroy") {
        out.create_before_destroy = constant::flag(a, diags);
    }
    if let Some(a) = content.attribute("destroy") {
        out.destroy = Some(destroy(a));
    }
    out.prevent_destroy = content
        .attribute("prevent_destroy")
        .map(|a| (*a.expr).clone());
    if let Some(a) = content.attribute("replace_triggered_by") {
        out.replace_triggered_by = replace_triggered_by(&a.expr, diags);
    }
    if let Some(a) = content.attribute("ignore_changes") {
        out.ignore_changes = ignore_changes(a, diags);
    }
}

/// Parses `destroy`: a boolean literal or a constant expression, but not a string such as "true".
fn destroy(attribute: &Attribute) -> Result<bool, Diagnostic> {
    // Errors are dropped, because an invalid value is reported for each planned instance.
    let flag = constant::value(attribute, &mut Diagnostics::new()).and_then(|v| v.as_bool());
    flag.ok_or_else(|| {
        let detail = "The value must be true (objects are destroyed) or false (objects are \
            forgotten).";
        Diagnostic::error("Invalid lifecycle destroy expression", detail).at(attribute.expr.span)
    })
}

fn ignore_changes(attribute: &Attribute, diags: &mut Diagnostics) -> IgnoreChanges {
    if attribute
        .expr
        .as_keyword()
        .is_some_and(|word| &*word == "all")
    {
        return IgnoreChanges::All;
    }
    let mut paths: Vec<Traversal> = Vec::new();
    for item in list(&attribute.expr, diags) {
        // The old form of `all`.
        if item.literal_text().is_some_and(|text| text == "*") {
            let detail = "The [\"*\"] form of ignore_changes is no longer valid. Use \"ignore_changes = all\".";
            diags.error(
                attribute.expr.span,
                "Invalid ignore_changes wildcard",
                detail,
            );
            continue;
        }
        paths.extend(reference(item, diags));
    }
    if paths.is_empty() {
        IgnoreChanges::None
    } else {
        IgnoreChanges::Paths(paths)
    }
}

fn replace_triggered_by(expr: &Expr, diags: &mut Diagnostics) -> Vec<Expr> {
    const SUMMARY: &str = "Invalid replace_triggered_by expression";
    let mut out = Vec::new();
    for item in list(expr, diags) {
        let item = static_item(item, diags);
        let mut resources = 0;
        let mut bad = false;
        for traversal in item.traversals() {
            match Reference::parse(traversal) {
                Err(error) => {
                    diags.error(item.span, error.summary, error.detail);
                    bad = true;
                }
                Ok(found) => match found.subject {
                    Subject::Resource { .. } => resources += 1,
                    Subject::Each(name) if &*name == "key" => {}
                    Subject::Count(name) if &*name == "index" => {}
                    _ => {
                        let detail = "Only resources, count.index, and each.key may be used in replace_triggered_by.";
                        diags.error(
                            item.span,
                            "Invalid reference in replace_triggered_by expression",
                            detail,
                        );
                    }
                },
            }
        }
        match resources {
            // An invalid reference says nothing about the number of resources.
            _ if bad => {}
            0 => diags.error(
                item.span,
                SUMMARY,
                "Missing resource reference in replace_triggered_by expression.",
            ),
            1 => {}
            _ => diags.error(
                item.span,
                SUMMARY,
                "Multiple resource references in replace_triggered_by expression.",
            ),
        }
        out.push(item);
    }
    out
}
