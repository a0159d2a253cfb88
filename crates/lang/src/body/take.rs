//! Extracts the items named by a schema from every body variant.

use std::sync::Arc;

use indexmap::IndexMap;

use super::forms::{Body, Kind, Names};
use super::json::{json_attribute, take_json};
use super::native::take_native;
use super::schema::{Block, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::syntax::Attribute;
use crate::syntax::json::NodeKind;

impl Body {
    pub(super) fn take_all(
        &self,
        out: &mut IndexMap<Arc<str>, Attribute>,
        diags: &mut Diagnostics,
    ) {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => {
                // Like HCL, this reports only the first block.
                if let Some(block) = body
                    .blocks
                    .iter()
                    .find(|b| !hidden_blocks.contains(&b.type_name))
                {
                    diags.error(
                        block.type_span,
                        format!("Unexpected \"{}\" block", block.type_name),
                        "Blocks are not allowed here.",
                    );
                }
                for (name, attribute) in &body.attributes {
                    if !hidden_attributes.contains(name) {
                        out.insert(name.clone(), attribute.clone());
                    }
                }
            }
            Kind::Json { node, hidden } => {
                let NodeKind::Object(properties) = &node.kind else {
                    diags.error(
                        node.start_span(),
                        "Incorrect JSON value type",
                        "A JSON object is required here, setting the arguments for this block.",
                    );
                    return;
                };
                let mut seen = Names::new();
                for property in properties
                    .iter()
                    // A property named `//` is a comment.
                    .filter(|p| &*p.name != "//" && !hidden.contains(&p.name))
                {
                    if !seen.insert(property.name.clone()) {
                        let detail = format!("The argument \"{}\" was already set.", property.name);
                        diags.error(property.name_span, "Duplicate attribute definition", detail);
                        continue;
                    }
                    out.insert(property.name.clone(), json_attribute(property, diags));
                }
            }
            Kind::Merged { base, over, .. } => {
                base.take_all(out, diags);
                over.take_all(out, diags);
            }
            Kind::Joined { first, second } => {
                first.take_all(out, diags);
                let mut more = IndexMap::new();
                second.take_all(&mut more, diags);
                join_attributes(out, more, diags);
            }
            Kind::WithBlock { body, .. } => body.take_all(out, diags),
            Kind::Empty(_) => {}
        }
    }

    pub(super) fn take(&self, schema: &BodySchema, diags: &mut Diagnostics) -> (Content, Body) {
        let missing = self.missing_span();
        let mut content = Content {
            attributes: IndexMap::new(),
            blocks: Vec::new(),
            missing,
        };
        let rest = match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => take_native(
                body,
                hidden_attributes,
                hidden_blocks,
                schema,
                &mut content,
                diags,
            ),
            Kind::Json { node, hidden } => take_json(node, hidden, schema, &mut content, diags),
            Kind::Merged {
                base,
                over,
                lenient,
            } => {
                let (base_rest, over_rest) =
                    take_overridden(base, over, schema, &mut content, diags);
                match lenient {
                    true => Body::overridden(base_rest, over_rest),
                    false => Body::merged(base_rest, over_rest),
                }
            }
            Kind::Joined { first, second } => {
                let (first_content, first_rest) = first.take(schema, diags);
                let (second_content, second_rest) = second.take(schema, diags);
                content.attributes = first_content.attributes;
                join_attributes(&mut content.attributes, second_content.attributes, diags);
                content.blocks = first_content.blocks;
                content.blocks.extend(second_content.blocks);
                Body::joined(first_rest, second_rest)
            }
            Kind::WithBlock { body, block, taken } => {
                let (inner, rest) = body.take(schema, diags);
                let wanted = schema.blocks.iter().any(|(t, _)| *t == block.type_name);
                content.attributes = inner.attributes;
                content.blocks = inner.blocks;
                // All blocks of the type go, and the replacement is returned once.
                content.blocks.retain(|b| b.type_name != block.type_name);
                if wanted && !taken {
                    content.blocks.push((**block).clone());
                }
                Body(Kind::WithBlock {
                    body: Box::new(rest),
                    block: block.clone(),
                    taken: *taken || wanted,
                })
            }
            Kind::Empty(span) => Body::empty(*span),
        };
        (content, rest)
    }
}

fn join_attributes(
    out: &mut IndexMap<Arc<str>, Attribute>,
    more: IndexMap<Arc<str>, Attribute>,
    diags: &mut Diagnostics,
) {
    for (name, attribute) in more {
        if out.contains_key(&name) {
            diags.error(
                attribute.name_span,
                "Duplicate argument",
                format!("Argument \"{name}\" was already set."),
            );
        } else {
            out.insert(name, attribute);
        }
    }
}

/// Type of a block, or of the blocks that a `dynamic` block makes.
fn made_type(block: &Block) -> &Arc<str> {
    match block.labels.first() {
        Some(label) if &*block.type_name == "dynamic" => &label.text,
        _ => &block.type_name,
    }
}

/// Takes the items of both bodies, where those of the second replace those of the first. Returns
/// the two bodies without these items.
fn take_overridden(
    base: &Body,
    over: &Body,
    schema: &BodySchema,
    content: &mut Content,
    diags: &mut Diagnostics,
) -> (Body, Body) {
    let (base_content, base_rest) = base.take(schema, diags);
    let (over_content, over_rest) = over.take(schema, diags);
    content.attributes = base_content.attributes;
    // A replaced argument keeps its position in the order.
    for (name, attribute) in over_content.attributes {
        content.attributes.insert(name, attribute);
    }
    // A `dynamic` block counts as a block of the type that it makes.
    let replaced: Names = over_content.blocks.iter().map(made_type).cloned().collect();
    content.blocks = base_content.blocks;
    content
        .blocks
        .retain(|b| !replaced.contains(made_type(b)) && !replaced.contains(&b.type_name));
    content.blocks.extend(over_content.blocks);
    (base_rest, over_rest)
}
