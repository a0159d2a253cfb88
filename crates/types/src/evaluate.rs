//! Evaluates the expressions of a type for one object.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cty::{Mark, Type, Value};
use lang::diag::{Diagnostic, Diagnostics, Message};
use lang::eval::{self, Bindings, Scope};
use lang::functions::RecordedInput;
use lang::syntax::{Expr, ExprKind, Traversal};
use model::Readiness;

use crate::settings::{Given, Layer, TypeSettings};

/// Names of the object and of the other expressions of the block.
pub(crate) const SELF: &str = "self";
pub(crate) const STATUS: &str = "status";
pub(crate) const READY: &str = "ready";

/// Limit of the steps of one expression.
const MAX_STEPS: u64 = 100_000;
/// Limit of the size of one value, in bytes.
const MAX_VALUE: u64 = 4 << 20;
/// Limit of the time of one expression.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Text in place of a sensitive value.
const SENSITIVE: &str = "(sensitive)";

/// Readiness of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its readiness.
    pub readiness: Readiness,
    /// Value of the status attribute; `None` if the type has none, or the value is unknown, null or
    /// sensitive.
    pub status: Option<String>,
}

impl TypeSettings {
    /// Readiness of an object; `None` if the type has neither `ready` nor `states`. An expression
    /// that fails for this object makes its readiness unknown.
    pub fn condition(&self, object: &Value) -> Option<Condition> {
        if self.ready.is_none() && self.states.is_none() {
            return None;
        }
        let values = self.values(object);
        let status = values.get(STATUS).and_then(raw);
        let ready = values.get(READY).map(|v| v.clone().unmark_deep().0);
        let ready = ready.and_then(|v| v.as_bool());
        let states = self.states.as_ref().map(|states| &states.value);
        let mapped = states.and_then(|states| states.get(status.as_ref()?));
        let readiness = match (ready, mapped) {
            (Some(true), _) => Readiness::Available,
            // The expression decides that the object is not available.
            (Some(false), Some(Readiness::Available)) => Readiness::Unavailable,
            (_, Some(mapped)) => *mapped,
            (Some(false), None) => Readiness::Unavailable,
            (None, None) => Readiness::Unknown,
        };
        // A sensitive status may decide, but is not shown.
        let shown = values.get(STATUS).filter(|v| !v.contains_marked());
        Some(Condition {
            readiness,
            status: shown.and_then(raw),
        })
    }

    /// Columns of an object: names and texts. A value that is null, unknown or fails is empty.
    pub fn columns_of(&self, object: &Value) -> Vec<(String, String)> {
        let Some(columns) = &self.columns else {
            return Vec::new();
        };
        let scope = self.values(object);
        let text = |expr: &Expr| match evaluate(expr, scope.clone()) {
            (_, found) if found.has_errors() => String::new(),
            (value, _) if value.contains_marked() => SENSITIVE.to_owned(),
            (value, _) => raw(&value).unwrap_or_default(),
        };
        let layer = columns.origin.layer;
        let shown = |expr: &Expr| match hides(layer, expr, &scope) {
            true => SENSITIVE.to_owned(),
            false => text(expr),
        };
        let columns = columns.value.iter();
        columns.map(|(name, e)| (name.clone(), shown(e))).collect()
    }

    /// Values of the object, its status and its `ready` expression, as far as they can be computed.
    fn values(&self, object: &Value) -> BTreeMap<Arc<str>, Value> {
        let object = self.with_redactions(object);
        let mut values = BTreeMap::from([(Arc::from(SELF), object)]);
        // One of them may use the other; overlays with a cycle were left out.
        let mut rest: Vec<(&str, &Expr)> = self.named().collect();
        let layer = |name: &str| {
            let origin = |given: &Option<Given<Expr>>| given.as_ref().map(|g| g.origin.layer);
            match name {
                STATUS => origin(&self.status),
                _ => origin(&self.ready),
            }
        };
        for _ in 0..rest.len() {
            rest.retain(|(name, expr)| {
                let needed = expr.traversals().into_iter().map(|t| &*t.root);
                let ready = needed.clone().all(|root| values.contains_key(root));
                if ready {
                    let (value, found) = evaluate(expr, values.clone());
                    let value = match found.has_errors() {
                        true => Value::unknown(Type::Dynamic),
                        false if layer(name).is_some_and(|l| hides(l, expr, &values)) => {
                            value.mark(Mark::Sensitive)
                        }
                        false => value,
                    };
                    values.insert(Arc::from(*name), value);
                }
                !ready
            });
        }
        values
    }

    /// The expressions that others of the block may use: `status` and `ready`.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &Expr)> {
        let ready = self.ready.as_ref().map(|ready| &ready.value);
        let status = self.status.as_ref().map(|status| &status.value);
        let status = status.map(|status| (STATUS, status));
        status.into_iter().chain(ready.map(|ready| (READY, ready)))
    }

    /// Gives a type without `status` the only attribute that its `ready` expression uses.
    pub(crate) fn with_implied_status(mut self) -> TypeSettings {
        if self.status.is_some() {
            return self;
        }
        let Some(ready) = &self.ready else {
            return self;
        };
        let mut used = ready.value.traversals().into_iter();
        let first = used
            .next()
            .filter(|t| &*t.root == SELF && !t.steps.is_empty());
        if let Some(first) = first
            && used.all(|other| other.to_string() == first.to_string())
        {
            let text: Arc<str> = first.to_string().into();
            self.status = Some(Given {
                value: Expr {
                    kind: ExprKind::Traversal(first.clone()),
                    span: first.span(),
                },
                text,
                origin: ready.origin.clone(),
            });
        }
        self
    }
}

/// Returns true if a called module uses a sensitive value. Its caller has marked the value, so no
/// function of the module makes it visible.
fn hides(layer: Layer, expr: &Expr, values: &BTreeMap<Arc<str>, Value>) -> bool {
    layer == Layer::Module
        && expr.traversals().into_iter().any(|traversal| {
            let used = Expr {
                kind: ExprKind::Traversal(traversal.clone()),
                span: traversal.span(),
            };
            let (value, found) = evaluate(&used, values.clone());
            let whole = || {
                values
                    .get(&traversal.root)
                    .is_some_and(Value::contains_marked)
            };
            // An attribute that is missing here may be sensitive for another object.
            value.contains_marked() || (found.has_errors() && whole())
        })
}

/// Scope without names and without files: readiness depends on the object alone. Its limits are
/// low, because these expressions are evaluated often, and a wrong one must not stop a deploy or
/// the console.
struct ObjectOnly {
    until: Instant,
}

impl Scope for ObjectOnly {
    fn steps(&self) -> u64 {
        MAX_STEPS
    }

    fn max_value_size(&self) -> u64 {
        MAX_VALUE
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        (Instant::now() > self.until).then(|| {
            let detail = format!("The expression did not end within {TIME_LIMIT:?}.");
            Diagnostic::error("Evaluation of a type too slow", detail)
        })
    }

    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let mut diags = Diagnostics::new();
        let detail = format!(
            "{} cannot be used here. Use self (the attributes of the object), status and ready.",
            traversal.root
        );
        diags.error(traversal.span(), "Invalid reference in a type", detail);
        Err(diags)
    }

    fn record_input(&self, _finding: RecordedInput) -> Result<(), Message> {
        Err(Message::plain(
            "a type block cannot read files or directories",
        ))
    }
}

/// Evaluates an expression with these names.
pub(crate) fn evaluate(expr: &Expr, values: BTreeMap<Arc<str>, Value>) -> (Value, Diagnostics) {
    let scope = ObjectOnly {
        until: Instant::now() + TIME_LIMIT,
    };
    eval::evaluate(expr, &Bindings::isolated(&scope, values))
}

/// Text of a known primitive value.
fn raw(value: &Value) -> Option<String> {
    let (value, _) = value.clone().unmark_deep();
    if value.is_null() || !value.is_known() {
        return None;
    }
    let number = || value.as_number().map(ToString::to_string);
    let flag = || value.as_bool().map(|flag| flag.to_string());
    value
        .as_str()
        .map(str::to_owned)
        .or_else(number)
        .or_else(flag)
}
