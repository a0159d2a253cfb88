//! What can be known of a module while modules are loaded: variables with a known value, locals
//! over them, paths. Sources of modules may use it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use cty::{Mark, Value};

use super::model::{Module, Variable};
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
    /// Those that were: each is asked for more than once.
    locals: RefCell<HashMap<Arc<str>, Result<Value, Diagnostics>>>,
}

impl<'a> Statics<'a> {
    pub(super) fn new(module: &'a Module, given: Given<'a>) -> Self {
        Self {
            module,
            given,
            open: RefCell::default(),
            locals: RefCell::default(),
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
        self.look_up(expr, depth)?;
        let scope = AtDepth {
            statics: self,
            depth,
        };
        let (value, diags) = eval::evaluate(expr, &scope);
        if diags.has_errors() {
            Err(diags)
        } else {
            Ok(value)
        }
    }

    /// All that an expression names must be there and known, in a branch not taken too, and no
    /// `try` gets over it.
    fn look_up(&self, expr: &Expr, depth: usize) -> Result<(), Diagnostics> {
        let mut faults = Diagnostics::new();
        for traversal in expr.traversals() {
            if let Err(fault) = self.resolve(traversal, depth) {
                faults.append(fault);
            }
        }
        for call in expr.calls() {
            if call.name.starts_with("provider::") {
                let detail = format!(
                    "{} cannot be called here: what must be known while modules are loaded cannot ask a provider.",
                    call.name
                );
                faults.error(
                    call.name_span,
                    "Provider function in static context",
                    detail,
                );
            }
        }
        if faults.has_errors() {
            Err(faults)
        } else {
            Ok(())
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
                if variable.constant == Some(false) {
                    let detail = format!(
                        "var.{name} is used where values must be known while loading, and is declared with const = false."
                    );
                    return fail("Variable is not constant", detail);
                }
                self.variable(variable, depth)
                    .map_err(|cause| through(traversal, cause))
            }
            "local" => match self.module.locals.get_key_value(name) {
                Some((name, local)) => self.local(traversal, name, &local.expr, depth),
                None => fail("Undefined local", format!("Undefined local local.{name}.")),
            },
            "path" if name == "module" => Ok(Value::string(&self.module.dir_text)),
            "path" if name == "root" => Ok(Value::string(".")),
            "path" if name == "cwd" => self.cwd(traversal),
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

impl Statics<'_> {
    /// The value that a variable has.
    pub(super) fn variable(&self, variable: &Variable, depth: usize) -> Result<Value, Diagnostics> {
        let Some(mut value) = (self.given)(&variable.name, depth)? else {
            let detail = format!(
                "var.{} has no value that is known while loading.",
                variable.name
            );
            let missing = Diagnostic::error("Variable value not provided", detail);
            return Err(missing.at(variable.span).into());
        };
        if variable.sensitive {
            value = value.mark(Mark::Sensitive);
        }
        if variable.ephemeral {
            value = value.mark(Mark::Ephemeral);
        }
        Ok(value)
    }

    /// A local value, worked out once.
    fn local(
        &self,
        traversal: &Traversal,
        name: &Arc<str>,
        expr: &Expr,
        depth: usize,
    ) -> Result<Value, Diagnostics> {
        if let Some(known) = self.locals.borrow().get(name) {
            return known.clone().map_err(|cause| through(traversal, cause));
        }
        if self.open.borrow().contains(name) {
            let detail = format!("local.{name} rests on itself, directly or through others.");
            let circle = Diagnostic::error("Circular reference", detail);
            return Err(circle.at(expr.span).into());
        }
        self.open.borrow_mut().push(name.clone());
        let value = self.value(expr, depth + 1);
        self.open.borrow_mut().pop();
        self.locals.borrow_mut().insert(name.clone(), value.clone());
        value.map_err(|cause| through(traversal, cause))
    }

    fn cwd(&self, traversal: &Traversal) -> Result<Value, Diagnostics> {
        match std::env::current_dir() {
            Ok(dir) => Ok(Value::string(dir.to_string_lossy())),
            Err(error) => {
                let detail = format!("The working directory cannot be told: {error}.");
                let fault = Diagnostic::error("Failed to get working directory", detail);
                Err(fault.at(traversal.span()).into())
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
