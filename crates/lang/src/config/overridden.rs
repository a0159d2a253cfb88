//! Parses a declaration that override files change: first each of its blocks alone, so that errors
//! name the block's own source position, then all of them merged.

use super::draft::Slot;
use super::link::LINK;
use super::model::Variable;
use super::values;
use crate::body::{Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::source::Span;

/// Share of a declaration that a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Complete declaration: required arguments must be present.
    Whole,
    /// The changes of an override file.
    Override,
}

impl Slot {
    /// Parses the declaration. Errors come from the single blocks; those of the merged body are
    /// dropped.
    pub(super) fn read<T>(
        &self,
        merge: &dyn Fn(&Body, &Body) -> Body,
        read: &dyn Fn(&Block, Part, &mut Diagnostics) -> T,
        diags: &mut Diagnostics,
    ) -> T {
        // Overrides of links are not parsed alone, because each would need both ends.
        if self.overrides.is_empty() || &*self.block.type_name == LINK {
            return read(&self.merged(merge), Part::Whole, diags);
        }
        // The single blocks are read for their errors only.
        read(&self.block, Part::Whole, diags);
        for over in &self.overrides {
            let mut found = Diagnostics::new();
            read(over, Part::Override, &mut found);
            diags.append(without_conditions(over, found));
        }
        read(&self.merged(merge), Part::Whole, &mut Diagnostics::new())
    }

    fn merged(&self, merge: &dyn Fn(&Body, &Body) -> Body) -> Block {
        let mut block = self.block.clone();
        for over in &self.overrides {
            block.body = merge(&block.body, &over.body);
        }
        block
    }

    /// Parses a variable. Each override must leave a default that fits the type, even if the next
    /// one changes both.
    pub(super) fn variable(&self, diags: &mut Diagnostics) -> Variable {
        let mut variable = values::variable(&self.block, None, diags);
        let mut failed = default_failed(&variable).unwrap_or(false);
        let mut block = self.block.clone();
        for over in &self.overrides {
            let mut found = Diagnostics::new();
            let alone = values::variable(over, None, &mut found);
            diags.append(without_conditions(over, found));
            failed = default_failed(&alone).unwrap_or(failed);
            block.body = Body::merged(block.body, over.body.clone());
            let mut found = Diagnostics::new();
            let base = Some((&self.block.body, over.def_span));
            variable = values::variable(&block, base, &mut found);
            // Errors in other blocks were reported with those blocks.
            let found = found.0.into_iter();
            let of_merging = found.filter(|d| !failed && d.subject == Some(over.def_span));
            of_merging.for_each(|d| diags.push(d));
        }
        variable
    }
}

/// True for a default value that cannot be used; `None` without one.
fn default_failed(variable: &Variable) -> Option<bool> {
    variable.default.as_ref().map(|value| !value.is_known())
}

/// Drops diagnostics about conditions, which override files may not have at all.
fn without_conditions(over: &Block, found: Diagnostics) -> Diagnostics {
    let conditions = BodySchema::new()
        .block("validation", &[])
        .block("precondition", &[])
        .block("postcondition", &[]);
    let lifecycle = BodySchema::new().block("lifecycle", &[]);
    let mut bodies = vec![over.body.clone()];
    let (content, _, _) = over.body.partial_content(&lifecycle);
    bodies.extend(content.blocks.into_iter().map(|block| block.body));
    let spans: Vec<Span> = bodies
        .iter()
        .flat_map(|body| body.partial_content(&conditions).0.blocks)
        .map(|block| block.def_span.to(block.body.span()))
        .collect();
    let within = |span: Span| spans.iter().any(|outer| outer.contains(span));
    let mut out = Diagnostics::new();
    for diagnostic in found.0 {
        if !diagnostic.subject.is_some_and(within) {
            out.push(diagnostic);
        }
    }
    out
}
