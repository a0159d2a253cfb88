//! Evaluates `[for …]` and `{for …}`: bound names, filters, keys and grouping.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use cty::{Marks, Type, Value};

use super::env::{Env, Names, Outcome};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::source::Span;
use crate::syntax::{Expr, ForExpr};

/// Result of a filter for one element.
enum Filter {
    Include,
    Exclude,
    /// Unknown, or an error was reported: the result is unknown.
    Unsettled,
}

impl Env<'_> {
    pub(super) fn for_each(&self, each: &ForExpr, whole: Span) -> Outcome {
        let (collection, mut diags) = self.value(&each.collection);
        if let Some(fault) = not_iterable(&collection) {
            diags.push(fault.at(each.collection.span).within(whole));
            return (Value::dynamic(), diags);
        }
        if collection.ty().is_dynamic() {
            return (Value::dynamic(), diags);
        }
        let (collection, mut marks) = collection.unmark();
        if let Some(cond) = &each.cond {
            let Some(filter) = self.probe_filter(each, cond, whole, &mut diags) else {
                return (Value::dynamic(), diags);
            };
            // No element is filtered now, so the marks of the filter come from the probe.
            if !collection.is_known() {
                marks.extend(filter.marks());
            }
        }
        if !collection.is_known() {
            return (Value::dynamic().with_marks(&marks), diags);
        }
        let mut inside = Diagnostics::new();
        let result = match &each.key {
            None => self.collect_tuple(each, &collection, whole, &mut marks, &mut inside),
            Some(_) => self.collect_object(each, &collection, whole, &mut marks, &mut inside),
        };
        // The bound elements lost the marks of the collection, so messages must be hidden here.
        diags.append_redacted(inside, marks.needs_redaction());
        let result = result.unwrap_or_else(Value::dynamic);
        (result.with_marks(&marks), diags)
    }

    /// Evaluates the filter once with unknown values, so that its errors show even for an empty
    /// collection. `None` after an error.
    fn probe_filter(
        &self,
        each: &ForExpr,
        cond: &Expr,
        whole: Span,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        let names = self.bound(each, Value::dynamic(), Value::dynamic());
        let env = Env {
            names: Some(&names),
            ..*self
        };
        let (result, found) = env.value(cond);
        let bad = found.has_errors();
        diags.append(found);
        if result.is_null() {
            let detail = "The value of the 'if' clause must not be null.";
            let fault = Diagnostic::error("Condition is null", detail).at(cond.span);
            diags.push(fault.within(whole));
            return None;
        }
        if let Err(error) = cty::convert(&result, &Type::Bool) {
            let detail = Message::from(&error)
                .wrap(|error| format!("The 'if' clause value is invalid: {error}."));
            diags.push(invalid_filter(detail, cond.span, whole));
            return None;
        }
        (!bad).then_some(result)
    }

    fn bound<'n>(&'n self, each: &'n ForExpr, key: Value, value: Value) -> Names<'n> {
        Names {
            key: each.key_var.as_deref().map(|name| (name, key)),
            value: (&each.value_var, value),
            outer: self.names,
        }
    }

    fn collect_tuple(
        &self,
        each: &ForExpr,
        collection: &Value,
        whole: Span,
        marks: &mut Marks,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        let mut values = Vec::new();
        let mut known = true;
        for (key, value) in collection.elements() {
            if let Some(fault) = self.stop_reason() {
                // Only the innermost of nested loops reports the limit.
                if !diags.has_errors() {
                    diags.push(fault.at(whole));
                }
                return None;
            }
            let names = self.bound(each, key, value.clone());
            let env = Env {
                names: Some(&names),
                ..*self
            };
            // Only the first faulty filter is reported: after it, `known` is false.
            match env.filter(each, whole, known, marks, diags) {
                Filter::Include => {}
                Filter::Exclude => continue,
                Filter::Unsettled => {
                    known = false;
                    continue;
                }
            }
            let (value, more) = env.value(&each.value);
            diags.append(more);
            values.push(value);
        }
        known.then(|| Value::tuple(values))
    }

    fn collect_object(
        &self,
        each: &ForExpr,
        collection: &Value,
        whole: Span,
        marks: &mut Marks,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        let mut single: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        let mut grouped: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
        let mut known = true;
        for (key, value) in collection.elements() {
            if let Some(fault) = self.stop_reason() {
                // Only the innermost of nested loops reports the limit.
                if !diags.has_errors() {
                    diags.push(fault.at(whole));
                }
                return None;
            }
            let names = self.bound(each, key, value.clone());
            let env = Env {
                names: Some(&names),
                ..*self
            };
            match env.filter(each, whole, known, marks, diags) {
                Filter::Include => {}
                Filter::Exclude => continue,
                Filter::Unsettled => {
                    known = false;
                    continue;
                }
            }
            let Some(name) = env.for_key(each, whole, known, marks, diags) else {
                known = false;
                continue;
            };
            let (value, more) = env.value(&each.value);
            diags.append(more);
            if each.group {
                grouped.entry(name).or_default().push(value);
            } else {
                match single.entry(name) {
                    Entry::Vacant(free) => {
                        free.insert(value);
                    }
                    Entry::Occupied(taken) => diags.push(duplicate(taken.key(), each, whole)),
                }
            }
        }
        if each.group {
            single = grouped
                .into_iter()
                .map(|(name, values)| (name, Value::tuple(values)))
                .collect();
        }
        known.then(|| Value::object_from_map(single))
    }

    fn filter(
        &self,
        each: &ForExpr,
        whole: Span,
        report: bool,
        marks: &mut Marks,
        diags: &mut Diagnostics,
    ) -> Filter {
        let Some(cond) = &each.cond else {
            return Filter::Include;
        };
        let (include, more) = self.value(cond);
        diags.append(more);
        if include.is_null() {
            if report {
                diags.push(invalid_filter(
                    "The value of the 'if' clause must not be null.",
                    cond.span,
                    whole,
                ));
            }
            return Filter::Unsettled;
        }
        // The result depends on the filter even where it excludes an element.
        marks.extend(include.marks());
        match cty::convert(&include, &Type::Bool) {
            Ok(include) => match include.as_bool() {
                Some(true) => Filter::Include,
                Some(false) => Filter::Exclude,
                None => Filter::Unsettled,
            },
            Err(error) => {
                if report {
                    diags.push(invalid_filter(
                        Message::from(&error)
                            .wrap(|error| format!("The 'if' clause value is invalid: {error}.")),
                        cond.span,
                        whole,
                    ));
                }
                Filter::Unsettled
            }
        }
    }

    fn for_key(
        &self,
        each: &ForExpr,
        whole: Span,
        report: bool,
        marks: &mut Marks,
        diags: &mut Diagnostics,
    ) -> Option<Arc<str>> {
        let expr = each.key.as_ref()?;
        let (key, more) = self.value(expr);
        diags.append(more);
        let mut fault = |detail: Message| {
            if report {
                diags.push(
                    Diagnostic::error("Invalid object key", detail)
                        .at(expr.span)
                        .within(whole),
                );
            }
        };
        if key.is_null() {
            fault("Key expression in 'for' expression must not produce a null value.".into());
            return None;
        }
        // Names of attributes have no marks, so the whole object gets those of its keys.
        marks.extend(key.marks());
        if !key.is_known() {
            return None;
        }
        match cty::convert(&key, &Type::String) {
            Ok(key) => key.as_arc_str(),
            Err(error) => {
                fault(Message::from(&error).wrap(|error| {
                    format!("The key expression produced an invalid result: {error}.")
                }));
                None
            }
        }
    }
}

fn not_iterable(collection: &Value) -> Option<Diagnostic> {
    if collection.is_null() {
        let detail = "A null value cannot be used as the collection in a 'for' expression.";
        return Some(Diagnostic::error("Iteration over null value", detail));
    }
    if !collection.ty().is_primitive() {
        return None;
    }
    let name = collection.ty().friendly_name();
    let detail = Message::plain(format!(
        "A value of type {name} cannot be used as the collection in a 'for' expression."
    ));
    Some(Diagnostic::error(
        "Iteration over non-iterable value",
        detail,
    ))
}

fn duplicate(name: &str, each: &ForExpr, whole: Span) -> Diagnostic {
    let detail = format!(
        "Two different items produced the key {name:?} in this 'for' expression. If duplicates are expected, use the ellipsis (...) \
         after the value expression to enable grouping by key."
    );
    let place = each.key.as_ref().map_or(whole, |k| k.span);
    Diagnostic::error("Duplicate object key", detail)
        .at(place)
        .within(whole)
}

fn invalid_filter(detail: impl Into<Message>, place: Span, whole: Span) -> Diagnostic {
    Diagnostic::error("Invalid 'for' condition", detail)
        .at(place)
        .within(whole)
}
