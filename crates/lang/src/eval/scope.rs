//! What a name means: the interface between the evaluator and whoever knows variables, resources,
//! modules.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use crate::diag::{Diagnostic, Diagnostics, Said};
use crate::functions::{Finding, Function, Look};
use crate::source::SourceMap;
use crate::syntax::Traversal;

/// Answers references and everything else that an expression may ask of its surroundings.
pub trait Scope {
    /// The value of the longest beginning of the reference that the scope answers at once, and how
    /// many steps after the root that beginning has. The evaluator applies the remaining steps.
    ///
    /// # Errors
    /// What is wrong with the reference, with places; the expression is then unknown.
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics>;

    /// A function that is not in the language's own table (`provider::…`).
    fn function(&self, _name: &str) -> Option<Arc<Function>> {
        None
    }

    /// The folder from which file functions read.
    fn base_dir(&self) -> &Path {
        Path::new(".")
    }

    /// While planning, functions with chance or time in them are unknown.
    fn planning(&self) -> bool {
        false
    }

    /// The moment of the plan for `plantimestamp`, in RFC 3339; unknown where there is none.
    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    /// Why evaluation is to end here and now, if it is: asked before each call and each round of a
    /// loop. The place is set by the evaluator.
    fn cut(&self) -> Option<Diagnostic> {
        None
    }

    /// Bytes of memory that a value made at once may take.
    fn room(&self) -> u64 {
        u64::MAX
    }

    /// How many steps an expression may take.
    fn steps(&self) -> u64 {
        super::MOST
    }

    /// A function found something outside of the configuration, and is about to answer by it.
    ///
    /// # Errors
    /// Why it must not: what it found is not what it was. The words do not name a place that must
    /// not be shown.
    fn found(&self, _finding: Finding) -> Result<(), Said> {
        Ok(())
    }

    /// What was found at a look when this was approved, where that is known and may be gone by.
    fn approved(&self, _look: &Look) -> Option<String> {
        None
    }

    /// The texts that the places of faults are in, for messages that name such places.
    fn sources(&self) -> SourceMap {
        SourceMap::new()
    }
}

/// A scope of plain names: root name to value. Everything else comes from `parent`, if there is
/// one.
pub struct Bindings<'a> {
    values: BTreeMap<Arc<str>, Value>,
    parent: Option<&'a dyn Scope>,
    inherit: bool,
    sources: Option<SourceMap>,
}

impl<'a> Bindings<'a> {
    /// Names alone.
    pub fn new(values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: None,
            inherit: false,
            sources: None,
        }
    }

    /// These names before those of `parent`.
    pub fn over(parent: &'a dyn Scope, values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: Some(parent),
            inherit: true,
            sources: None,
        }
    }

    /// These names alone, with functions and folders of `parent`.
    pub fn within(parent: &'a dyn Scope, values: BTreeMap<Arc<str>, Value>) -> Bindings<'a> {
        Bindings {
            values,
            parent: Some(parent),
            inherit: false,
            sources: None,
        }
    }

    /// The same, for an expression whose text is in other sources than those of `parent`.
    #[must_use]
    pub fn with_sources(mut self, sources: SourceMap) -> Bindings<'a> {
        self.sources = Some(sources);
        self
    }
}

impl Scope for Bindings<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        if let Some(value) = self.values.get(&traversal.root) {
            return Ok((value.clone(), 0));
        }
        if let (Some(parent), true) = (self.parent, self.inherit) {
            return parent.resolve(traversal);
        }
        let hint = super::place::closest(&traversal.root, self.values.keys().map(|k| &**k));
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

    fn cut(&self) -> Option<Diagnostic> {
        self.parent.and_then(Scope::cut)
    }

    fn room(&self) -> u64 {
        self.parent.map_or(u64::MAX, Scope::room)
    }

    fn steps(&self) -> u64 {
        self.parent.map_or(super::MOST, Scope::steps)
    }

    fn found(&self, finding: Finding) -> Result<(), Said> {
        self.parent.map_or(Ok(()), |p| p.found(finding))
    }

    fn approved(&self, look: &Look) -> Option<String> {
        self.parent.and_then(|p| p.approved(look))
    }

    fn sources(&self) -> SourceMap {
        self.sources
            .clone()
            .unwrap_or_else(|| self.parent.map_or_else(SourceMap::new, Scope::sources))
    }
}
