//! The `provisioner` and `connection` blocks of a resource.

use super::model::Provisioner;
use crate::body::{Attribute, Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::syntax::StepKind;

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
        kind: (*label.text).into(),
        body: rest,
        on_destroy: false,
        continue_on_failure: false,
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
        check_self_references(&out.body, diags);
    }
    if let Some(a) = content.attribute("on_failure") {
        match keyword(a, diags).as_deref() {
            Some("continue") => out.continue_on_failure = true,
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
                // An escaping block has arguments that are named like meta-arguments.
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
                    check_self_references(&block.body, diags);
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

/// Checks that destroy-time provisioners refer only to their own resource.
pub(super) fn check_self_references(body: &Body, diags: &mut Diagnostics) {
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
                // These do not depend on other resources.
                "self" | "path" | "terraform" | "tofu" => true,
                "count" => only_step == Some("index"),
                "each" => only_step == Some("key"),
                _ => false,
            };
            if !valid {
                diags.error(
                    attribute.expr.span,
                    "Invalid reference from destroy provisioner",
                    "Destroy-time provisioners and their connections may refer only to their own \
                    resource, with 'self', 'count.index' or 'each.key'. References to other \
                    resources can cause dependency cycles during destroy.",
                );
            }
        }
    }
}
