//! What can be known of a module while modules are loaded: variables with a known value, locals over them, paths.
//! Sources of modules may use it.

use cty::Value;

use super::model::Module;
use crate::diag::{Diagnostic, Diagnostics};
use crate::eval::{self, Scope};
use crate::syntax::{Expr, StepKind, Traversal};

/// How deep values may refer to values.
const MAX_DEPTH: usize = 40;

/// The value that a module's variable has while loading, if any; the depth of references so far goes with the name.
pub(super) type Given<'a> = &'a dyn Fn(&str, usize) -> Option<Value>;

/// A module and the values of its variables.
pub(super) struct Statics<'a> {
    pub(super) module: &'a Module,
    pub(super) given: Given<'a>,
}

impl Statics<'_> {
    /// The value of an expression that must be known now.
    pub(super) fn value(&self, expr: &Expr, depth: usize) -> Result<Value, Diagnostics> {
        if depth > MAX_DEPTH {
            let detail = "A value that must be known while modules are loaded refers to itself, or through too many others.";
            return Err(Diagnostic::error("Circular reference", detail).at(expr.span).into());
        }
        let (value, diags) = eval::evaluate(expr, &AtDepth { statics: self, depth });
        if diags.has_errors() { Err(diags) } else { Ok(value) }
    }

    fn named(&self, traversal: &Traversal, name: &str, depth: usize) -> Result<Value, Diagnostics> {
        let fail = |summary: &str, detail: String| Err(Diagnostic::error(summary, detail).at(traversal.span()).into());
        match &*traversal.root {
            "var" => {
                let Some(variable) = self.module.variables.get(name) else {
                    return fail("Undefined variable", format!("Undefined variable var.{name}."));
                };
                let some_constant = self.module.variables.values().any(|v| v.constant.is_some());
                if some_constant && variable.constant != Some(true) {
                    let detail =
                        format!("var.{name} is used where values must be known while loading: it must be declared with const = true.");
                    return fail("Variable is not constant", detail);
                }
                if variable.sensitive || variable.ephemeral {
                    let detail = format!("var.{name} is sensitive or ephemeral, which is not allowed where modules are loaded.");
                    return fail("Unsuitable variable", detail);
                }
                match (self.given)(name, depth) {
                    Some(value) => Ok(value),
                    None => fail("Variable value not provided", format!("var.{name} has no value that is known while loading.")),
                }
            }
            "local" => match self.module.locals.get(name) {
                Some(local) => self.value(&local.expr, depth + 1),
                None => fail("Undefined local", format!("Undefined local local.{name}.")),
            },
            "path" if name == "module" => Ok(Value::string(&self.module.dir_text)),
            "path" if name == "root" => Ok(Value::string(".")),
            "terraform" | "tofu" if name == "workspace" => Ok(Value::string("default")),
            _ => {
                let detail = format!("{traversal} cannot be used here: only variables and locals known while loading can.");
                fail("Dynamic value in static context", detail)
            }
        }
    }
}

struct AtDepth<'s, 'a> {
    statics: &'s Statics<'a>,
    depth: usize,
}

impl Scope for AtDepth<'_, '_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        match traversal.steps.first().map(|s| &s.kind) {
            Some(StepKind::Attr(name)) => self.statics.named(traversal, name, self.depth).map(|value| (value, 1)),
            _ => {
                let detail = format!("The \"{}\" object cannot be used alone here.", traversal.root);
                Err(Diagnostic::error("Invalid reference", detail).at(traversal.span()).into())
            }
        }
    }

    fn base_dir(&self) -> &std::path::Path {
        &self.statics.module.dir
    }
}
