//! Parses `encryption` blocks. [`super::keys`] evaluates them.

use std::sync::Arc;

use super::constant;
use super::encryption_methods::{REMOTE, REMOTE_DEFAULT};
use super::inputs::Inputs;
use super::model::Module;
use crate::body::{Block, Body, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};
use crate::syntax::{self, Expr};

/// Environment variable with additional encryption configuration.
pub const VARIABLE: &str = "TF_ENCRYPTION";

/// An `encryption` block.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// Sources of keys.
    pub(super) key_providers: Vec<Declared>,
    /// Encryption methods.
    pub(super) methods: Vec<Declared>,
    /// Encrypted objects: target name and its block.
    pub(super) targets: Vec<(Arc<str>, Target)>,
    /// The block's header.
    pub span: Span,
}

/// A `key_provider` or `method` block.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) kind: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) body: Body,
    /// Name under which the key's metadata is stored.
    pub(super) metadata: Arc<str>,
}

/// A `state`, `plan`, … block.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) method: Option<Expr>,
    /// Source position for errors about a missing method.
    pub(super) missing: Span,
    pub(super) enforced: bool,
    pub(super) fallback: Option<Box<Target>>,
    pub(super) span: Span,
}

/// Reads an `encryption` block; `None` with errors.
pub(super) fn encryption(block: &Block, diags: &mut Diagnostics) -> Option<Encryption> {
    read(&block.body, block.def_span, diags)
}

/// Merges the encryption configuration of `TF_ENCRYPTION`, in native syntax or JSON, over that of
/// the root module.
pub(super) fn with_environment(
    root: &mut Module,
    inputs: &Inputs,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) {
    let text = inputs.encryption.trim();
    if text.is_empty() {
        return;
    }
    // Private, because it may contain a passphrase.
    let file = sources.add_private(format!("<{VARIABLE}>"), text);
    let mark = diags.len();
    // A body in native syntax cannot begin with a brace.
    let body = if text.starts_with('{') {
        let (node, found) = syntax::json::parse(text, file);
        diags.append(found);
        Body::json(node)
    } else {
        let (body, found) = syntax::parse_file(text, file);
        diags.append(found);
        Body::native(Arc::new(body))
    };
    if diags.0[mark..].iter().any(Diagnostic::is_error) {
        return;
    }
    if let Some(said) = read(&body, Span::new(file, 0, text.len()), diags) {
        root.encryption = Some(match root.encryption.take() {
            Some(base) => merged(base, said),
            None => said,
        });
    }
}

fn read(body: &Body, span: Span, diags: &mut Diagnostics) -> Option<Encryption> {
    let schema = BodySchema::new()
        .block("key_provider", &["type", "name"])
        .block("method", &["type", "name"])
        .block("state", &[])
        .block("plan", &[])
        .block("remote_state_data_sources", &[]);
    let mark = diags.len();
    let (content, found) = body.content(&schema);
    diags.append(found);
    let mut out = Encryption {
        key_providers: Vec::new(),
        methods: Vec::new(),
        targets: Vec::new(),
        span,
    };
    for kind in ["state", "plan", "remote_state_data_sources"] {
        require_single(content.blocks_of(kind), kind, diags);
    }
    for inner in &content.blocks {
        match &*inner.type_name {
            "key_provider" => {
                out.key_providers
                    .push(declared(inner, &["encrypted_metadata_alias"], diags))
            }
            "method" => out.methods.push(declared(inner, &[], diags)),
            "remote_state_data_sources" => remotes(inner, &mut out, diags),
            kind => out.targets.push((kind.into(), target(inner, true, diags))),
        }
    }
    report_duplicates(&out.key_providers, "key_provider", out.span, diags);
    report_duplicates(&out.methods, "method", out.span, diags);
    (!diags.0[mark..].iter().any(Diagnostic::is_error)).then_some(out)
}

fn require_single<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    kind: &str,
    diags: &mut Diagnostics,
) {
    for again in blocks.skip(1) {
        diags.error(
            again.def_span,
            format!("Duplicate {kind} block"),
            format!("Only one {kind} block is allowed."),
        );
    }
}

/// Parses a declared block; `own` lists its constant arguments.
fn declared(block: &Block, own: &[&str], diags: &mut Diagnostics) -> Declared {
    let (content, body, found) = block.body.partial_content(&BodySchema::new().optional(own));
    diags.append(found);
    let mut alias = None;
    for attribute in content.attributes.values() {
        alias = constant::text(attribute, diags).or(alias);
    }
    for label in &block.labels {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if label.text.is_empty() || !label.text.chars().all(fits) {
            let detail = format!(
                "{:?} is not a valid name for a {}. Use only letters, digits, underscores and \
                dashes.",
                &*label.text, block.type_name
            );
            diags.push(Diagnostic::error(
                format!("Invalid {} name", block.type_name),
                detail,
            ));
        }
    }
    let (kind, name) = (block.labels[0].text.clone(), block.labels[1].text.clone());
    let own = || format!("{}.{kind}.{name}", block.type_name);
    Declared {
        metadata: alias.map_or_else(|| own().into(), |alias| alias.to_string().into()),
        kind,
        name,
        body,
    }
}

fn report_duplicates(all: &[Declared], kind: &str, span: Span, diags: &mut Diagnostics) {
    for (at, one) in all.iter().enumerate() {
        if all[..at]
            .iter()
            .any(|other| other.kind == one.kind && other.name == one.name)
        {
            diags.error(
                span,
                format!("Duplicate {kind}"),
                format!("{kind}.{}.{} is declared twice.", one.kind, one.name),
            );
        }
    }
}

fn target(block: &Block, enforceable: bool, diags: &mut Diagnostics) -> Target {
    let schema = BodySchema::new()
        .optional(if enforceable {
            &["method", "enforced"]
        } else {
            &["method"]
        })
        .block("fallback", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    // Chains of fallbacks nest, so each level has at most one.
    require_single(content.blocks_of("fallback"), "fallback", diags);
    Target {
        method: content.attribute("method").map(|a| (*a.expr).clone()),
        missing: content.missing,
        enforced: content
            .attribute("enforced")
            .is_some_and(|a| constant::flag(a, diags).unwrap_or_default()),
        fallback: content
            .blocks_of("fallback")
            .next()
            .map(|inner| Box::new(target(inner, false, diags))),
        span: block.def_span,
    }
}

fn remotes(block: &Block, out: &mut Encryption, diags: &mut Diagnostics) {
    let schema = BodySchema::new()
        .block("default", &[])
        .block("remote_state_data_source", &["name"]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    require_single(content.blocks_of("default"), "default", diags);
    for inner in &content.blocks {
        let word: Arc<str> = match inner.labels.first() {
            None => REMOTE_DEFAULT.into(),
            Some(label) => format!("{REMOTE}{}", label.text).into(),
        };
        // A second `default` block is already reported.
        if !inner.labels.is_empty() && out.targets.iter().any(|(seen, _)| *seen == word) {
            diags.error(
                out.span,
                "Duplicate remote_data_source",
                format!("{word} is declared twice."),
            );
        }
        out.targets.push((word, target(inner, false, diags)));
    }
}

/// Adds the blocks of one file to the module. Normal files may have one block; blocks of override
/// files replace its parts.
pub(super) fn add_blocks(
    module: &mut Module,
    own: Vec<Encryption>,
    is_override: bool,
    diags: &mut Diagnostics,
) {
    for (at, one) in own.into_iter().enumerate() {
        let again = if is_override {
            at > 0
        } else {
            module.encryption.is_some()
        };
        if again {
            diags.error(
                one.span,
                "Duplicate encryption configuration",
                "A module may have only one encryption block.",
            );
            continue;
        }
        module.encryption = Some(match module.encryption.take() {
            Some(base) => merged(base, one),
            None => one,
        });
    }
}

fn merged(mut base: Encryption, over: Encryption) -> Encryption {
    let declared = |base: &mut Vec<Declared>, over: Vec<Declared>| {
        for one in over {
            match base
                .iter_mut()
                .find(|b| b.kind == one.kind && b.name == one.name)
            {
                Some(own) => own.body = Body::merged(own.body.clone(), one.body),
                None => base.push(one),
            }
        }
    };
    declared(&mut base.key_providers, over.key_providers);
    declared(&mut base.methods, over.methods);
    for (word, one) in over.targets {
        match base.targets.iter_mut().find(|(seen, _)| *seen == word) {
            Some((_, own)) => {
                // An override may add enforcement but never remove it.
                own.enforced |= one.enforced;
                own.method = one.method.or(own.method.take());
                own.fallback = one.fallback.or(own.fallback.take());
            }
            None => base.targets.push((word, one)),
        }
    }
    base
}
