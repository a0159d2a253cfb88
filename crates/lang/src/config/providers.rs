//! Parses `required_providers`, `provider` blocks and references to provider configurations.

use std::sync::Arc;

use cty::Type;
use dependency::{ProviderAddress, VersionConstraint};

use super::constant;
use super::model::{ProviderConfig, RequiredProvider};
use super::settings::version_alone;
use super::shared_blocks::{BAD_NAME, check_provider_name, list};
use super::values::Named;
use crate::body::{Block, Body, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::{Expr, StepKind, is_identifier};

pub(super) fn required_providers(body: &Body, diags: &mut Diagnostics) -> Named<RequiredProvider> {
    let mut out = Named::new();
    let (attributes, found) = body.just_attributes();
    let failed = found.has_errors();
    diags.append(found);
    if failed {
        return out;
    }
    for (name, attribute) in attributes {
        let span = attribute.expr.span;
        let mut entry = RequiredProvider {
            source: name.clone(),
            explicit: false,
            implied: false,
            versions: Vec::new(),
            aliases: Vec::new(),
            span,
        };
        // The old form: a version constraint instead of an object.
        if version_alone(&attribute) {
            if let Err(error) = ProviderAddress::part(&name) {
                diags.error(span, "Invalid provider name", error.to_string());
                continue;
            }
            entry.versions.extend(version(
                &attribute.expr,
                attribute.json.as_deref(),
                span,
                diags,
            ));
            out.insert(name, entry);
            continue;
        }
        if !check_provider_name(&name, span, diags) {
            continue;
        }
        let Some(pairs) = attribute.expr.static_map() else {
            diags.error(
                span,
                "Invalid required_providers object",
                "required_providers entries must be strings or objects.",
            );
            continue;
        };
        let mark = diags.len();
        for (key, value) in pairs {
            // The keys of the object may be quoted.
            let word = key
                .as_keyword()
                .map(|w| w.to_string())
                .or_else(|| key.literal_text());
            match word.as_deref() {
                Some("version") => entry
                    .versions
                    .extend(version(value, None, value.span, diags)),
                Some("source") => match constant_text(value) {
                    Some(text) => match ProviderAddress::of_source(&text) {
                        Ok(_) => {
                            entry.source = text.into();
                            entry.explicit = true;
                        }
                        Err(error) => diags.error(
                            value.span,
                            "Invalid provider source string",
                            format!("{error}."),
                        ),
                    },
                    None => diags.error(
                        value.span,
                        "Invalid source",
                        "Source must be specified as a string.",
                    ),
                },
                Some("configuration_aliases") => aliases(&name, value, &mut entry.aliases, diags),
                _ => {
                    diags.error(
                        key.span,
                        "Invalid required_providers object",
                        "required_providers objects can only contain \"version\", \"source\" and \"configuration_aliases\". \
                         To configure a provider, use a \"provider\" block.",
                    );
                    break;
                }
            }
        }
        // Invalid entries are dropped, so that later checks do not report them again.
        if !diags.0[mark..].iter().any(Diagnostic::is_error) {
            out.insert(name, entry);
        }
    }
    out
}

fn constant_text(expr: &Expr) -> Option<String> {
    let mut ignored = Diagnostics::new();
    constant::of_expr(expr, &mut ignored)?
        .as_str()
        .map(str::to_owned)
}

pub(super) fn version(
    expr: &Expr,
    json: Option<&crate::syntax::json::Node>,
    span: Span,
    diags: &mut Diagnostics,
) -> Option<(Arc<str>, Span)> {
    let text = match json {
        // Strings in JSON are used literally, not as templates.
        Some(node) => node
            .literal()
            .convert(&Type::String)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned)),
        None => constant_text(expr),
    };
    let Some(text) = text else {
        diags.error(
            span,
            "Invalid version constraint",
            "Version must be specified as a string.",
        );
        return None;
    };
    if text.parse::<VersionConstraint>().is_err() {
        diags.error(
            span,
            "Invalid version constraint",
            "This string does not use correct version constraint syntax.",
        );
        return None;
    }
    Some((text.into(), span))
}

fn aliases(name: &str, value: &Expr, out: &mut Vec<(Arc<str>, Span)>, diags: &mut Diagnostics) {
    const SUMMARY: &str = "Invalid configuration_aliases value";
    for item in list(value, diags) {
        let Some(traversal) = super::shared_blocks::plain_reference(item, diags) else {
            continue;
        };
        let alias = match &traversal.steps[..] {
            // The default configuration, which callers must then pass too.
            [] => Some(Arc::from("")),
            [step] => match &step.kind {
                StepKind::Attr(alias) => Some(alias.clone()),
                StepKind::Index(_) => None,
            },
            _ => None,
        };
        match alias {
            None => diags.error(
                value.span,
                SUMMARY,
                "Aliases are given in the format provider.alias, or as the provider's name alone.",
            ),
            Some(_) if *traversal.root != *name => {
                let detail = format!(
                    "Aliases must be prefixed with the provider name. Expected \"{name}\", but found \"{}\".",
                    traversal.root
                );
                diags.error(value.span, SUMMARY, detail);
            }
            Some(alias) => out.push((alias, item.span)),
        }
    }
}

/// Reads a `provider` block.
pub(super) fn provider(block: &Block, diags: &mut Diagnostics) -> Option<ProviderConfig> {
    let schema = BodySchema::new()
        .optional(&[
            "alias",
            "version",
            "for_each",
            "count",
            "depends_on",
            "source",
        ])
        .block("_", &[])
        .block("lifecycle", &[])
        .block("locals", &[]);
    let (content, rest, found) = block.body.partial_content(&schema);
    diags.append(found);
    let name = block.labels[0].text.clone();
    if !check_provider_name(&name, block.def_span, diags) {
        return None;
    }
    let mut provider = ProviderConfig {
        name,
        alias: None,
        for_each: None,
        instances: None,
        body: rest,
        span: block.def_span,
        version: None,
    };
    if let Some(a) = content.attribute("alias") {
        let alias = constant::text(a, diags).unwrap_or_default();
        if !is_identifier(&alias) {
            diags.error(
                a.expr.span,
                "Invalid provider configuration alias",
                format!("An alias must be a valid name. {BAD_NAME}"),
            );
        }
        provider.alias = Some(alias.into());
    }
    if let Some(a) = content.attribute("version") {
        diags.warning(
            a.expr.span,
            "Version constraints inside provider configuration blocks are deprecated",
            "Move the version constraint into the required_providers block.",
        );
        provider.version = version(&a.expr, a.json.as_deref(), a.expr.span, diags);
    }
    if let Some(a) = content.attribute("for_each") {
        if provider.alias.is_none() {
            let detail =
                "The for_each argument is allowed only for provider configurations with an alias.";
            diags.error(
                a.expr.span,
                "Alias required when using \"for_each\"",
                detail,
            );
        }
        provider.for_each = Some((*a.expr).clone());
    }
    for reserved in ["count", "depends_on", "source"] {
        if let Some(a) = content.attribute(reserved) {
            let detail =
                format!("The provider argument name \"{reserved}\" is reserved for future use.");
            diags.error(
                a.name_span,
                "Reserved argument name in provider block",
                detail,
            );
        }
    }
    let mut escaped = false;
    for inner in &content.blocks {
        match &*inner.type_name {
            "_" if escaped => diags.error(
                inner.def_span,
                "Duplicate escaping block",
                "This provider block already has an escaping block.",
            ),
            "_" => {
                escaped = true;
                // An escaping block has provider arguments that are named like meta-arguments.
                provider.body = Body::joined(provider.body, inner.body.clone());
            }
            kind => diags.error(
                inner.type_span,
                "Reserved block type name in provider block",
                format!("The block type name \"{kind}\" is reserved for future use."),
            ),
        }
    }
    Some(provider)
}
