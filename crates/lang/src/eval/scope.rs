//! Interface between the evaluator and the owner of variables, resources and modules.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::functions::{ExternalInput, Function, RecordedInput};
use crate::source::SourceMap;
use crate::stored::StoredInput;
use crate::syntax::Traversal;

/// Resolves references and provides other context of an expression.
pub trait Scope {
    /// Resolves the longest prefix of the reference that the scope knows. Returns its value and the
    /// number of steps used after the root; the evaluator applies the others.
    ///
    /// # Errors
    /// The reference is invalid. The diagnostics have source positions, and the expression is
    /// unknown.
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics>;

    /// Function that is not built in (`provider::…`).
    fn function(&self, _name: &str) -> Option<Arc<Function>> {
        None
    }

    /// Base directory of file functions.
    fn base_dir(&self) -> &Path {
        Path::new(".")
    }

    /// True while planning, where impure functions are unknown.
    fn planning(&self) -> bool {
        false
    }

    /// Time of the plan for `plantimestamp`, in RFC 3339; `None` makes it unknown.
    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    /// Reason to stop evaluation now, if any. Called before each call and each iteration. The
    /// evaluator sets the source position.
    fn stop_reason(&self) -> Option<Diagnostic> {
        None
    }

    /// Maximum size in bytes of one new value.
    fn max_value_size(&self) -> u64 {
        u64::MAX
    }

    /// Maximum number of steps of an expression.
    fn steps(&self) -> u64 {
        super::MAX_STEPS
    }

    /// Records an external input before a function uses it for its result.
    ///
    /// # Errors
    /// The input differs from the recorded one. The message does not name a sensitive path.
    fn record_input(&self, _finding: RecordedInput) -> Result<(), Message> {
        Ok(())
    }

    /// Approved digest of an external input, if the scope has one that may be used instead.
    fn approved_digest(&self, _look: &ExternalInput) -> Option<String> {
        None
    }

    /// Stored result of a file function, if the configuration is a stored one.
    ///
    /// # Errors
    /// The function cannot be called in this scope, because its result is not stored.
    fn stored_input(&self, _look: &ExternalInput) -> Result<Option<StoredInput>, Message> {
        Ok(None)
    }

    /// Texts that source positions of errors refer to, for messages that name these positions.
    fn sources(&self) -> SourceMap {
        SourceMap::new()
    }
}

/// Scope of root names. Everything else comes from `parent`, if there is one.
pub struct Bindings<'a> {
    values: BTreeMap<Arc<str>, Value>,
    parent: Option<&'a dyn Scope>,
    inherit: bool,
    sources: Option<SourceMap>,
}

impl<'a> Bindings<'a> {
    /// Scope of only these names.
    pub fn new(values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: None,
            inherit: false,
            sources: None,
        }
    }

    /// Scope of these names, before those of `parent`.
    pub fn extending(parent: &'a dyn Scope, values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: Some(parent),
            inherit: true,
            sources: None,
        }
    }

    /// Scope of only these names, with functions and base directory of `parent`.
    pub fn isolated(parent: &'a dyn Scope, values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: Some(parent),
            inherit: false,
            sources: None,
        }
    }

    /// Sets the sources of an expression whose text is not in those of `parent`.
    #[must_use]
    pub fn with_sources(mut self, sources: SourceMap) -> Bindings<'a> {
        self.sources = Some(sources);
        self
    }
}

impl Scope for Bindings<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        if let Some(value) = self.values.get(&traversal.root) {
            // Only the name is resolved here, and the evaluator applies all steps.
            return Ok((value.clone(), 0));
        }
        if let (Some(parent), true) = (self.parent, self.inherit) {
            return parent.resolve(traversal);
        }
        let hint = super::error_span::closest(&traversal.root, self.values.keys().map(|k| &**k));
        let hint = hint
            .map(|name| format!(" Did you mean {name:?}?"))
            .unwrap_or_default();
        let detail = format!("There is no variable named {:?}.{hint}", &*traversal.root);
        Err(Diagnostic::error("Unknown variable", detail)
            .at(traversal.root_span)
            .into())
    }

    fn function(&self, name: &str) -> Option<Arc<Function>> {
        self.parent.and_then(|p| p.function(name))
    }

    fn base_dir(&self) -> &Path {
        self.parent.map_or(Path::new("."), Scope::base_dir)
    }

    fn planning(&self) -> bool {
        self.parent.is_some_and(Scope::planning)
    }

    fn plan_timestamp(&self) -> Option<String> {
        self.parent.and_then(Scope::plan_timestamp)
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        self.parent.and_then(Scope::stop_reason)
    }

    fn max_value_size(&self) -> u64 {
        self.parent.map_or(u64::MAX, Scope::max_value_size)
    }

    fn steps(&self) -> u64 {
        self.parent.map_or(super::MAX_STEPS, Scope::steps)
    }

    fn record_input(&self, finding: RecordedInput) -> Result<(), Message> {
        self.parent.map_or(Ok(()), |p| p.record_input(finding))
    }

    fn approved_digest(&self, look: &ExternalInput) -> Option<String> {
        self.parent.and_then(|p| p.approved_digest(look))
    }

    fn stored_input(&self, look: &ExternalInput) -> Result<Option<StoredInput>, Message> {
        self.parent.map_or(Ok(None), |p| p.stored_input(look))
    }

    fn sources(&self) -> SourceMap {
        self.sources
            .clone()
            .unwrap_or_else(|| self.parent.map_or_else(SourceMap::new, Scope::sources))
    }
}
