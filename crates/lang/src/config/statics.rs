//! What can be known of a module while modules are loaded: variables with a known value, locals
//! over them, paths. Sources of modules may use it.

use std::cell::RefCell;
use std::sync::Arc;

use cty::{Mark, Value};

use super::model::Module;
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{self, Scope};
use crate::syntax::{Expr, StepKind, Traversal};

/// How deep values may refer to values.
const MAX_DEPTH: usize = 40;

/// The value that a module's variable has while loading, if any, or why it has none; the depth of
/// references so far goes with the name.
pub(super) type Given<'a> = &'a dyn Fn(&str, usize) -> Result<Option<Value>, Diagnostics>;

/// A module and the values of its variables.
pub(super) struct Statics<'a> {
    pub(super) module: &'a Module,
    pub(super) given: Given<'a>,
    /// The local values that are being worked out.
    open: RefCell<Vec<Arc<str>>>,
}

impl<'a> Statics<'a> {
    pub(super) fn new(module: &'a Module, given: Given<'a>) -> Self {
        Self {
            module,
            given,
            open: RefCell::default(),
        }
    }

    /// The value of an expression that must be known now.
    pub(super) fn value(&self, expr: &Expr, depth: usize) -> Result<Value, Diagnostics> {
        if depth > MAX_DEPTH {
            let detail = "A value that must be known while modules are loaded refers to itself, or through too many others.";
            return Err(Diagnostic::error("Circular reference", detail)
                .at(expr.span)
                .into());
        }
        let (value, diags) = eval::evaluate(
            expr,
            &AtDepth {
                statics: self,
                depth,
            },
        );
        if diags.has_errors() {
            Err(diags)
        } else {
            Ok(value)
        }
    }

    /// The value of a reference, and how many of its steps that is.
    pub(super) fn resolve(
        &self,
        traversal: &Traversal,
        depth: usize,
    ) -> Result<(Value, usize), Diagnostics> {
        match traversal.steps.first().map(|s| &s.kind) {
            Some(StepKind::Attr(name)) => {
                self.named(traversal, name, depth).map(|value| (value, 1))
            }
            _ => {
                let detail = format!(
                    "The \"{}\" object cannot be used alone here.",
                    traversal.root
                );
                Err(Diagnostic::error("Invalid reference", detail)
                    .at(traversal.span())
                    .into())
            }
        }
    }

    fn named(&self, traversal: &Traversal, name: &str, depth: usize) -> Result<Value, Diagnostics> {
        let fail = |summary: &str, detail: String| {
            Err(Diagnostic::error(summary, detail)
                .at(traversal.span())
                .into())
        };
        match &*traversal.root {
            "var" => {
                let Some(variable) = self.module.variables.get(name) else {
                    return fail(
                        "Undefined variable",
                        format!("Undefined variable var.{name}."),
                    );
                };
                let some_constant = self.module.variables.values().any(|v| v.constant.is_some());
                if some_constant && variable.constant != Some(true) {
                    let detail = format!(
                        "var.{name} is used where values must be known while loading: it must be declared with const = true."
                    );
                    return fail("Variable is not constant", detail);
                }
                let marked = |value: Value| {
                    let value = if variable.sensitive {
                        value.mark(Mark::Sensitive)
                    } else {
                        value
                    };
                    if variable.ephemeral {
                        value.mark(Mark::Ephemeral)
                    } else {
                        value
                    }
                };
                match (self.given)(name, depth) {
                    Ok(Some(value)) => Ok(marked(value)),
                    Err(cause) => Err(through(traversal, cause)),
                    Ok(None) => {
                        let detail =
                            format!("var.{name} has no value that is known while loading.");
                        let cause = Diagnostic::error("Variable value not provided", detail)
                            .at(variable.span);
                        Err(through(traversal, cause.into()))
                    }
                }
            }
            "local" => match self.module.locals.get(name) {
                Some(local) if self.open.borrow().iter().any(|open| **open == *name) => {
                    let detail =
                        format!("local.{name} rests on itself, directly or through others.");
                    Err(Diagnostic::error("Circular reference", detail)
                        .at(local.span)
                        .into())
                }
                Some(local) => {
                    self.open.borrow_mut().push(name.into());
                    let value = self.value(&local.expr, depth + 1);
                    self.open.borrow_mut().pop();
                    value.map_err(|cause| through(traversal, cause))
                }
                None => fail("Undefined local", format!("Undefined local local.{name}.")),
            },
            "path" if name == "module" => Ok(Value::string(&self.module.dir_text)),
            "path" if name == "root" => Ok(Value::string(".")),
            "terraform" | "tofu" if name == "workspace" => Ok(self.module.workspace_value()),
            _ => {
                let detail = format!(
                    "{traversal} cannot be used here: only variables and locals known while loading can."
                );
                fail("Dynamic value in static context", detail)
            }
        }
    }
}

/// What went wrong further on, and that it is needed here.
fn through(traversal: &Traversal, mut cause: Diagnostics) -> Diagnostics {
    let detail = format!(
        "{traversal} must be known while modules are loaded, and rests on something that is not."
    );
    cause.push(Diagnostic::error("Unable to compute static value", detail).at(traversal.span()));
    cause
}

struct AtDepth<'s, 'a> {
    statics: &'s Statics<'a>,
    depth: usize,
}

impl Scope for AtDepth<'_, '_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        self.statics.resolve(traversal, self.depth)
    }

    fn base_dir(&self) -> &std::path::Path {
        &self.statics.module.dir
    }
}
