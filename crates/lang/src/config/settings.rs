//! Parses `terraform` blocks: required providers, backends, encryption, `provider_meta`.

use std::sync::Arc;

use super::constant;
use super::model::{ProviderMeta, RequiredProvider};
use super::providers::required_providers;
use super::shared_blocks::check_provider_name;
use super::values::Named;
use crate::body::{Attribute, Block, Body, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::json::NodeKind;

/// Content of a file's `terraform` blocks.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) required: Vec<(Named<RequiredProvider>, Span)>,
    /// Type (or `cloud`), source position and body.
    pub(super) backends: Vec<(Arc<str>, Span, Option<Body>)>,
    pub(super) encryptions: Vec<super::Encryption>,
    /// Blocks with the source positions of their headers.
    pub(super) metas: Vec<(ProviderMeta, Span)>,
}

/// Reads a `terraform` block.
pub(super) fn terraform(block: &Block, settings: &mut Settings, diags: &mut Diagnostics) {
    let schema = BodySchema::new()
        .optional(&["required_version", "experiments", "language"])
        .block("backend", &["type"])
        .block("cloud", &[])
        .block("required_providers", &[])
        .block("provider_meta", &["provider"])
        .block("encryption", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    // Editions and experiments belong to OpenTofu; flightdeck has neither.
    for inner in &content.blocks {
        match &*inner.type_name {
            "backend" => settings.backends.push((
                inner.labels[0].text.clone(),
                inner.def_span,
                Some(inner.body.clone()),
            )),
            // The arguments of a `cloud` block are not evaluated.
            "cloud" => settings
                .backends
                .push(("cloud".into(), inner.def_span, None)),
            "required_providers" => {
                let required = required_providers(&inner.body, diags);
                settings.required.push((required, inner.def_span));
            }
            "provider_meta" => settings.metas.extend(provider_meta(inner, diags)),
            "encryption" => settings
                .encryptions
                .extend(super::encryption::encryption(inner, diags)),
            _ => {}
        }
    }
}

fn provider_meta(block: &Block, diags: &mut Diagnostics) -> Option<(ProviderMeta, Span)> {
    let mark = diags.len();
    let (attributes, found) = block.body.just_attributes();
    diags.append(found);
    for attribute in attributes.values() {
        constant::value(attribute, diags);
    }
    let label = &block.labels[0];
    check_provider_name(&label.text, block.def_span, diags);
    let wrong = diags.0[mark..].iter().any(Diagnostic::is_error);
    let meta = ProviderMeta {
        name: label.text.clone(),
        body: block.body.clone(),
        span: label.span,
    };
    (!wrong).then_some((meta, block.def_span))
}

/// Returns true if an entry is a bare version constraint instead of an object.
pub(super) fn version_alone(attribute: &Attribute) -> bool {
    match &attribute.json {
        Some(node) => !matches!(node.kind, NodeKind::Object(_) | NodeKind::Array(_)),
        None => {
            let mut ignored = Diagnostics::new();
            constant::of_expr(&attribute.expr, &mut ignored).is_some_and(|v| v.ty().is_primitive())
        }
    }
}
