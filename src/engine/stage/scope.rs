//! Names of one module instance during a walk: resolves the evaluator's references from the walk's
//! [`Values`].

mod faults;
mod functions;
mod orphaned;
mod value;

pub(super) use orphaned::marked;

use super::external_inputs::{Changed, ExternalInputs};
use super::values::{Repetition, Values};
use crate::memory_limit;
use cty::Value;
use lang::addr::{Mode, ModuleInstance, Resource};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics, Message};
use lang::eval;
use lang::functions::{ExternalInput, RecordedInput};
use lang::source::{SourceMap, Span};
use lang::stored::StoredInput;
use lang::syntax::ast::Traversal;
use model::UnixMs;
use provider::ProviderSchema;
use provider::functions::Functions;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::Overlays;
use workspace::refs::{self};

/// Phase in which an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Instances and root variables are unknown.
    Validate,
    Plan,
    Apply,
}

/// Formats a time as RFC 3339, in seconds.
pub fn timestamp(at: UnixMs) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Data shared by all evaluations of one walk.
pub struct WalkContext {
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    pub phase: Phase,
    pub schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub functions: Functions,
    /// Source positions of functions that their providers' schemas lack; set by the walk.
    pub unregistered: BTreeSet<Span>,
    pub values: Values,
    /// Time of the plan, RFC 3339.
    pub timestamp: String,
    /// Cancels every evaluation.
    pub cancel: CancellationToken,
    pub external_inputs: ExternalInputs,
    /// Overlays of resource types.
    pub overlays: Arc<Overlays>,
}

impl WalkContext {
    /// Returns the schema of a resource or data source, if the provider has one.
    pub fn schema(&self, address: &str, resource: &Resource) -> Option<&cty::schema::Schema> {
        let schemas = self.schemas.get(address)?;
        match resource.mode {
            Mode::Managed => schemas.resources.get(resource.kind.as_ref()),
            Mode::Data => schemas.data_sources.get(resource.kind.as_ref()),
            Mode::Ephemeral => schemas.ephemeral.get(resource.kind.as_ref()),
        }
    }
}

/// Names of one module instance, with `each`, `count` and `self` if set.
pub struct ModuleScope<'a> {
    pub context: &'a WalkContext,
    pub module: &'a Module,
    pub instance: &'a ModuleInstance,
    pub repetition: Repetition,
    pub self_value: Option<Value>,
    /// Resource that `self` is an instance of, to check attributes against its schema.
    pub self_of: Option<&'a Resource>,
    /// Check whose assertions are evaluated.
    pub check: Option<&'a str>,
    /// Resource that must not refer to itself.
    pub own_resource: Option<&'a Resource>,
    /// Variable's own value while its validation is checked.
    pub own_variable: Option<(Arc<str>, Value)>,
    /// External inputs of this scope, if kept apart from those of the walk.
    pub external_inputs: Option<&'a ExternalInputs>,
    /// External input that changed during evaluation; `try` does not hide it.
    pub changed: OnceLock<Changed>,
    /// Rounds of the evaluation: calls of `cut`.
    pub stop_checks: AtomicU32,
}

/// Rounds, some milliseconds, after which an evaluation yields.
const ROUNDS_PER_YIELD: u32 = 50_000;

/// Yields this worker of the runtime to other tasks: as many evaluations as cores would block the
/// console's input. The pause lets another thread take the worker over; otherwise it is tried again
/// after as many rounds.
fn yield_to_runtime() {
    // `block_in_place` panics on a single-threaded runtime.
    let here = tokio::runtime::Handle::try_current();
    if here.is_ok_and(|h| h.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread) {
        tokio::task::block_in_place(|| std::thread::sleep(Duration::from_micros(200)));
    }
}

impl<'a> ModuleScope<'a> {
    /// Creates the scope of a module instance without repetition.
    pub fn new(around: &'a WalkContext, module: &'a Module, instance: &'a ModuleInstance) -> Self {
        Self {
            context: around,
            module,
            instance,
            repetition: Repetition::default(),
            self_value: None,
            self_of: None,
            check: None,
            own_resource: None,
            own_variable: None,
            external_inputs: None,
            changed: OnceLock::new(),
            stop_checks: AtomicU32::new(0),
        }
    }

    /// Sets `each` and `count`.
    #[must_use]
    pub fn with_repetition(mut self, repetition: Repetition) -> Self {
        self.repetition = repetition;
        self
    }

    /// Checks the references of an expression, then evaluates it.
    pub fn evaluate(&self, expr: &lang::syntax::ast::Expr) -> (Value, Diagnostics) {
        let mut diags = self.check(&expr.traversals());
        // Checked before the evaluation, so that `try` and `can` do not hide a missing function.
        diags.append(self.missing(|| {
            let calls = expr.calls().into_iter();
            calls.map(|c| (c.name.clone(), c.name_span)).collect()
        }));
        if diags.has_errors() {
            return (Value::dynamic(), diags);
        }
        let (value, mut diags) = eval::evaluate(expr, self);
        self.unchanged(&mut diags, Some(expr.span));
        (value, diags)
    }

    /// Reports a change of external inputs during evaluation, unless a function has reported it.
    pub fn unchanged(&self, diags: &mut Diagnostics, span: Option<Span>) {
        let changed = self.changed.get().map(ToString::to_string);
        if let Some(text) = changed
            && !diags.errors().any(|d| d.detail.contains(text.as_str()))
        {
            let mut d = Diagnostic::error("External input changed", Message::plain(text));
            d.subject = span;
            diags.push(d);
        }
    }
}

impl eval::Scope for ModuleScope<'_> {
    fn resolve(&self, t: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let reference = refs::parse(t)?;
        if let Some((fault, _)) = self.fault(t, &reference) {
            return Err(fault.into());
        }
        self.value_of(t, reference)
    }

    fn function(&self, name: &str) -> Option<Arc<lang::functions::Function>> {
        self.of_provider(name).ok().flatten()
    }

    fn base_dir(&self) -> &Path {
        &self.context.dir
    }

    fn planning(&self) -> bool {
        self.context.phase != Phase::Apply
    }

    fn plan_timestamp(&self) -> Option<String> {
        (self.context.phase != Phase::Validate).then(|| self.context.timestamp.clone())
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        // Checked during evaluation, because one expression can allocate without limit.
        if memory_limit::is_exceeded() {
            let detail = format!(
                "The memory limit of {} was exceeded during this evaluation. Set {} to a higher limit.",
                memory_limit::limit_text(),
                memory_limit::VARIABLE
            );
            return Some(Diagnostic::error("Out of memory", Message::plain(detail)));
        }
        if self.stop_checks.fetch_add(1, Ordering::Relaxed) % ROUNDS_PER_YIELD
            == ROUNDS_PER_YIELD - 1
        {
            yield_to_runtime();
        }
        let asked = self.context.cancel.is_cancelled();
        asked.then(|| {
            Diagnostic::error(
                "Evaluation cancelled",
                "The run was cancelled during this evaluation.",
            )
        })
    }

    fn max_value_size(&self) -> u64 {
        memory_limit::remaining()
    }

    fn record_input(&self, finding: RecordedInput) -> Result<(), Message> {
        let found = self
            .external_inputs
            .unwrap_or(&self.context.external_inputs)
            .record(finding);
        found.map_err(|changed| {
            let said = Message::plain(changed.to_string());
            // Kept here too, because `try` may discard the error.
            self.changed.get_or_init(|| changed);
            said
        })
    }

    fn approved_digest(&self, look: &ExternalInput) -> Option<String> {
        self.external_inputs
            .unwrap_or(&self.context.external_inputs)
            .approved(look)
    }

    fn stored_input(&self, look: &ExternalInput) -> Result<Option<StoredInput>, Message> {
        let stored = self.module.stored.as_ref();
        Ok(stored.and_then(|stored| stored.inputs.get(look)).cloned())
    }

    fn sources(&self) -> SourceMap {
        self.context.sources.clone()
    }
}
