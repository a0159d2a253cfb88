//! `moved`, `removed`, `import` and `check` blocks.

use super::constant;
use super::model;
use super::model::{Check, Import, Moved, Removed};
use super::provisioner::provisioner;
use super::resource::resource;
use super::shared_blocks::{check_name, condition, plain_reference, provider_ref, static_expr};
use crate::addr::{InstanceKey, Mode, Target};
use crate::body::{Attribute, Block, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Traversal};

/// Address of a reference argument.
fn address(attribute: Option<&Attribute>, diags: &mut Diagnostics) -> Option<(Target, Span)> {
    let expr = &attribute?.expr;
    let traversal = plain_reference(expr, diags)?;
    match Target::from_traversal(&traversal) {
        Ok(target) => Some((target, expr.span)),
        Err(error) => {
            diags.push(error);
            None
        }
    }
}

fn mode_of(target: &Target) -> Option<Mode> {
    match target {
        Target::Module(_) => None,
        Target::Resource(r) => Some(r.resource.mode),
        Target::Instance(i) => Some(i.resource.mode),
    }
}

/// Reads a `moved` block.
pub(super) fn moved(block: &Block, diags: &mut Diagnostics) -> Option<Moved> {
    let mark = diags.len();
    let (content, found) = block
        .body
        .content(&BodySchema::new().required(&["from", "to"]));
    diags.append(found);
    let from = address(content.attribute("from"), diags);
    let to = address(content.attribute("to"), diags);
    // Ephemeral resources have no objects in the state that could move.
    for (word, end) in [("from", &from), ("to", &to)] {
        if end
            .as_ref()
            .is_none_or(|(target, _)| mode_of(target) == Some(Mode::Ephemeral))
        {
            let detail = format!("The object in the \"{word}\" argument cannot be moved.");
            diags.error(block.def_span, "Invalid \"moved\" address", detail);
        }
    }
    if diags.0[mark..].iter().any(Diagnostic::is_error) {
        return None;
    }
    let ((from, from_span), (to, to_span)) = (from?, to?);
    if matches!(from, Target::Module(_)) != matches!(to, Target::Module(_)) {
        let detail = "The \"from\" and \"to\" addresses must either both refer to resources or both refer to modules.";
        diags.error(block.def_span, "Invalid \"moved\" addresses", detail);
        return None;
    }
    Some(Moved {
        from,
        to,
        from_span,
        to_span,
        span: block.def_span,
    })
}

/// Reads a `removed` block.
pub(super) fn removed(block: &Block, diags: &mut Diagnostics) -> Option<Removed> {
    let mark = diags.len();
    let schema = BodySchema::new()
        .required(&["from"])
        .block("lifecycle", &[])
        .block("provisioner", &["type"]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let from = content
        .attribute("from")
        .and_then(|a| removed_address(a, diags));
    let mut destroy = None;
    let mut provisioners = Vec::new();
    let mut lifecycle = false;
    for inner in &content.blocks {
        if &*inner.type_name == "lifecycle" {
            if std::mem::replace(&mut lifecycle, true) {
                diags.error(
                    inner.def_span,
                    "Duplicate lifecycle block",
                    "The removed block already has a lifecycle block.",
                );
                continue;
            }
            let (content, found) = inner
                .body
                .content(&BodySchema::new().optional(&["destroy"]));
            diags.append(found);
            if let Some(a) = content.attribute("destroy") {
                // An invalid value is an error already; forgetting is the safe choice.
                destroy = Some(constant::flag(a, diags).unwrap_or(false));
            }
            continue;
        }
        let Some(one) = provisioner(inner, diags) else {
            continue;
        };
        if !one.on_destroy {
            let detail = "\"removed\" blocks can only contain destroy provisioners: write \"when = destroy\".";
            diags.error(
                inner.def_span,
                "Invalid \"removed.provisioner\" block",
                detail,
            );
        } else if matches!(from, Some((Target::Module(_), _))) {
            let detail = "\"removed\" blocks with provisioners can only name resources, but this \
                one names a module.";
            diags.error(block.def_span, "Invalid \"removed\" block", detail);
        } else {
            provisioners.push(one);
        }
    }
    if diags.0[mark..].iter().any(Diagnostic::is_error) {
        return None;
    }
    if destroy.is_none() {
        diags.warning(
            block.def_span,
            "Missing lifecycle from the removed block",
            "Set \"destroy\" in a \"lifecycle\" block: true destroys the object, false forgets \
            it. Without it, the object is forgotten.",
        );
    }
    if destroy == Some(false) && !provisioners.is_empty() {
        diags.warning(
            block.def_span,
            "Removed block provisioners will not be executed",
            "The object is forgotten and not destroyed, so its destroy-time provisioners do not \
            run.",
        );
    }
    let (from, from_span) = from?;
    Some(Removed {
        from,
        from_span,
        destroy: destroy.unwrap_or(false),
        provisioners,
        span: block.def_span,
    })
}

/// Parses the address of a `removed` block: a resource or module, without instance keys.
fn removed_address(attribute: &Attribute, diags: &mut Diagnostics) -> Option<(Target, Span)> {
    const SUMMARY: &str = "Invalid \"removed\" address";
    let traversal = plain_reference(&attribute.expr, diags)?;
    if let Some(step) = traversal
        .steps
        .iter()
        .find(|s| matches!(s.kind, crate::syntax::StepKind::Index(_)))
    {
        // A key at the end is that of the resource; an earlier one belongs to a module.
        let is_last = traversal
            .steps
            .last()
            .is_some_and(|last| last.span == step.span);
        let (summary, detail) = if is_last && &*traversal.root != "module" {
            (
                "Resource instance address with keys is not allowed",
                "Name the resource without a key (\"aws_x.a\", not \"aws_x.a[0]\").",
            )
        } else {
            (
                "Module instance address with keys is not allowed",
                "Name the module without a key (\"module.a\", not \"module.a[0]\").",
            )
        };
        diags.error(step.span, summary, detail);
        return None;
    }
    match Target::from_traversal(&traversal) {
        Ok(target) => match mode_of(&target) {
            Some(Mode::Data) | Some(Mode::Ephemeral) => {
                diags.error(
                    traversal.span(),
                    SUMMARY,
                    "Only managed resources and modules can be removed.",
                );
                None
            }
            _ => Some((target, attribute.expr.span)),
        },
        Err(error) => {
            diags.push(error);
            None
        }
    }
}

/// Address of an `import` without computed keys: names and indexes.
fn static_address(expr: &Expr, diags: &mut Diagnostics) -> Option<Traversal> {
    match &expr.kind {
        ExprKind::Traversal(t) => Some(t.clone()),
        // The value of a computed key does not change the form of the address.
        ExprKind::Index { source, .. } => static_address(source, diags),
        ExprKind::RelativeTraversal { source, steps } => {
            let mut base = static_address(source, diags)?;
            base.steps.extend(steps.iter().cloned());
            Some(base)
        }
        ExprKind::Error => None,
        _ => {
            let detail = "The target of an import must be a resource address. Only its keys may \
                be expressions.";
            diags.error(expr.span, "Invalid import address expression", detail);
            None
        }
    }
}

/// Parses an `import` block, and its address if no key is computed.
pub(super) fn import(block: &Block, diags: &mut Diagnostics) -> Option<(Import, Option<Target>)> {
    let schema = BodySchema::new()
        .optional(&["provider", "id", "identity", "for_each"])
        .required(&["to"]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let expr = |name: &str| content.attribute(name).map(|a| (*a.expr).clone());
    let mut target = None;
    let to = match content.attribute("to") {
        Some(a) => {
            let to = static_expr(a, diags);
            match static_address(&to, diags).map(|t| Target::from_traversal(&t)) {
                None => return None,
                Some(Err(error)) => {
                    diags.push(error);
                    return None;
                }
                Some(Ok(Target::Module(_))) => {
                    diags.error(
                        to.span,
                        "Invalid address",
                        "A resource address is required here. The module path must be followed by a resource.",
                    );
                    return None;
                }
                Some(Ok(found)) => target = Some(found),
            }
            Some(to)
        }
        None => None,
    };
    let provider = content.attribute("provider").and_then(|a| {
        if target.as_ref().is_some_and(|t| !t.module().is_root()) {
            let detail = "The provider argument can only be used for resources of the root module.";
            diags.error(a.span, "Invalid import provider argument", detail);
        }
        provider_ref(&a.expr, "provider", diags)
    });
    let (id, identity) = (content.attribute("id"), content.attribute("identity"));
    match (id, identity) {
        (None, None) => diags.error(
            block.def_span,
            "Missing required import argument",
            "Set 'id' or 'identity' to select the object to import.",
        ),
        (Some(id), Some(identity)) => {
            diags.error(
                id.span.to(identity.span),
                "Conflicting import arguments",
                "Only one of 'id' or 'identity' can be given.",
            );
        }
        _ => {}
    }
    let to = to?;
    // A computed key may name many targets, so duplicates cannot be found here.
    let computed = to.as_static_traversal().is_none();
    let resolved = target.filter(|_| !computed).map(|target| match target {
        // Without a key, the import is for the only instance.
        Target::Resource(resource) => Target::Instance(resource.instance(InstanceKey::None)),
        other => other,
    });
    let import = Import {
        to,
        id: expr("id"),
        identity: expr("identity"),
        for_each: expr("for_each"),
        provider,
        span: block.def_span,
    };
    Some((import, resolved))
}

/// Reads a `check` block.
pub(super) fn check(block: &Block, diags: &mut Diagnostics) -> (Check, Option<model::Resource>) {
    let label = &block.labels[0];
    let (content, found) = block.body.content(
        &BodySchema::new()
            .block("data", &["type", "name"])
            .block("assert", &[]),
    );
    diags.append(found);
    check_name(label, "check block name", diags);
    let mut check = Check {
        name: label.text.clone(),
        data: None,
        asserts: Vec::new(),
        span: block.def_span,
    };
    let mut nested = None;
    for inner in &content.blocks {
        let mark = diags.len();
        if &*inner.type_name == "data" {
            if check.data.is_some() {
                diags.error(
                    inner.def_span,
                    "Multiple data resource blocks",
                    "This check block already has a data resource.",
                );
                continue;
            }
            let data = resource(inner, Mode::Data, true, diags);
            // A faulty data source is left out, to avoid follow-up errors.
            if !diags.0[mark..].iter().any(Diagnostic::is_error) {
                check.data = Some(data.name.clone());
                nested = Some(model::Resource {
                    check: Some(check.name.clone()),
                    ..data
                });
            }
        } else {
            let rule = condition(inner, false, diags);
            if !diags.0[mark..].iter().any(Diagnostic::is_error) {
                check.asserts.extend(rule);
            }
        }
    }
    if check.asserts.is_empty() {
        diags.error(
            check.span,
            "Zero assert blocks",
            "Check blocks must have at least one assert block.",
        );
    }
    (check, nested)
}
