//! Evaluates function calls: lookup, number of arguments, conversion, and source positions of
//! errors. `try`, `can` and `convert` take expressions instead of values, so they are evaluated
//! here.

use std::sync::Arc;

use cty::{Type, Value};

use super::call_refused::{
    call_diagnostic, invalid_argument, unknown_function, wrong_count, wrong_lazy_count,
};
use super::env::{Env, Outcome};
use super::error_span::start_of;
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::functions;
use crate::functions::{CallError, Function, Host};
use crate::source::Span;
use crate::syntax::{Call, Expr};

/// Argument value, with the expression for errors about it.
pub(super) struct Argument<'a> {
    expr: &'a Expr,
    /// Set for elements of the expanded last argument.
    value: Option<Value>,
}

impl Argument<'_> {
    pub(super) fn place(&self) -> Span {
        // An expanded element has no expression of its own, so errors point at the whole argument.
        if self.value.is_some() {
            self.expr.span
        } else {
            start_of(self.expr)
        }
    }
}

impl Env<'_> {
    pub(super) fn call(&self, call: &Call, whole: Span) -> Outcome {
        if let Some(fault) = self.stop_reason() {
            return (Value::dynamic(), fault.at(whole).into());
        }
        // `try` and `can` take expressions, so they come before the function table.
        // Built-in functions also have names with the namespace `core::`.
        let name = call.name.strip_prefix("core::").unwrap_or(&call.name);
        match name {
            "try" => return self.attempt(call, whole),
            "can" if call.args.len() == 1 && !call.expand_final => {
                return self.succeeds(&call.args[0]);
            }
            _ => {}
        }
        if let Some(fault) = wrong_lazy_count(name, call) {
            return (Value::dynamic(), fault.within(whole).into());
        }
        let Some(function) = self.function(&call.name) else {
            return (
                Value::dynamic(),
                unknown_function(call).within(whole).into(),
            );
        };
        let mut diags = Diagnostics::new();
        let mut args: Vec<Argument<'_>> = call
            .args
            .iter()
            .map(|expr| Argument { expr, value: None })
            .collect();
        if call.expand_final {
            match self.expand(&mut args, whole, &mut diags) {
                Expanded::Ready => {}
                Expanded::Unknown => return (Value::dynamic(), diags),
            }
        }
        if let Some(fault) = wrong_count(call, &function, &args, whole) {
            return (Value::dynamic(), fault.into());
        }
        let values = self.arguments(&function, &args, whole, &mut diags);
        if diags.has_errors() {
            return (Value::dynamic(), diags);
        }
        match self.run(&function, &values) {
            Ok(value) => (value, diags),
            Err(error) => {
                // The message may quote arguments, so it is hidden if one of them is sensitive.
                diags.push(call_diagnostic(
                    call,
                    &function,
                    &args,
                    error.redacted(&function, &values),
                    whole,
                ));
                (Value::dynamic(), diags)
            }
        }
    }

    fn run(&self, function: &Function, values: &[Value]) -> Result<Value, CallError> {
        let host = Host {
            scope: self.scope,
            depth: self.depth,
            secret: values.iter().any(Value::needs_redaction),
            steps: self.steps,
        };
        // Counted first, so that `Host::take` in the function sees the remaining steps.
        self.steps.consume_call(values);
        // Values share memory, but a result made from each of their parts does not. So the limit
        // applies to the number of parts.
        let parts: usize = values
            .iter()
            .map(|v| usize::try_from(v.size()).unwrap_or(usize::MAX))
            .fold(0, usize::saturating_add);
        host.check_memory(parts.saturating_mul(size_of::<Value>()))?;
        let value = function.call(values, host)?;
        // The result counts too: it may be much larger than the arguments.
        self.steps.consume_call(std::slice::from_ref(&value));
        Ok(value)
    }

    fn function(&self, name: &str) -> Option<Arc<Function>> {
        functions::find(name).or_else(|| self.scope.function(name))
    }

    /// Replaces the last argument by its elements.
    fn expand(
        &self,
        args: &mut Vec<Argument<'_>>,
        whole: Span,
        diags: &mut Diagnostics,
    ) -> Expanded {
        let Some(last) = args.pop() else {
            return Expanded::Ready;
        };
        let (value, more) = self.value(last.expr);
        let bad = more.has_errors();
        diags.append(more);
        if bad {
            return Expanded::Unknown;
        }
        let mut refuse = |detail: &'static str| {
            diags.push(
                Diagnostic::error("Invalid expanding argument value", detail)
                    .at(last.expr.span)
                    .within(whole),
            );
            Expanded::Unknown
        };
        let ty = value.ty();
        if !(ty.is_dynamic() || ty.is_tuple() || ty.is_list() || ty.is_set()) {
            return refuse(
                "The expanding argument (indicated by ...) must be of a tuple, list, or set type.",
            );
        }
        if value.is_null() {
            return refuse("The expanding argument (indicated by ...) must not be null.");
        }
        if !value.is_known() {
            return Expanded::Unknown;
        }
        let (value, marks) = value.unmark();
        args.extend(value.children().map(|item| Argument {
            expr: last.expr,
            // Each element gets the marks of the collection it came from.
            value: Some(item.clone().with_marks(&marks)),
        }));
        Expanded::Ready
    }

    fn arguments(
        &self,
        function: &Function,
        args: &[Argument<'_>],
        whole: Span,
        diags: &mut Diagnostics,
    ) -> Vec<Value> {
        let mut values = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            let Some(param) = function.param(index) else {
                continue;
            };
            let value = match &arg.value {
                Some(value) => value.clone(),
                None => {
                    let (value, more) = self.value(arg.expr);
                    diags.append(more);
                    value
                }
            };
            match cty::convert(&value, &param.ty) {
                Ok(value) => values.push(value),
                Err(error) => {
                    diags.push(
                        invalid_argument(&param.name, Message::from(&error))
                            .at(arg.place())
                            .within(whole),
                    );
                    // Keeps the positions of later arguments, which are checked as well.
                    values.push(Value::unknown(param.ty.without_optional()));
                }
            }
        }
        values
    }

    /// `try`: returns the first argument that evaluates without an error.
    fn attempt(&self, call: &Call, whole: Span) -> Outcome {
        let place = call.name_span.to(call.open);
        let failed = |reason: &str| {
            let detail = Message::from(format!("Call to function \"try\" failed: {reason}."));
            Diagnostic::error("Error in function call", detail)
                .at(place)
                .within(whole)
                .into()
        };
        if call.args.is_empty() {
            return (
                Value::dynamic(),
                failed("at least one argument is required"),
            );
        }
        let mut reasons = String::from("no expression succeeded:\n");
        for arg in &call.args {
            let (value, diags) = self.value(arg);
            if diags.has_errors() {
                let sources = self.scope.sources();
                for fault in diags.errors() {
                    let at = fault.range(&sources).map(|r| {
                        format!(" (at {}:{},{})", r.filename, r.start.line, r.start.column)
                    });
                    reasons.push_str(&format!(
                        "- {}{}\n  {}\n",
                        fault.summary,
                        at.unwrap_or_default(),
                        fault.detail
                    ));
                }
                continue;
            }
            if !value.is_wholly_known() {
                // The argument may still fail once it is known, and the next one may have another
                // type.
                return (Value::dynamic(), Diagnostics::new());
            }
            // Failures of the arguments before this one were expected.
            return (value, Diagnostics::new());
        }
        reasons.push_str("\nAt least one expression must produce a successful result");
        (Value::dynamic(), failed(&reasons))
    }

    fn succeeds(&self, arg: &Expr) -> Outcome {
        let (value, diags) = self.value(arg);
        let result = if diags.has_errors() {
            Value::bool(false)
        // An unknown part may still turn out to be an error.
        } else if !value.is_wholly_known() {
            Value::unknown(Type::Bool)
        } else {
            Value::bool(true)
        };
        (result, Diagnostics::new())
    }
}

enum Expanded {
    Ready,
    /// The arguments are unknown, or an error was reported.
    Unknown,
}
