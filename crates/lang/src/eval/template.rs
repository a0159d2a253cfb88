//! Evaluates templates: quoted strings, heredocs, template files.

use cty::{Marks, Type, Value};

use super::env::{Env, Outcome};
use super::{Scope, Steps};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::Span;
use crate::syntax::Expr;

/// Maximum length, in bytes, of the known prefix of an unknown text.
const PREFIX: usize = 128;
const INVALID: &str = "Invalid template interpolation value";

/// Evaluates a template inside `depth` others.
pub(crate) fn render(
    expr: &Expr,
    scope: &dyn Scope,
    depth: usize,
    steps: &Steps,
) -> (Value, Diagnostics) {
    Env::nested(scope, depth, steps).value(expr)
}

impl Env<'_> {
    pub(super) fn template(&self, parts: &[Expr], whole: Span) -> Outcome {
        let mut text = String::new();
        let mut diags = Diagnostics::new();
        let mut marks = Marks::none();
        let mut known = true;
        for part in parts {
            // An error in a nested template would repeat in each part of each enclosing template,
            // which grows exponentially with the depth.
            if self.depth > 1 && diags.has_errors() {
                return (Value::unknown(Type::String), diags);
            }
            let (value, more) = self.value(part);
            diags.append(more);
            if value.is_null() {
                let detail = "The expression result is null. Cannot include a null value in a string template.";
                diags.push(
                    Diagnostic::error(INVALID, detail)
                        .at(part.span)
                        .within(whole),
                );
                continue;
            }
            let (value, part_marks) = value.unmark();
            let secret = part_marks.needs_redaction();
            marks.extend(&part_marks);
            if !value.is_known() {
                // Later parts are still evaluated for their errors and marks.
                known = false;
                continue;
            }
            match cty::convert(&value, &Type::String) {
                Ok(piece) => {
                    // Text after an unknown part is not needed: only the known prefix is kept.
                    if known && !diags.has_errors() {
                        let piece = piece.as_str().unwrap_or_default();
                        if let Some(fault) = self.too_long(text.len() + piece.len()) {
                            diags.push(fault.at(whole));
                            return (Value::unknown(Type::String), diags);
                        }
                        text.push_str(piece);
                    }
                }
                Err(error) => {
                    let detail = Message::from(&error).wrap(|error| {
                        format!("Cannot include the given value in a string template: {error}.")
                    });
                    diags.push(
                        Diagnostic::error(INVALID, detail)
                            .at(part.span)
                            .within(whole)
                            .redacted_if(secret),
                    );
                }
            }
        }
        let value = if known {
            Value::string(text)
        } else {
            let mut builder = Value::unknown(Type::String).refine().not_null();
            if !diags.has_errors() && !text.is_empty() {
                let mut end = text.len().min(PREFIX);
                // The prefix must be valid UTF-8.
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                builder = builder.string_prefix(&text[..end]);
            }
            builder.finish()
        };
        (value.with_marks(&marks), diags)
    }

    /// Error if a text of this size exceeds the memory limit. Counts twice, because the text is
    /// copied into the value.
    fn too_long(&self, bytes: usize) -> Option<Diagnostic> {
        const UNCHECKED_SIZE: usize = 1 << 20;
        if bytes <= UNCHECKED_SIZE {
            return None;
        }
        let room = self.scope.max_value_size();
        // Twice: the text and its copy in the value exist at the same time.
        let fits = u64::try_from(bytes).is_ok_and(|bytes| bytes.saturating_mul(2) <= room);
        let detail = || {
            format!(
                "The text needs about {} MiB, which exceeds the remaining memory.",
                bytes >> 20
            )
        };
        if fits {
            self.stop_reason()
        } else {
            Some(Diagnostic::error("Out of memory", Message::plain(detail())))
        }
    }

    /// Joins the results of a `%{for}` to one text.
    pub(super) fn join(&self, tuple: &Expr) -> Outcome {
        let (value, mut diags) = self.value(tuple);
        let Some(items) = value.as_slice() else {
            return (
                Value::unknown(Type::String).with_marks(value.marks()),
                diags,
            );
        };
        let mut marks = value.marks().clone();
        let mut text = String::new();
        for item in items {
            if item.is_null() {
                let detail = "An iteration result is null. Cannot include a null value in a string template.";
                diags.push(Diagnostic::error(INVALID, detail).at(tuple.span));
                continue;
            }
            marks.extend(item.marks());
            if !item.is_known() {
                return (Value::unknown(Type::String).with_marks(&marks), diags);
            }
            match cty::convert(item, &Type::String) {
                Ok(piece) => {
                    let piece = piece.as_str().unwrap_or_default();
                    if let Some(fault) = self.too_long(text.len() + piece.len()) {
                        diags.push(fault.at(tuple.span));
                        return (Value::unknown(Type::String), diags);
                    }
                    text.push_str(piece);
                }
                Err(error) => {
                    let detail = Message::from(&error)
                        .wrap(|error| format!("Cannot include one of the interpolation results into the string template: {error}."));
                    diags.push(Diagnostic::error(INVALID, detail).at(tuple.span));
                }
            }
        }
        (Value::string(text).with_marks(&marks), diags)
    }
}
