//! `variable`, `locals` and `output` blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use super::model::{Local, Output, TypeConstraint, Variable};
use super::overridden::Part;
use super::shared_blocks::{BAD_NAME, check_name, condition, depends_on};
use super::{constant, types, unused_attributes};
use crate::addr::{Reference, Subject};
use crate::body::{Attribute, Block, Body, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, is_identifier};

/// Meta-arguments of `module` blocks, which cannot be names of variables.
const RESERVED: [&str; 10] = [
    "source",
    "version",
    "count",
    "for_each",
    "depends_on",
    "providers",
    "_",
    "lifecycle",
    "locals",
    "provider",
];

pub(super) fn variable_schema() -> BodySchema {
    BodySchema::new()
        .optional(&[
            "description",
            "default",
            "type",
            "sensitive",
            "ephemeral",
            "const",
            "deprecated",
            "nullable",
        ])
        .block("validation", &[])
}

/// Parses a variable. For a merged block, `merged` has the body of the normal files and the header
/// of the last override.
pub(super) fn variable(
    block: &Block,
    merged: Option<(&Body, Span)>,
    diags: &mut Diagnostics,
) -> Variable {
    let (content, found) = block.body.content(&variable_schema());
    diags.append(found);
    let label = &block.labels[0];
    check_name(label, "variable name", diags);
    if RESERVED.contains(&&*label.text) {
        let detail = format!(
            "The variable name \"{}\" is reserved due to its special meaning inside module blocks.",
            label.text
        );
        diags.error(label.span, "Invalid variable name", detail);
    }
    let mut variable = Variable {
        name: label.text.clone(),
        ty: TypeConstraint::any(),
        typed: false,
        default: None,
        default_span: None,
        description: String::new(),
        sensitive: false,
        ephemeral: false,
        constant: None,
        nullable: true,
        deprecated: None,
        validations: Vec::new(),
        span: block.def_span,
    };
    if let Some(a) = content.attribute("description") {
        variable.description = constant::text(a, diags).unwrap_or_default();
    }
    if let Some(a) = content.attribute("type") {
        variable.ty = types::of_attribute(a, diags);
        variable.typed = true;
        // An override may change the type, but defaults inside the type stay those of the normal
        // files.
        if let Some((base, _)) = merged {
            let (content, _, _) = base.partial_content(&BodySchema::new().optional(&["type"]));
            let before = content
                .attribute("type")
                .map(|a| types::of_attribute(a, &mut Diagnostics::new()));
            variable.ty.defaults = before.and_then(|ty| ty.defaults);
        }
    }
    if let Some(a) = content.attribute("sensitive") {
        variable.sensitive = constant::flag(a, diags).unwrap_or(false);
    }
    if let Some(a) = content.attribute("ephemeral") {
        variable.ephemeral = constant::flag(a, diags).unwrap_or(false);
    }
    if let Some(a) = content.attribute("const") {
        variable.constant = constant::flag(a, diags);
    }
    if let Some(a) = content.attribute("nullable") {
        variable.nullable = constant::flag(a, diags).unwrap_or(false);
    }
    if let Some(a) = content.attribute("deprecated") {
        variable.deprecated = deprecated(a, label.span, diags);
    }
    if let Some(a) = content.attribute("default") {
        let value = constant::value(a, diags);
        let place = merged.map_or(a.expr.span, |(_, header)| header);
        variable.default_span = Some(a.expr.span);
        // An invalid default still makes the variable optional, to avoid a second error.
        variable.default =
            Some(value.map_or_else(Value::dynamic, |v| default(&v, &variable, place, diags)));
        unused_attributes::warn(&variable.name, a, &variable.ty.ty, diags);
    }
    validations(&content, &mut variable, diags);
    variable
}

fn deprecated(a: &Attribute, label: Span, diags: &mut Diagnostics) -> Option<String> {
    let text = constant::text(a, diags);
    if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        diags.error(
            label,
            "Invalid `deprecated` value",
            "The \"deprecated\" argument must not be empty. Describe the replacement.",
        );
    }
    text
}

fn validations(content: &Content, variable: &mut Variable, diags: &mut Diagnostics) {
    for block in content.blocks_of("validation") {
        if let Some(rule) = condition(block, false, diags) {
            // `condition` has already reported a condition without references.
            if !refers_to(&rule.condition, &variable.name)
                && !rule.condition.traversals().is_empty()
            {
                let name = &variable.name;
                diags.error(
                    rule.condition.span,
                    "Invalid variable validation condition",
                    format!("The condition for variable \"{name}\" must refer to var.{name} in order to test incoming values."),
                );
            }
            variable.validations.push(rule);
        }
    }
}

fn default(value: &Value, variable: &Variable, place: Span, diags: &mut Diagnostics) -> Value {
    const SUMMARY: &str = "Invalid default value for variable";
    let converted = match variable.ty.convert(value) {
        Ok(value) => value,
        Err(error) => {
            let detail = format!(
                "This default value is not compatible with the variable's type constraint: {error}."
            );
            diags.error(place, SUMMARY, detail);
            return Value::dynamic();
        }
    };
    if !variable.nullable && converted.is_null() {
        diags.error(
            place,
            SUMMARY,
            "A null default value is not valid when nullable=false.",
        );
    }
    converted
}

fn refers_to(expr: &Expr, variable: &str) -> bool {
    expr.traversals()
        .into_iter()
        .any(|t| matches!(Reference::parse(t), Ok(Reference { subject: Subject::Variable(name), .. }) if &*name == variable))
}

/// Reads the arguments of a `locals` block.
pub(super) fn locals(body: &Body, diags: &mut Diagnostics) -> Vec<(Arc<str>, Local)> {
    let (attributes, found) = body.just_attributes();
    diags.append(found);
    let mut out = Vec::with_capacity(attributes.len());
    for (name, attribute) in attributes {
        if !is_identifier(&name) {
            diags.error(attribute.name_span, "Invalid local value name", BAD_NAME);
        }
        out.push((
            name,
            Local {
                expr: (*attribute.expr).clone(),
                span: attribute.span,
            },
        ));
    }
    out
}

/// Reads an output.
pub(super) fn output(block: &Block, part: Part, diags: &mut Diagnostics) -> Output {
    let schema = BodySchema::new().optional(&["description"]);
    let schema = match part {
        Part::Whole => schema.required(&["value"]),
        Part::Override => schema.optional(&["value"]),
    };
    let schema = schema
        .optional(&["depends_on", "sensitive", "ephemeral", "deprecated"])
        .block("precondition", &[])
        .block("postcondition", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let label = &block.labels[0];
    check_name(label, "output name", diags);
    let mut output = Output {
        name: label.text.clone(),
        // A missing value is already reported, and an override need not have one.
        value: content.attribute("value").map_or(
            Expr {
                kind: ExprKind::Error,
                span: content.missing,
            },
            |a| (*a.expr).clone(),
        ),
        description: String::new(),
        sensitive: false,
        ephemeral: false,
        deprecated: None,
        depends_on: depends_on(&content, diags),
        preconditions: Vec::new(),
        span: block.def_span,
    };
    if let Some(a) = content.attribute("description") {
        output.description = constant::text(a, diags).unwrap_or_default();
    }
    if let Some(a) = content.attribute("sensitive") {
        output.sensitive = constant::flag(a, diags).unwrap_or(false);
    }
    if let Some(a) = content.attribute("ephemeral") {
        output.ephemeral = constant::flag(a, diags).unwrap_or(false);
    }
    if let Some(a) = content.attribute("deprecated") {
        output.deprecated = constant::text(a, diags);
        if output
            .deprecated
            .as_deref()
            .is_some_and(|text| text.trim().is_empty())
        {
            let detail = "The \"deprecated\" argument must not be empty. Describe the replacement.";
            diags.error(a.expr.span, "Invalid `deprecated` attribute", detail);
        }
    }
    for block in &content.blocks {
        if &*block.type_name == "postcondition" {
            let detail = "Output values can only have preconditions, not postconditions.";
            diags.error(block.type_span, "Postconditions are not allowed", detail);
        } else {
            output.preconditions.extend(condition(block, false, diags));
        }
    }
    output
}

/// Reports condition blocks in an override file.
pub(super) fn no_override_of_conditions(body: &Body, kinds: &[&str], diags: &mut Diagnostics) {
    let schema = kinds
        .iter()
        .fold(BodySchema::new(), |schema, kind| schema.block(kind, &[]));
    let (content, _, _) = body.partial_content(&schema);
    for block in &content.blocks {
        condition(block, true, diags);
    }
}

/// Map by name.
pub(super) type Named<T> = BTreeMap<Arc<str>, T>;
