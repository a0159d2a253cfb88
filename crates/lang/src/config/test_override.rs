//! Overrides and mock providers of test files.

use std::sync::Arc;

use cty::Type;

use super::constant;
use super::shared_blocks::{BAD_NAME, check_provider_name, plain_reference, static_expr};
use crate::addr::Target;
use crate::body::{Attribute, Block, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::{Step, StepKind, is_identifier};

/// Override of an object's values, in a run or in all runs of a file.
pub(super) struct Override {
    kind: Arc<str>,
    target: String,
    span: Span,
}

const OVERRIDES: [&str; 3] = ["override_resource", "override_data", "override_module"];

/// Adds the override blocks to a schema.
pub(super) fn with_overrides(schema: BodySchema) -> BodySchema {
    OVERRIDES
        .iter()
        .fold(schema, |schema, kind| schema.block(kind, &[]))
}

fn failed(diags: &Diagnostics, mark: usize) -> bool {
    diags.0[mark..].iter().any(Diagnostic::is_error)
}

/// Parses an override block.
pub(super) fn override_block(block: &Block, diags: &mut Diagnostics) -> Option<Override> {
    let mark = diags.len();
    let of_module = &*block.type_name == "override_module";
    let values = if of_module { "outputs" } else { "values" };
    let schema = BodySchema::new().required(&["target"]).optional(&[values]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let target = content
        .attribute("target")
        .and_then(|a| target(a, of_module, diags));
    if let Some(a) = content.attribute(values) {
        object(a, diags);
    }
    let (target, span) = target?;
    (!failed(diags, mark)).then(|| Override {
        kind: block.type_name.clone(),
        target,
        span,
    })
}

/// Target of an override, a resource or module without keys: its text and source position.
fn target(
    attribute: &Attribute,
    of_module: bool,
    diags: &mut Diagnostics,
) -> Option<(String, Span)> {
    let expr = static_expr(attribute, diags);
    let traversal = plain_reference(&expr, diags)?;
    let found = match Target::from_traversal(&traversal) {
        Ok(found) => found,
        Err(error) => {
            diags.push(error);
            return None;
        }
    };
    // Only the first key is reported.
    if let Some(step) = traversal.steps.iter().find(|s| is_key(s)) {
        let detail = "The override applies to all instances. Remove the key.";
        let summary = "Instance address with keys is not allowed";
        diags.error(step.span, summary, detail);
        return None;
    }
    let module = match &found {
        Target::Module(module) => module,
        Target::Resource(resource) => &resource.module,
        Target::Instance(instance) => &instance.module,
    };
    match (&found, of_module) {
        (Target::Module(_), true) | (Target::Resource(_), false) => {
            Some((found.to_string(), traversal.span()))
        }
        (Target::Module(_), false) => {
            let detail = "This override needs the address of a resource or data source, but this \
                is the address of a module.";
            diags.error(traversal.span(), "Module address is not allowed", detail);
            None
        }
        _ => {
            // Place of the first step after the module's own steps.
            let at = (2 * module.0.len()).checked_sub(1);
            let span = at.map_or(traversal.root_span, |at| traversal.steps[at].span);
            let detail = "This override needs the address of a module, but this is the address of \
                an object in it.";
            diags.error(span, "Module address expected", detail);
            None
        }
    }
}

pub(super) fn is_key(step: &Step) -> bool {
    matches!(step.kind, StepKind::Index(_))
}

/// Checks a constant object of values.
fn object(attribute: &Attribute, diags: &mut Diagnostics) {
    let value = constant::value(attribute, diags);
    if value.is_some_and(|value| !matches!(value.ty(), Type::Object(_))) {
        diags.error(
            attribute.span,
            "Object expected",
            format!("\"{}\" must be an object.", attribute.name),
        );
    }
}

/// Parses a `mock_provider` block; `seen` has the earlier ones.
pub(super) fn mock_provider(block: &Block, seen: &mut Vec<String>, diags: &mut Diagnostics) {
    let mark = diags.len();
    let schema = BodySchema::new()
        .optional(&["alias", "for_each"])
        .block("mock_resource", &["type"])
        .block("mock_data", &["type"])
        .block("override_resource", &[])
        .block("override_data", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let mut name = block.labels[0].text.to_string();
    if !check_provider_name(&name, block.def_span, diags) {
        return;
    }
    let alias = content.attribute("alias");
    if let Some(a) = alias {
        let alias = constant::text(a, diags).unwrap_or_default();
        if !is_identifier(&alias) {
            let detail = format!("An alias must be a valid name. {BAD_NAME}");
            let summary = "Invalid mock provider configuration alias";
            diags.error(a.expr.span, summary, detail);
        }
        name = format!("{name}.{alias}");
    }
    if let (Some(a), None) = (content.attribute("for_each"), alias) {
        let detail =
            "The for_each argument is allowed only for provider configurations with an alias.";
        let summary = "Alias required when using \"for_each\"";
        diags.error(a.expr.span, summary, detail);
    }
    let mut inside: Vec<(Arc<str>, String)> = Vec::new();
    for inner in &content.blocks {
        let of = match &*inner.type_name {
            "mock_resource" | "mock_data" => mock_resource(inner, diags),
            // The target decides, not the block type.
            _ => override_block(inner, diags).map(|o| ("".into(), o.target)),
        };
        let Some(of) = of else { continue };
        if inside.contains(&of) {
            let detail = format!("This mock_provider already has a block for {}.", of.1);
            let summary = format!("Duplicated {} block", inner.type_name);
            diags.error(block.def_span, summary, detail);
        }
        inside.push(of);
    }
    if failed(diags, mark) {
        return;
    }
    if seen.contains(&name) {
        let detail = format!("{name} is already mocked in this file.");
        diags.error(block.def_span, "Duplicated mock_provider block", detail);
    }
    seen.push(name);
}

fn mock_resource(block: &Block, diags: &mut Diagnostics) -> Option<(Arc<str>, String)> {
    let mark = diags.len();
    let (content, found) = block
        .body
        .content(&BodySchema::new().optional(&["defaults"]));
    diags.append(found);
    if let Some(a) = content.attribute("defaults") {
        object(a, diags);
    }
    let name = block.labels[0].text.to_string();
    (!failed(diags, mark)).then(|| (block.type_name.clone(), name))
}

/// Reports several overrides of one object.
pub(super) fn report_duplicates(overrides: &[Override], diags: &mut Diagnostics) {
    for (at, one) in overrides.iter().enumerate() {
        let is_module = |o: &Override| &*o.kind == "override_module";
        let same = |o: &&Override| is_module(o) == is_module(one) && o.target == one.target;
        if overrides[..at].iter().any(|o| same(&o)) {
            let detail = format!("There is already an override for {}.", one.target);
            let summary = format!("Duplicated {} block", one.kind);
            diags.error(one.span, summary, detail);
        }
    }
}
