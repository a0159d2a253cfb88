//! Reads arguments and blocks from JSON values. The schema decides if an object is an argument or a
//! block.

use std::sync::Arc;

use super::forms::{Body, Kind, Names};
use super::schema::{Block, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::json::{Node, NodeKind, Property};
use crate::syntax::{Attribute, Label};

pub(super) fn take_json(
    node: &Arc<Node>,
    hidden: &Arc<Names>,
    schema: &BodySchema,
    content: &mut Content,
    diags: &mut Diagnostics,
) -> Body {
    let mut hidden_now = (**hidden).clone();
    for property in deep_properties(node, None, diags) {
        // Hidden names were taken by an earlier reader of the same node.
        let name = &property.name;
        if hidden.contains(name) {
            continue;
        }
        if schema.attributes.iter().any(|(n, _)| n == name) {
            hidden_now.insert(name.clone());
            if content.attributes.contains_key(name) {
                diags.error(
                    property.name_span,
                    "Duplicate argument",
                    format!("The argument \"{name}\" was already set."),
                );
                continue;
            }
            let attribute = json_attribute(property, diags);
            content.attributes.insert(name.clone(), attribute);
        } else if let Some((type_name, labels)) = schema.blocks.iter().find(|(t, _)| t == name) {
            hidden_now.insert(name.clone());
            let header = JsonHeader {
                type_name,
                type_span: property.name_span,
                labels,
            };
            unpack(
                &property.value,
                &header,
                &mut Vec::new(),
                &mut content.blocks,
                diags,
            );
        }
    }
    Body(Kind::Json {
        node: node.clone(),
        hidden: Arc::new(hidden_now),
    })
}

pub(super) fn json_attribute(property: &Property, diags: &mut Diagnostics) -> Attribute {
    Attribute {
        name: property.name.clone(),
        name_span: property.name_span,
        span: property.name_span.to(property.value.span),
        expr: Arc::new(property.value.to_expr(diags)),
        json: Some(property.value.clone()),
    }
}

struct JsonHeader<'a> {
    pub(super) type_name: &'a Arc<str>,
    pub(super) type_span: Span,
    pub(super) labels: &'a [Arc<str>],
}

/// Reads a JSON value as blocks: one object level per label, then an object or an array of objects.
fn unpack(
    node: &Arc<Node>,
    header: &JsonHeader<'_>,
    labels: &mut Vec<Label>,
    out: &mut Vec<Block>,
    diags: &mut Diagnostics,
) {
    let type_name = header.type_name;
    if let Some(label) = header.labels.get(labels.len()) {
        let properties = deep_properties(node, Some(label), diags);
        if properties.is_empty() {
            diags.error(
                node.start_span(),
                "Missing block label",
                format!("At least one object property is required, whose name represents the {type_name} block's {label}."),
            );
        }
        for property in properties {
            labels.push(Label {
                text: property.name.clone(),
                span: property.name_span,
            });
            unpack(&property.value, header, labels, out, diags);
            labels.pop();
        }
        return;
    }
    let bodies: Vec<&Arc<Node>> = match &node.kind {
        // `null` stands for no blocks.
        NodeKind::Null => return,
        NodeKind::Object(_) => vec![node],
        NodeKind::Array(items) => items.iter().collect(),
        _ => {
            diags.error(
                node.start_span(),
                "Incorrect JSON value type",
                format!(
                    "Either a JSON object or a JSON array is required, representing the contents of one or more \"{type_name}\" blocks."
                ),
            );
            return;
        }
    };
    out.extend(bodies.into_iter().map(|body| Block {
        type_name: type_name.clone(),
        type_span: header.type_span,
        labels: labels.clone(),
        body: Body::json(body.clone()),
        def_span: node.start_span(),
    }));
}

/// Properties of an object, or of all objects in an array.
pub(super) fn deep_properties<'a>(
    node: &'a Node,
    label: Option<&str>,
    diags: &mut Diagnostics,
) -> Vec<&'a Property> {
    let wrong = |node: &Node, either: &str, diags: &mut Diagnostics| {
        let purpose = match label {
            Some(label) => format!("to specify {label} labels for this block"),
            None => "to define arguments and child blocks".to_owned(),
        };
        diags.error(
            node.start_span(),
            "Incorrect JSON value type",
            format!("{either} is required here, {purpose}."),
        );
    };
    let mut out = Vec::new();
    match &node.kind {
        // The parser has already reported an invalid node.
        NodeKind::Null | NodeKind::Invalid => {}
        NodeKind::Object(properties) => out.extend(properties),
        NodeKind::Array(items) => {
            for item in items {
                match &item.kind {
                    NodeKind::Object(properties) => out.extend(properties),
                    _ => wrong(item, "A JSON object", diags),
                }
            }
        }
        _ => wrong(node, "Either a JSON object or JSON array of objects", diags),
    }
    out
}
