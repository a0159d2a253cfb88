//! Checks the steps of a reference after the object's name against the object's schema.

use cty::Value;
use cty::schema::{Block, NestedBlock, Nesting};

use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{apply_steps, closest};
use crate::syntax::{Step, StepKind};

/// Error at the first step that no object of this schema has.
pub fn traversal_fault(schema: &Block, steps: &[Step]) -> Option<Diagnostic> {
    let (step, rest) = steps.split_first()?;
    let StepKind::Attr(name) = &step.kind else {
        let detail = "Only attribute access is allowed here, using the dot operator.";
        return Some(Diagnostic::error("Invalid index operation", detail).at(step.span));
    };
    if let Some(attribute) = schema.attributes.get(&**name) {
        // Only the type matters, so an unknown value of it stands in for the object's.
        let (_, diags) = apply_steps(
            Value::unknown(attribute.implied_type()),
            rest,
            Diagnostics::new(),
        );
        return diags.into_iter().next();
    }
    if let Some(nested) = schema.blocks.get(&**name) {
        return in_blocks(name, nested, rest);
    }
    let hint = closest(
        name,
        schema
            .attributes
            .keys()
            .chain(schema.blocks.keys())
            .map(|name| &**name),
    );
    let hint = hint
        .map(|close| format!(" Did you mean {close:?}?"))
        .unwrap_or_default();
    let detail = format!(
        "This object has no argument, nested block, or exported attribute named {name:?}.{hint}"
    );
    Some(Diagnostic::error("Unsupported attribute", detail).at(step.span))
}

fn in_blocks(name: &str, nested: &NestedBlock, steps: &[Step]) -> Option<Diagnostic> {
    if matches!(nested.nesting, Nesting::Single | Nesting::Group) {
        return traversal_fault(&nested.block, steps);
    }
    let (step, rest) = steps.split_first()?;
    match (nested.nesting, &step.kind) {
        (Nesting::Set, _) => {
            let detail = format!(
                "Blocks of type {name:?} form a set of objects, whose elements have no keys. Use \
                a \"for\" expression with an \"if\" clause to select elements."
            );
            Some(Diagnostic::error("Cannot index a set value", detail).at(step.span))
        }
        (Nesting::List, StepKind::Attr(_)) => {
            let detail = format!(
                "Blocks of type {name:?} form a list of objects. Select one by its index, as in \
                .{name}[0]."
            );
            Some(Diagnostic::error("Invalid operation", detail).at(step.span))
        }
        _ => traversal_fault(&nested.block, rest),
    }
}
