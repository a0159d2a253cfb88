//! Reads `resource`, `data` and `ephemeral` blocks with their meta-arguments and overrides.

use std::sync::LazyLock;

use super::lifecycle::lifecycle;
use super::link;
use super::model::{Lifecycle, Resource};
use super::provisioner::{check_self_references, provisioner};
use super::shared_blocks;
use super::shared_blocks::{check_name, check_single_repetition, depends_on, provider_ref};
use crate::addr::{Mode, Resource as Name};
use crate::body::{Block, Body, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::source::Span;

/// Built once, because configurations may have very many resources.
pub(super) fn schema(mode: Mode) -> &'static BodySchema {
    static OF_DATA: LazyLock<BodySchema> = LazyLock::new(|| {
        BodySchema::new()
            .optional(&["count", "for_each", "provider", "depends_on"])
            .block("locals", &[])
            .block("lifecycle", &[])
            .block("_", &[])
    });
    static OF_OTHERS: LazyLock<BodySchema> = LazyLock::new(|| {
        OF_DATA
            .clone()
            .block("connection", &[])
            .block("provisioner", &["type"])
    });
    if mode == Mode::Data {
        &OF_DATA
    } else {
        &OF_OTHERS
    }
}

pub(super) struct Repetition {
    count: Option<Span>,
    for_each: Option<Span>,
    pub(super) enabled: Option<Span>,
}

/// Reads a resource. `nested`: the data source of a `check` block.
pub(super) fn resource(
    block: &Block,
    mode: Mode,
    nested: bool,
    diags: &mut Diagnostics,
) -> Resource {
    let (content, rest, found) = block.body.partial_content(schema(mode));
    diags.append(found);
    let (kind_word, name_word) = match mode {
        Mode::Managed => ("resource type name", "resource name"),
        Mode::Data => ("data source name", "data resource name"),
        Mode::Ephemeral => ("ephemeral resource type name", "ephemeral resource name"),
    };
    check_name(&block.labels[0], kind_word, diags);
    check_name(&block.labels[1], name_word, diags);
    let name = Name {
        mode,
        kind: block.labels[0].text.clone(),
        name: block.labels[1].text.clone(),
    };
    if nested {
        for meta in ["count", "for_each"] {
            if let Some(a) = content.attribute(meta) {
                let detail = format!(
                    "The \"{meta}\" meta-argument is not supported within nested data blocks."
                );
                diags.error(a.name_span, format!("Invalid \"{meta}\" attribute"), detail);
            }
        }
    }
    // In a check, these arguments were reported above and do not count.
    let expr = |name: &str| {
        content
            .attribute(name)
            .filter(|_| !nested)
            .map(|a| (*a.expr).clone())
    };
    let span = |name: &str| {
        content
            .attribute(name)
            .filter(|_| !nested)
            .map(|a| a.name_span)
    };
    let mut repetition = Repetition {
        count: span("count"),
        for_each: span("for_each"),
        enabled: None,
    };
    let mut resource = Resource {
        count: expr("count"),
        for_each: expr("for_each"),
        provider: content
            .attribute("provider")
            .and_then(|a| provider_ref(&a.expr, "provider", diags)),
        depends_on: depends_on(&content, diags),
        lifecycle: Lifecycle::default(),
        provisioners: Vec::new(),
        connection: None,
        span: block.def_span,
        kind_span: block.labels[0].span,
        body: rest,
        check: None,
        link: link::parse_ends(block, diags),
        name,
    };
    // An invalid reference is already reported, and the implied provider is not in use.
    if resource.provider.is_none() && !content.attributes.contains_key("provider") {
        shared_blocks::check_implied_provider(&resource.name.kind, block.def_span, diags);
    }
    blocks(&mut resource, &content, nested, &mut repetition, diags);
    check_single_repetition(
        repetition.count,
        repetition.for_each,
        repetition.enabled,
        diags,
    );
    // Destroy-time provisioners use the connection of the resource too.
    if let Some(connection) = &resource.connection
        && resource.provisioners.iter().any(|p| p.on_destroy)
    {
        check_self_references(connection, diags);
    }
    for provisioner in &mut resource.provisioners {
        provisioner.connection = match (&resource.connection, provisioner.connection.take()) {
            // The provisioner's own arguments win over those of the resource.
            (Some(shared), Some(own)) => Some(Body::merged(shared.clone(), own)),
            (shared, own) => own.or_else(|| shared.clone()),
        };
    }
    resource
}

pub(super) fn blocks(
    resource: &mut Resource,
    content: &Content,
    nested: bool,
    repetition: &mut Repetition,
    diags: &mut Diagnostics,
) {
    let mode = resource.name.mode;
    let mut seen: Vec<&str> = Vec::new();
    for block in &content.blocks {
        let kind = &*block.type_name;
        if matches!(kind, "lifecycle" | "connection" | "_") && mode != Mode::Ephemeral
            || kind == "lifecycle"
            || kind == "_"
        {
            if seen.contains(&kind) {
                let what = if kind == "_" { "escaping" } else { kind };
                diags.error(
                    block.def_span,
                    format!("Duplicate {what} block"),
                    format!("This resource already has a {what} block."),
                );
                continue;
            }
            seen.push(kind);
        }
        match kind {
            "lifecycle" => {
                if nested {
                    let detail = "Nested data blocks do not support \"lifecycle\" blocks: the \
                        enclosing check block controls their lifecycle.";
                    diags.error(block.def_span, "Invalid lifecycle block", detail);
                }
                lifecycle(resource, &block.body, block.def_span, repetition, diags);
            }
            "connection" | "provisioner" if mode == Mode::Ephemeral => diags.error(
                block.def_span,
                "Invalid configuration block for ephemeral resource",
                format!("The block type \"{kind}\" cannot be used in ephemeral resources."),
            ),
            "connection" => resource.connection = Some(block.body.clone()),
            "provisioner" => resource.provisioners.extend(provisioner(block, diags)),
            // An escaping block has provider arguments that are named like meta-arguments.
            "_" => resource.body = Body::joined(resource.body.clone(), block.body.clone()),
            _ => diags.error(
                block.type_span,
                "Reserved block type name in resource block",
                format!("The block type name \"{kind}\" is reserved for future use."),
            ),
        }
    }
}

/// Reports arguments that an override file may not change in a resource.
pub(super) fn check_override(body: &Body, mode: Mode, diags: &mut Diagnostics) {
    let (content, _, _) = body.partial_content(schema(mode));
    shared_blocks::no_override_of_depends_on(&content, diags);
    for block in content.blocks_of("lifecycle") {
        super::values::no_override_of_conditions(
            &block.body,
            &["precondition", "postcondition"],
            diags,
        );
    }
}

/// Merges the body of a resource with an override, argument by argument, also inside `lifecycle`.
/// `count` or `for_each` stays the one of the normal files, as do `enabled` and
/// `replace_triggered_by`.
pub(super) fn merge(base: &Body, over: &Body) -> Body {
    let lifecycle = |body: &Body| {
        let (content, _, _) = body.partial_content(&BodySchema::new().block("lifecycle", &[]));
        content.blocks.into_iter().next()
    };
    let (base, over) = shared_blocks::resolve_repetition(base, over);
    let (first, second) = (lifecycle(&base), lifecycle(&over));
    let second = second.map(|block| Block {
        body: block
            .body
            .without(&BodySchema::new().optional(&["enabled", "replace_triggered_by"])),
        ..block
    });
    let merged = Body::overridden(base, over);
    match (first, second) {
        (Some(first), Some(second)) => merged.with_block(Block {
            body: Body::merged(first.body.clone(), second.body),
            ..first
        }),
        (Some(one), None) | (None, Some(one)) => merged.with_block(one),
        (None, None) => merged,
    }
}
