//! `link` blocks: a relation between two resources, modelled as a managed resource of type `link`
//! whose arguments `from` and `to` name both.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::{LinkEnds, ProviderRef, Resource};
use crate::addr::{InstanceKey, Mode, Reference, Resource as Name, Subject};
use crate::body::{Block, BodySchema, Label};
use crate::diag::Diagnostics;
use crate::syntax::{Expr, ExprKind};

/// Block type, also used as the type of the resources.
pub const LINK: &str = "link";

/// The arguments that name the ends of a link.
pub const ENDS: [&str; 2] = ["from", "to"];

const SUMMARY: &str = "Invalid end of a link";

/// Adds the type as the first label, as resource blocks have it.
pub(super) fn labelled(mut block: Block) -> Block {
    if &*block.type_name == LINK && block.labels.len() == 1 {
        let label = Label {
            text: LINK.into(),
            span: block.type_span,
        };
        block.labels.insert(0, label);
    }
    block
}

/// Parses the ends of a link. `None` with an error if one does not name a resource.
pub(super) fn parse_ends(block: &Block, diags: &mut Diagnostics) -> Option<LinkEnds> {
    if &*block.type_name != LINK {
        return None;
    }
    let (content, _, _) = block
        .body
        .partial_content(&BodySchema::new().optional(&ENDS));
    let [from, to] = ENDS.map(|name| match content.attribute(name) {
        Some(attribute) => {
            let expr = unwrapped(&attribute.expr).clone();
            end_resource(&expr, name, diags).map(|_| expr)
        }
        None => {
            let detail = format!(
                "The argument \"{name}\" is required: a link connects two resource instances."
            );
            diags.error(block.def_span, "Missing required argument", detail);
            None
        }
    });
    Some(LinkEnds {
        from: from?,
        to: to?,
        provider_given: block.body.has_attribute("provider"),
    })
}

/// JSON wraps an expression in a string template.
fn unwrapped(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::TemplateWrap(inner) => inner,
        _ => expr,
    }
}

/// Resource whose instance is an end.
fn end_resource(expr: &Expr, argument: &str, diags: &mut Diagnostics) -> Option<Name> {
    let (traversal, keyed) = match &expr.kind {
        ExprKind::Traversal(t) => (Some(t), false),
        ExprKind::Index { source, .. } => match &source.kind {
            ExprKind::Traversal(t) => (Some(t), true),
            _ => (None, true),
        },
        _ => (None, false),
    };
    let reference = traversal.and_then(|t| Reference::parse(t).ok());
    let found = reference.and_then(|r| match r.subject {
        Subject::Resource { resource, key } => {
            // An instance has only one key.
            let once = !(keyed && key != InstanceKey::None);
            (resource.mode == Mode::Managed && once && r.remaining.is_empty()).then_some(resource)
        }
        _ => None,
    });
    // A syntax error is already reported.
    if found.is_none() && !matches!(expr.kind, ExprKind::Error) {
        let detail = format!(
            "\"{argument}\" must refer to an instance of a managed resource in this module, such \
            as aws_lambda_function.orders or aws_lambda_function.orders[each.key]. Attributes, \
            data sources, outputs and other values are not allowed."
        );
        diags.error(expr.span, SUMMARY, detail);
    }
    found
}

/// Gives links without their own provider configuration that of the resource at `from`.
pub(super) fn providers(resources: &mut BTreeMap<Name, Resource>, diags: &mut Diagnostics) {
    let without = |r: &&Resource| r.link.is_some() && r.provider.is_none();
    let links: Vec<Name> = resources
        .values()
        .filter(without)
        .map(|r| r.name.clone())
        .collect();
    for name in links {
        let chosen = resources
            .get(&name)
            .and_then(|link| of_from(resources, link, diags));
        if let (Some(link), Some(chosen)) = (resources.get_mut(&name), chosen) {
            link.provider = Some(chosen);
        }
    }
}

fn of_from(
    resources: &BTreeMap<Name, Resource>,
    link: &Resource,
    diags: &mut Diagnostics,
) -> Option<ProviderRef> {
    let ends = link.link.as_ref()?;
    let from = end_resource(&ends.from, "from", diags)?;
    let Some(resource) = resources.get(&from) else {
        let detail = format!(
            "There is no resource {from} in this module. Both ends of a link must be resources \
            of the module."
        );
        diags.error(ends.from.span, SUMMARY, detail);
        return None;
    };
    let implied = || ProviderRef {
        name: Arc::from(
            from.kind
                .split_once('_')
                .map_or(&*from.kind, |(first, _)| first),
        ),
        alias: None,
        key: None,
        span: ends.from.span,
    };
    let chosen = resource.provider.clone().unwrap_or_else(implied);
    // The key may depend on `each` or `count` of that resource, whose values differ in a link.
    if chosen.key.is_some() {
        let detail = format!(
            "{from} selects an instance of its provider configuration, and a link cannot inherit \
            that selection. Set the provider of the link, as in provider = {}.ALIAS[KEY].",
            chosen.name
        );
        diags.error(link.span, "Missing link provider", detail);
        return None;
    }
    Some(chosen)
}

/// Resource at an end of a link.
#[must_use]
pub fn end_of_link(expr: &Expr) -> Option<Name> {
    end_resource(expr, "", &mut Diagnostics::new())
}
