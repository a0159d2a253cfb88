//! Reads arguments and blocks from bodies in native syntax.

use std::sync::Arc;

use super::forms::{Body, Kind, Names};
use super::schema::{Block, BodySchema, Content};
use crate::diag::{Diagnostic, Diagnostics};
use crate::syntax::{NativeBlock, NativeBody};

pub(super) fn take_native(
    body: &Arc<NativeBody>,
    hidden_attributes: &Arc<Names>,
    hidden_blocks: &Arc<Names>,
    schema: &BodySchema,
    content: &mut Content,
    diags: &mut Diagnostics,
) -> Body {
    let mut attributes_now = (**hidden_attributes).clone();
    for (name, attribute) in &body.attributes {
        let wanted = schema.attributes.iter().any(|(n, _)| n == name);
        if wanted && !hidden_attributes.contains(name) {
            content.attributes.insert(name.clone(), attribute.clone());
            attributes_now.insert(name.clone());
        }
    }
    let mut blocks_now = (**hidden_blocks).clone();
    for block in &body.blocks {
        let Some((_, labels)) = schema.blocks.iter().find(|(t, _)| *t == block.type_name) else {
            continue;
        };
        if !hidden_blocks.contains(&block.type_name) && labels_fit(block, labels, diags) {
            content.blocks.push(Block {
                type_name: block.type_name.clone(),
                type_span: block.type_span,
                labels: block.labels.clone(),
                body: Body::native(block.body.clone()),
                def_span: block.header(),
            });
        }
    }
    // Hidden even if the labels do not fit, so that a block is reported only once.
    blocks_now.extend(schema.blocks.iter().map(|(t, _)| t.clone()));
    Body(Kind::Native {
        body: body.clone(),
        hidden_attributes: Arc::new(attributes_now),
        hidden_blocks: Arc::new(blocks_now),
    })
}

fn labels_fit(block: &NativeBlock, want: &[Arc<str>], diags: &mut Diagnostics) -> bool {
    let name = &block.type_name;
    let context = block.type_span.to(block.open);
    if let Some(extra) = block.labels.get(want.len()) {
        let detail = match want.len() {
            0 => format!("No labels are expected for {name} blocks."),
            n => format!(
                "Only {n} labels ({}) are expected for {name} blocks.",
                want.join(", ")
            ),
        };
        diags.push(
            Diagnostic::error(format!("Extraneous label for {name}"), detail)
                .at(extra.span)
                .within(context),
        );
        return false;
    }
    if let Some(missing) = want.get(block.labels.len()) {
        let detail = format!(
            "All {name} blocks must have {} labels ({}).",
            want.len(),
            want.join(", ")
        );
        diags.push(
            Diagnostic::error(format!("Missing {missing} for {name}"), detail)
                .at(block.open)
                .within(context),
        );
        return false;
    }
    true
}
