//! `resource`, `data` and `ephemeral` blocks with their meta-arguments, lifecycle and provisioners.

use std::sync::LazyLock;

use crate::addr::{Mode, Reference, Resource as Name, Subject};
use crate::body::{Attribute, Block, Body, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::{Expr, StepKind, Traversal};

use super::constant;
use super::model::{IgnoreChanges, Lifecycle, Provisioner, Resource};
use super::parts::{
    self, check_name, condition, depends_on, list, no_self_reference, one_repetition, provider_ref,
    reference, static_item,
};

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

/// Made once: there may be very many resources.
fn schema(mode: Mode) -> &'static BodySchema {
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

struct Repetition {
    count: Option<Span>,
    for_each: Option<Span>,
    enabled: Option<Span>,
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
        body: rest,
        check: None,
        name,
    };
    if resource.provider.is_none() && !content.attributes.contains_key("provider") {
        parts::check_implied_provider(&resource.name.kind, block.def_span, diags);
    }
    blocks(&mut resource, &content, nested, &mut repetition, diags);
    one_repetition(
        repetition.count,
        repetition.for_each,
        repetition.enabled,
        diags,
    );
    if let Some(connection) = &resource.connection
        && resource.provisioners.iter().any(|p| p.on_destroy)
    {
        only_self_references(connection, diags);
    }
    for provisioner in &mut resource.provisioners {
        provisioner.connection = match (&resource.connection, provisioner.connection.take()) {
            (Some(shared), Some(own)) => Some(Body::merged(shared.clone(), own)),
            (shared, own) => own.or_else(|| shared.clone()),
        };
    }
    resource
}

fn blocks(
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
                    let detail = "Nested data blocks do not support \"lifecycle\" blocks: the block around them rules their life.";
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
            "_" => resource.body = Body::joined(resource.body.clone(), block.body.clone()),
            _ => diags.error(
                block.type_span,
                "Reserved block type name in resource block",
                format!("The block type name \"{kind}\" is reserved for future use."),
            ),
        }
    }
}

fn lifecycle(
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
            diags.error(place, summary, format!("The lifecycle argument \"{name}\" is for managed resources (\"resource\" blocks) alone."));
        }
        return;
    }
    if let Some(a) = content.attribute("create_before_destroy") {
        out.create_before_destroy = constant::flag(a, diags);
    }
    if let Some(a) = content.attribute("destroy") {
        out.destroy = constant::flag(a, diags);
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

/// Reads a provisioner.
pub(super) fn provisioner(block: &Block, diags: &mut Diagnostics) -> Option<Provisioner> {
    let schema = BodySchema::new()
        .optional(&["when", "on_failure"])
        .block("_", &[])
        .block("connection", &[])
        .block("lifecycle", &[]);
    let (content, rest, found) = block.body.partial_content(&schema);
    diags.append(found);
    let label = &block.labels[0];
    if matches!(
        &*label.text,
        "chef" | "habitat" | "puppet" | "salt-masterless"
    ) {
        let detail = format!(
            "The \"{}\" provisioner was removed from the language.",
            label.text
        );
        diags.error(
            label.span,
            format!("The \"{}\" provisioner has been removed", label.text),
            detail,
        );
        return None;
    }
    let mut out = Provisioner {
        kind: label.text.clone(),
        body: rest,
        on_destroy: false,
        go_on_after_failure: false,
        connection: None,
        span: block.def_span,
    };
    if let Some(a) = content.attribute("when") {
        match keyword(a, diags).as_deref() {
            Some("create") => {}
            Some("destroy") => out.on_destroy = true,
            _ => diags.error(
                a.expr.span,
                "Invalid \"when\" keyword",
                "The \"when\" argument requires one of the keywords create or destroy.",
            ),
        }
    }
    if out.on_destroy {
        only_self_references(&out.body, diags);
    }
    if let Some(a) = content.attribute("on_failure") {
        match keyword(a, diags).as_deref() {
            Some("continue") => out.go_on_after_failure = true,
            Some("fail") => {}
            _ => {
                let detail =
                    "The \"on_failure\" argument requires one of the keywords continue or fail.";
                diags.error(a.expr.span, "Invalid \"on_failure\" keyword", detail);
            }
        }
    }
    let mut escaped = false;
    for block in &content.blocks {
        match &*block.type_name {
            "_" if escaped => diags.error(
                block.def_span,
                "Duplicate escaping block",
                "This provisioner already has an escaping block.",
            ),
            "_" => {
                escaped = true;
                out.body = Body::joined(out.body, block.body.clone());
            }
            "connection" if out.connection.is_some() => {
                diags.error(
                    block.def_span,
                    "Duplicate connection block",
                    "This provisioner already has a connection block.",
                );
            }
            "connection" => {
                if out.on_destroy {
                    only_self_references(&block.body, diags);
                }
                out.connection = Some(block.body.clone());
            }
            kind => diags.error(
                block.type_span,
                "Reserved block type name in provisioner block",
                format!("The block type name \"{kind}\" is reserved for future use."),
            ),
        }
    }
    Some(out)
}

/// A keyword, bare or (an old form) quoted.
fn keyword(attribute: &Attribute, diags: &mut Diagnostics) -> Option<std::sync::Arc<str>> {
    if let Some(word) = attribute.expr.as_keyword() {
        return Some(word);
    }
    let text = attribute.expr.literal_text()?;
    diags.warning(
        attribute.expr.span,
        "Quoted keywords are deprecated",
        "Remove the quotes around this keyword to silence this warning.",
    );
    Some(text.into())
}

/// What runs at destroy time knows its own resource alone.
fn only_self_references(body: &Body, diags: &mut Diagnostics) {
    let (attributes, _) = body.just_attributes();
    for attribute in attributes.values() {
        for traversal in attribute.expr.traversals() {
            let only_step = match &traversal.steps[..] {
                [step] => match &step.kind {
                    StepKind::Attr(name) => Some(&**name),
                    StepKind::Index(_) => None,
                },
                _ => None,
            };
            let valid = match &*traversal.root {
                "self" | "path" | "terraform" | "tofu" => true,
                "count" => only_step == Some("index"),
                "each" => only_step == Some("key"),
                _ => false,
            };
            if !valid {
                diags.error(
                    attribute.expr.span,
                    "Invalid reference from destroy provisioner",
                    "Destroy-time provisioners and their connections may refer to the resource itself alone, by 'self', 'count.index' or \
                     'each.key'. References to others while destroying can make dependency cycles.",
                );
            }
        }
    }
}

/// Complains about what an override file may not change in a resource.
pub(super) fn check_override(body: &Body, mode: Mode, diags: &mut Diagnostics) {
    let (content, _, _) = body.partial_content(schema(mode));
    parts::no_override_of_depends_on(&content, diags);
    for block in content.blocks_of("lifecycle") {
        super::values::no_override_of_conditions(
            &block.body,
            &["precondition", "postcondition"],
            diags,
        );
    }
}

/// The body of a resource with an override: arguments one by one, lifecycle arguments one by one
/// too. How often the resource is there stays of the kind that it was, `enabled` and
/// `replace_triggered_by` are as in the normal files.
pub(super) fn merge(base: &Body, over: &Body) -> Body {
    let lifecycle = |body: &Body| {
        let (content, _, _) = body.partial_content(&BodySchema::new().block("lifecycle", &[]));
        content.blocks.into_iter().next()
    };
    let (base, over) = parts::one_kind_of_repetition(base, over);
    let (first, second) = (lifecycle(&base), lifecycle(&over));
    let second = second.map(|block| Block {
        body: block
            .body
            .without(&BodySchema::new().optional(&["enabled", "replace_triggered_by"])),
        ..block
    });
    let merged = Body::merged(base, over);
    match (first, second) {
        (Some(first), Some(second)) => merged.with_block(Block {
            body: Body::merged(first.body.clone(), second.body),
            ..first
        }),
        (Some(one), None) | (None, Some(one)) => merged.with_block(one),
        (None, None) => merged,
    }
}
