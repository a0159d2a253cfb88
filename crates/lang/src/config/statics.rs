//! Static evaluation while modules are loaded: variables with known values, locals over them, and
//! paths. Module sources may use these values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cty::{Mark, Value};

use super::model::{Module, Variable};
use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::eval::{self, Scope};
use crate::functions::ExternalInput;
use crate::stored::StoredInput;
use crate::syntax::{Expr, StepKind, Traversal};

/// Value of a module's variable while loading, if any, or the reason it has none.
pub(super) type Given<'a> = &'a dyn Fn(&str) -> Result<Option<Value>, Diagnostics>;

/// Cached results by name.
type Known = RefCell<HashMap<Arc<str>, Result<Value, Diagnostics>>>;

/// Static scope of a module.
pub(super) struct Statics<'a> {
    pub(super) module: &'a Module,
    pub(super) given: Given<'a>,
    // Cached because each is used more than once: a variable handed down through n modules would be
    // evaluated 2^n times.
    variables: Known,
    locals: Known,
    /// Locals under evaluation; each is needed by the one before it.
    open: RefCell<Vec<Arc<str>>>,
}

impl<'a> Statics<'a> {
    pub(super) fn new(module: &'a Module, given: Given<'a>) -> Self {
        Self {
            module,
            given,
            variables: RefCell::default(),
            locals: RefCell::default(),
            open: RefCell::default(),
        }
    }

    /// Value of an expression that must be known while loading.
    pub(super) fn value(&self, expr: &Expr) -> Result<Value, Diagnostics> {
        self.check_references(expr)?;
        let (value, diags) = eval::evaluate(expr, self);
        if diags.has_errors() {
            Err(diags)
        } else {
            Ok(value)
        }
    }

    /// As [`Statics::value`], with low limits of steps, size and time.
    pub(super) fn limited_value(&self, expr: &Expr) -> Result<Value, Diagnostics> {
        self.check_references(expr)?;
        let scope = Limited {
            statics: self,
            until: Instant::now() + TIME_LIMIT,
        };
        let (value, diags) = eval::evaluate(expr, &scope);
        match diags.has_errors() {
            true => Err(diags),
            false => Ok(value),
        }
    }

    /// Checks that all references of an expression are known. Unlike evaluation, this includes arms
    /// that are not selected and arguments of `try`.
    fn check_references(&self, expr: &Expr) -> Result<(), Diagnostics> {
        let mut faults = Diagnostics::new();
        for traversal in expr.traversals() {
            if let Err(fault) = self.resolve(traversal) {
                faults.append(fault);
            }
        }
        for call in expr.calls() {
            // No provider runs yet while modules are loaded.
            if call.name.starts_with("provider::") {
                let detail = format!(
                    "{} cannot be called here: no provider runs while modules are loaded.",
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

    fn named_value(&self, traversal: &Traversal, name: &str) -> Result<Value, Diagnostics> {
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
                // `const = false` forbids static use even if a value is known.
                if variable.constant == Some(false) {
                    let detail = format!(
                        "var.{name} is used where values must be known when modules are loaded, \
                        but it is declared with const = false."
                    );
                    return fail("Variable is not constant", detail);
                }
                self.variable(variable)
                    .map_err(|cause| with_reference(traversal, cause))
            }
            "local" => match self.module.locals.get_key_value(name) {
                Some((name, _)) => self.local(traversal, name),
                None => fail("Undefined local", format!("Undefined local local.{name}.")),
            },
            "path" if name == "module" => Ok(Value::string(&self.module.dir_text)),
            "path" if name == "root" => Ok(Value::string(".")),
            "path" if name == "cwd" => self.cwd(traversal),
            "terraform" | "tofu" if name == "workspace" => Ok(self.module.workspace_value()),
            _ => {
                let detail = format!(
                    "{traversal} cannot be used here. Use only variables and locals that are \
                    known when modules are loaded."
                );
                fail("Dynamic value in static context", detail)
            }
        }
    }
}

impl Statics<'_> {
    /// Value of a variable, converted and cached.
    pub(super) fn variable(&self, variable: &Variable) -> Result<Value, Diagnostics> {
        if let Some(known) = self.variables.borrow().get(&variable.name) {
            return known.clone();
        }
        let value = self.passed_value(variable);
        let mut known = self.variables.borrow_mut();
        known.insert(variable.name.clone(), value.clone());
        value
    }

    fn passed_value(&self, variable: &Variable) -> Result<Value, Diagnostics> {
        let Some(mut value) = (self.given)(&variable.name)? else {
            let detail = format!(
                "var.{} has no value that is known when modules are loaded.",
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

    fn local(&self, traversal: &Traversal, name: &Arc<str>) -> Result<Value, Diagnostics> {
        // The local is already under evaluation, so its references form a cycle.
        if self.open.borrow().contains(name) {
            let detail =
                format!("local.{name} depends on itself, directly or through other locals.");
            let circle = Diagnostic::error("Circular reference", detail);
            return Err(circle.at(self.module.locals[name].expr.span).into());
        }
        if !self.locals.borrow().contains_key(name) {
            self.evaluate_local(name.clone());
        }
        self.locals.borrow()[name]
            .clone()
            .map_err(|cause| with_reference(traversal, cause))
    }

    /// Evaluates a local after the locals it depends on. Iterative, because a chain of locals may
    /// be long enough to overflow the stack.
    fn evaluate_local(&self, name: Arc<str>) {
        let mut needed = vec![self.dependencies(&name)];
        self.open.borrow_mut().push(name);
        while let Some(first) = needed.last_mut() {
            if let Some(next) = first.pop() {
                if !self.locals.borrow().contains_key(&next) && !self.open.borrow().contains(&next)
                {
                    needed.push(self.dependencies(&next));
                    self.open.borrow_mut().push(next);
                }
                continue;
            }
            needed.pop();
            let Some(name) = self.open.borrow().last().cloned() else {
                return;
            };
            // All needed locals are cached by now, or are part of a cycle that fails here.
            let value = self.value(&self.module.locals[&name].expr);
            self.open.borrow_mut().pop();
            self.locals.borrow_mut().insert(name, value);
        }
    }

    /// Locals that a local refers to, in reverse order.
    fn dependencies(&self, name: &str) -> Vec<Arc<str>> {
        let named = self.module.locals[name].expr.traversals();
        let names = named.iter().rev().filter_map(|traversal| {
            let StepKind::Attr(name) = &traversal.steps.first()?.kind else {
                return None;
            };
            let (name, _) = self.module.locals.get_key_value(name)?;
            (&*traversal.root == "local").then(|| name.clone())
        });
        names.collect()
    }

    fn cwd(&self, traversal: &Traversal) -> Result<Value, Diagnostics> {
        match std::env::current_dir() {
            Ok(dir) => Ok(Value::string(dir.to_string_lossy())),
            Err(error) => {
                let detail = format!("The working directory cannot be determined: {error}.");
                let fault = Diagnostic::error("Failed to get working directory", detail);
                Err(fault.at(traversal.span()).into())
            }
        }
    }
}

/// Maximum number of references reported on the way to an error.
const MAX_REPORTED: usize = 40;

/// Adds the reference that led to an error.
fn with_reference(traversal: &Traversal, mut cause: Diagnostics) -> Diagnostics {
    // A long chain of locals would otherwise repeat the error for each of them.
    if cause.len() >= MAX_REPORTED {
        return cause;
    }
    let detail = format!(
        "{traversal} must be known when modules are loaded, but it depends on a value that is not."
    );
    cause.push(Diagnostic::error("Unable to compute static value", detail).at(traversal.span()));
    cause
}

/// Limit of the steps of a setting.
const MAX_STEPS: u64 = 100_000;
/// Limit of the size of one value of a setting, in bytes.
const MAX_VALUE: u64 = 4 << 20;
/// Limit of the time of a setting.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Scope of settings that are evaluated often, also while the console draws.
struct Limited<'a, 's> {
    statics: &'s Statics<'a>,
    until: Instant,
}

impl Scope for Limited<'_, '_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        self.statics.resolve(traversal)
    }

    fn base_dir(&self) -> &std::path::Path {
        self.statics.base_dir()
    }

    fn stored_input(&self, look: &ExternalInput) -> Result<Option<StoredInput>, Message> {
        self.statics.stored_input(look)
    }

    fn steps(&self) -> u64 {
        MAX_STEPS
    }

    fn max_value_size(&self) -> u64 {
        MAX_VALUE
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        (Instant::now() > self.until).then(|| {
            let detail = format!("The setting did not end within {TIME_LIMIT:?}.");
            Diagnostic::error("Evaluation of a setting too slow", detail)
        })
    }
}

impl Scope for Statics<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        match traversal.steps.first().map(|s| &s.kind) {
            Some(StepKind::Attr(name)) => self.named_value(traversal, name).map(|value| (value, 1)),
            _ => {
                let detail = format!(
                    "The \"{}\" object cannot be used as a whole here.",
                    traversal.root
                );
                Err(Diagnostic::error("Invalid reference", detail)
                    .at(traversal.span())
                    .into())
            }
        }
    }

    fn base_dir(&self) -> &std::path::Path {
        &self.module.dir
    }

    fn stored_input(&self, look: &ExternalInput) -> Result<Option<StoredInput>, Message> {
        let Some(stored) = &self.module.stored else {
            return Ok(None);
        };
        // Paths of a stored configuration are relative to the root. Without a stored result there
        // is no later place that would tell that another content is used.
        let of_root = self.module.path.0.is_empty();
        let found = stored.inputs.get(look).filter(|_| of_root);
        let why = "files that are read while modules are loaded are not stored with a deploy";
        found.map_or_else(|| Err(Message::plain(why)), |found| Ok(Some(found.clone())))
    }
}
