//! Reports the items of a body that its schema does not name, with the most similar known name.

use std::sync::Arc;

use super::forms::{Body, Kind};
use super::json::deep_properties;
use super::schema::{BodySchema, Content};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::source::Span;

impl Body {
    pub(super) fn report_leftovers(
        &self,
        schema: &BodySchema,
        content: &Content,
        diags: &mut Diagnostics,
    ) {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => {
                for (name, attribute) in body
                    .attributes
                    .iter()
                    .filter(|(n, _)| !hidden_attributes.contains(*n))
                {
                    diags.push(unsupported_argument(
                        name,
                        attribute.name_span,
                        schema,
                        content,
                    ));
                }
                for block in body
                    .blocks
                    .iter()
                    .filter(|b| !hidden_blocks.contains(&b.type_name))
                {
                    diags.push(unsupported_block(&block.type_name, block.type_span, schema));
                }
            }
            Kind::Json { node, hidden } => {
                let mut reported = Diagnostics::new();
                for property in deep_properties(node, None, &mut reported) {
                    if &*property.name != "//" && !hidden.contains(&property.name) {
                        let hint = suggest(&property.name, all_names(schema, content));
                        diags.error(
                            property.name_span,
                            "Extraneous JSON object property",
                            format!(
                                "No argument or block type is named \"{}\".{hint}",
                                property.name
                            ),
                        );
                    }
                }
                // Wrong types were reported when the content was taken; the reference reports them
                // again.
                diags.append(reported);
            }
            // OpenTofu ignores these items silently. A warning helps more and rejects
            // no valid configuration.
            Kind::Merged {
                base,
                over,
                lenient: true,
            } => {
                diags.extend(unexpected_warnings([base, over], schema, content));
            }
            Kind::Merged {
                base: a, over: b, ..
            }
            | Kind::Joined {
                first: a,
                second: b,
            } => {
                a.report_leftovers(schema, content, diags);
                b.report_leftovers(schema, content, diags);
            }
            Kind::WithBlock { body, .. } => body.report_leftovers(schema, content, diags),
            Kind::Empty(_) => {}
        }
    }
}

/// Unexpected items as warnings.
fn unexpected_warnings(
    bodies: [&Body; 2],
    schema: &BodySchema,
    content: &Content,
) -> Vec<Diagnostic> {
    let mut found = Diagnostics::new();
    for body in bodies {
        body.report_leftovers(schema, content, &mut found);
    }
    let mut all: Vec<Diagnostic> = found.into_iter().collect();
    all.iter_mut().for_each(|d| d.severity = Severity::Warning);
    all
}

fn all_names(schema: &BodySchema, content: &Content) -> Vec<Arc<str>> {
    let unused = schema
        .attributes
        .iter()
        .map(|(n, _)| n)
        .filter(|n| !content.attributes.contains_key(*n));
    unused
        .chain(schema.blocks.iter().map(|(t, _)| t))
        .cloned()
        .collect()
}

fn unsupported_argument(
    name: &str,
    span: Span,
    schema: &BodySchema,
    content: &Content,
) -> Diagnostic {
    // An argument that is already set is no likely correction.
    let unused = schema
        .attributes
        .iter()
        .map(|(n, _)| n.clone())
        .filter(|n| !content.attributes.contains_key(n))
        .collect();
    let mut hint = suggest(name, unused);
    if hint.is_empty() && schema.blocks.iter().any(|(t, _)| &**t == name) {
        hint = format!(" Did you mean to define a block of type \"{name}\"?");
    }
    Diagnostic::error(
        "Unsupported argument",
        format!("An argument named \"{name}\" is not expected here.{hint}"),
    )
    .at(span)
}

fn unsupported_block(type_name: &str, span: Span, schema: &BodySchema) -> Diagnostic {
    let mut hint = suggest(
        type_name,
        schema.blocks.iter().map(|(t, _)| t.clone()).collect(),
    );
    if hint.is_empty() && schema.attributes.iter().any(|(n, _)| &**n == type_name) {
        hint = format!(
            " Did you mean to define the argument \"{type_name}\"? If so, use the equals sign to give it a value."
        );
    }
    Diagnostic::error(
        "Unsupported block type",
        format!("Blocks of type \"{type_name}\" are not expected here.{hint}"),
    )
    .at(span)
}

/// Returns ` Did you mean "x"?` for the most similar name, or an empty string.
pub(crate) fn suggest(given: &str, names: Vec<Arc<str>>) -> String {
    let best = names
        .iter()
        .map(|n| (edit_distance(given, n), n))
        .min_by_key(|(d, _)| *d);
    match best {
        // At most two edits, and fewer than the name is long, or else any short name would match.
        Some((distance, name)) if distance < 3 && distance < given.chars().count() => {
            format!(" Did you mean \"{name}\"?")
        }
        _ => String::new(),
    }
}

/// Levenshtein distance, capped by its use on short names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = corner + usize::from(ca != *cb);
            corner = row[j + 1];
            row[j + 1] = replace.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
