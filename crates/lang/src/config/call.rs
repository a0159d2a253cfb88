//! Parses `module` blocks.

use std::collections::BTreeSet;

use super::model::{Argument, ModuleCall, ProviderRef, Variable};
use super::overridden::Part;
use super::shared_blocks::{
    check_name, check_single_repetition, depends_on, no_override_of_depends_on, provider_ref,
    resolve_repetition,
};
use super::unused_attributes;
use super::values::Named;
use crate::body::{Attribute, Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::source::Span;

/// A module call as written, before the module is loaded.
pub(super) struct CallBlock {
    pub(super) call: ModuleCall,
    pub(super) source: Option<Attribute>,
    pub(super) version: Option<Attribute>,
    /// The arguments for the module's variables, as a body.
    pub(super) body: Body,
}

fn schema(part: Part) -> BodySchema {
    let schema = match part {
        Part::Whole => BodySchema::new().required(&["source"]),
        // An override need not repeat the source.
        Part::Override => BodySchema::new().optional(&["source"]),
    };
    schema
        .optional(&["version", "count", "for_each", "depends_on", "providers"])
        .block("_", &[])
        .block("lifecycle", &[])
        .block("locals", &[])
        .block("provider", &["type"])
}

/// Merges the body of a call with an override; `enabled` stays that of the normal files.
pub(super) fn merge(base: &Body, over: &Body) -> Body {
    let (base, over) = resolve_repetition(base, over);
    Body::overridden(
        base,
        over.without(&BodySchema::new().block("lifecycle", &[])),
    )
}

/// Reads a module call.
pub(super) fn call(block: &Block, part: Part, diags: &mut Diagnostics) -> CallBlock {
    let (content, rest, found) = block.body.partial_content(&schema(part));
    diags.append(found);
    let label = &block.labels[0];
    check_name(label, "module instance name", diags);
    let expr = |name: &str| content.attribute(name).map(|a| (*a.expr).clone());
    let span = |name: &str| content.attribute(name).map(|a| a.name_span);
    let mut body = rest;
    let mut call = ModuleCall {
        name: label.text.clone(),
        source: String::new(),
        version: String::new(),
        source_span: content
            .attribute("source")
            .map_or(block.def_span, |a| a.expr.span),
        module: None,
        arguments: Named::new(),
        argument_errors: Diagnostics::new(),
        count: expr("count"),
        for_each: expr("for_each"),
        enabled: None,
        depends_on: depends_on(&content, diags),
        providers: content
            .attribute("providers")
            .map(|a| passed_providers(a, diags)),
        span: block.def_span,
    };
    let mut enabled: Option<Span> = None;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for inner in &content.blocks {
        let kind = &*inner.type_name;
        match kind {
            "lifecycle" | "_" if !seen.insert(kind) => {
                diags.error(
                    inner.def_span,
                    format!("Duplicate {kind} block"),
                    format!("This module block already has a {kind} block."),
                );
            }
            "lifecycle" => {
                let (lifecycle, found) = inner
                    .body
                    .content(&BodySchema::new().optional(&["enabled"]));
                diags.append(found);
                if let Some(a) = lifecycle.attribute("enabled") {
                    call.enabled = Some((*a.expr).clone());
                    enabled = Some(a.name_span);
                }
            }
            // An escaping block, for variables that are named like meta-arguments.
            "_" => body = Body::joined(body, inner.body.clone()),
            _ => diags.error(
                inner.type_span,
                "Reserved block type name in module block",
                format!("The block type name \"{kind}\" is reserved for future use."),
            ),
        }
    }
    check_single_repetition(span("count"), span("for_each"), enabled, diags);
    let source = content.attribute("source").cloned();
    let version = content.attribute("version").cloned();
    CallBlock {
        call,
        source,
        version,
        body,
    }
}

/// Adds the arguments once the variables of the module are known.
pub(super) fn arguments(
    block: &CallBlock,
    variables: &Named<Variable>,
    diags: &mut Diagnostics,
) -> Named<Argument> {
    // A variable without a default is a required argument.
    let attributes = variables
        .values()
        .map(|v| (v.name.clone(), v.default.is_none()))
        .collect();
    let (content, found) = block.body.content(&BodySchema {
        attributes,
        blocks: Vec::new(),
    });
    diags.append(found);
    for (name, attribute) in &content.attributes {
        if let Some(variable) = variables.get(name) {
            unused_attributes::warn(name, attribute, &variable.ty.ty, diags);
        }
    }
    content
        .attributes
        .into_iter()
        .map(|(name, a)| {
            (
                name,
                Argument {
                    expr: (*a.expr).clone(),
                    name_span: a.name_span,
                    span: a.span,
                },
            )
        })
        .collect()
}

pub(super) fn passed_providers(
    attribute: &Attribute,
    diags: &mut Diagnostics,
) -> Vec<(ProviderRef, ProviderRef)> {
    let Some(pairs) = attribute.expr.static_map() else {
        diags.error(
            attribute.expr.span,
            "Invalid expression",
            "A static map expression is required.",
        );
        return Vec::new();
    };
    let mut out: Vec<(ProviderRef, ProviderRef)> = Vec::new();
    for (key, value) in pairs {
        let inner = provider_ref(key, "providers", diags);
        let outer = provider_ref(value, "providers", diags);
        let (Some(inner), Some(outer)) = (inner, outer) else {
            continue;
        };
        if out
            .iter()
            .any(|(seen, _)| seen.name == inner.name && seen.alias == inner.alias)
        {
            let detail = "A provider configuration was already passed under this name. Each name \
                can be assigned only once.";
            diags.error(value.span, "Duplicate provider address", detail);
            continue;
        }
        out.push((inner, outer));
    }
    out
}

/// Reports arguments that an override file may not change in a module call.
pub(super) fn check_override(body: &Body, diags: &mut Diagnostics) {
    let (content, _, _) = body.partial_content(&BodySchema::new().optional(&["depends_on"]));
    no_override_of_depends_on(&content, diags);
}
