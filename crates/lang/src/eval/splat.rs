//! Evaluates `source[*]…` and `source.*…`: the same steps for each element. A single value counts
//! as a list of one, null as an empty list.

use cty::{Marks, Type, Value};

use super::env::{Env, Outcome};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::Splat;

impl Env<'_> {
    pub(super) fn splat(&self, splat: &Splat, whole: Span) -> Outcome {
        let (source, mut diags) = self.value(&splat.source);
        if diags.has_errors() {
            return (Value::dynamic(), diags);
        }
        let single = !(source.ty().is_tuple() || source.ty().is_list() || source.ty().is_set());
        if source.is_null() && single {
            // Null as a single value means no elements.
            return (Value::empty_tuple().with_marks(source.marks()), diags);
        }
        if source.is_null() {
            let detail =
                "Splat expressions (with the * symbol) cannot be applied to null sequences.";
            let context = splat.source.span.to(splat.marker);
            let fault = Diagnostic::error("Splat of null value", detail).at(splat.source.span);
            diags.push(fault.within(context));
            return (Value::dynamic(), diags);
        }
        if source.ty().is_dynamic() {
            return (Value::dynamic().with_marks(source.marks()), diags);
        }
        // An unknown single value may become null, and then the result has no elements.
        let perhaps_null = single && !source.is_known() && !source.is_definitely_not_null();
        let (source, marks) = match single {
            true => {
                let marks = source.marks().clone();
                (Value::tuple(vec![source]), marks)
            }
            false => source.unmark(),
        };
        if !source.is_known() {
            return self.splat_unknown(splat, &source, &marks, diags);
        }
        let Some(elements) = self.splat_elements(splat, &source, &marks, whole, &mut diags) else {
            return (Value::dynamic(), diags);
        };
        // The number of elements is unknown, so the type of the tuple is too.
        if perhaps_null {
            return (Value::dynamic().with_marks(&marks), diags);
        }
        if elements.failed {
            // The type does not depend on the failed element, so later checks can use it.
            let (ty, _) = self.splat_type(splat, source.ty());
            return (Value::unknown(ty).with_marks(&marks), diags);
        }
        if source.ty().is_tuple() {
            return (Value::tuple(elements.values).with_marks(&marks), diags);
        }
        match self.splat_list(splat, &source, elements.values, &mut diags) {
            Some(list) => (list.with_marks(&marks), diags),
            None => {
                diags.push(different_types().at(splat.each.span).within(whole));
                (Value::dynamic(), diags)
            }
        }
    }

    /// Evaluates the steps for each element. `None` if evaluation has to stop.
    fn splat_elements(
        &self,
        splat: &Splat,
        source: &Value,
        marks: &Marks,
        whole: Span,
        diags: &mut Diagnostics,
    ) -> Option<Elements> {
        let mut values = Vec::with_capacity(source.len().unwrap_or(0));
        let mut failed = false;
        for item in source.children() {
            if let Some(fault) = self.stop_reason() {
                diags.push(fault.at(whole));
                return None;
            }
            let env = Env {
                item: Some(item),
                ..*self
            };
            let (value, more) = env.value(&splat.each);
            failed |= more.has_errors();
            // The elements lost the marks of the collection, so messages must be hidden here.
            diags.append_redacted(more, marks.needs_redaction());
            values.push(value);
        }
        Some(Elements { values, failed })
    }

    /// List of the results; `None` if their types differ.
    fn splat_list(
        &self,
        splat: &Splat,
        source: &Value,
        values: Vec<Value>,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        // No element shows the type, so it is found with an unknown one.
        if values.is_empty() {
            let (ty, more) = self.splat_type(splat, source.ty());
            diags.append(more);
            let element = ty.element_type().cloned().unwrap_or(Type::Dynamic);
            return Some(Value::list(element, values));
        }
        Value::try_list(Type::Dynamic, values).ok()
    }

    fn splat_unknown(
        &self,
        splat: &Splat,
        source: &Value,
        marks: &Marks,
        mut diags: Diagnostics,
    ) -> Outcome {
        let (ty, more) = self.splat_type(splat, source.ty());
        diags.append(more);
        if ty.is_dynamic() {
            return (Value::dynamic().with_marks(marks), diags);
        }
        let mut builder = Value::unknown(ty.clone()).refine().not_null();
        if ty.is_list() && source.ty().is_collection() {
            // The result has as many elements as the source, so known bounds stay.
            let range = source.range();
            builder = builder.length_min(range.length_min());
            if let Some(max) = range.length_max() {
                builder = builder.length_max(max);
            }
        }
        (builder.finish().with_marks(marks), diags)
    }

    /// Type of the result, found by evaluation with unknown elements.
    fn splat_type(&self, splat: &Splat, source: &Type) -> (Type, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut result_of = |ty: &Type| {
            let item = Value::unknown(ty.clone());
            let (value, more) = Env {
                item: Some(&item),
                ..*self
            }
            .value(&splat.each);
            diags.append(more);
            value.ty().clone()
        };
        let ty = match source {
            Type::List(element) | Type::Set(element) => Type::list(result_of(element)),
            Type::Tuple(elements) => {
                Type::tuple(elements.iter().map(result_of).collect::<Vec<_>>())
            }
            _ => Type::Dynamic,
        };
        (ty, diags)
    }
}

/// Results of a splat's steps.
struct Elements {
    values: Vec<Value>,
    /// An element had an error.
    failed: bool,
}

fn different_types() -> Diagnostic {
    let detail = "The second level of splat expression produced elements of different types, so it isn't possible to \
                  construct a valid list to represent the top-level result.\n\nConsider using a for expression instead, \
                  to produce a tuple-typed result which can therefore have non-homogenous element types.";
    Diagnostic::error("Invalid nested splat expressions", detail)
}
