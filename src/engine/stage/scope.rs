//! What names mean in one module instance while a walk goes on: answers the evaluator from the
//! walk's [`Values`].

use super::sights::Sights;
use super::values::{Expansion, Repetition, Values};
use crate::engine::provider::ProviderSchema;
use crate::engine::provider::functions::Functions;
use crate::engine::room;
use crate::engine::words::UnixMs;
use crate::engine::workspace::provider_addr;
use crate::engine::workspace::refs::{self, Ref};
use cty::{Type, Value};
use lang::addr::{AbsResource, InstanceKey, Mode, ModuleInstance, Resource};
use lang::config::{Module, ModuleCall};
use lang::diag::{Diagnostic, Diagnostics, Said};
use lang::eval;
use lang::functions::{Finding, Look};
use lang::source::{SourceMap, Span};
use lang::syntax::ast::{Step, StepKind, Traversal};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// In which part of the work an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known of instances and of root variables.
    Validate,
    Plan,
    Apply,
}

/// A moment in RFC 3339, to the second.
pub fn timestamp(at: UnixMs) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What every evaluation of one walk shares.
pub struct Surroundings {
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    pub phase: Phase,
    pub schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub functions: Functions,
    pub values: Values,
    /// The moment of the plan, RFC 3339.
    pub timestamp: String,
    /// Ends every evaluation.
    pub cancel: CancellationToken,
    pub sights: Sights,
}

impl Surroundings {
    /// The schema of a resource or data source, where the provider has one.
    pub fn schema(&self, address: &str, resource: &Resource) -> Option<&cty::schema::Schema> {
        let schemas = self.schemas.get(address)?;
        match resource.mode {
            Mode::Managed => schemas.resources.get(resource.kind.as_ref()),
            Mode::Data => schemas.data_sources.get(resource.kind.as_ref()),
            Mode::Ephemeral => schemas.ephemeral.get(resource.kind.as_ref()),
        }
    }
}

/// The names of one module instance, with `each`, `count` and `self` where they are given.
pub struct ModuleScope<'a> {
    pub around: &'a Surroundings,
    pub module: &'a Module,
    pub instance: &'a ModuleInstance,
    pub repetition: Repetition,
    pub self_value: Option<Value>,
    /// The resource that `self` is an instance of, where what follows is to be checked against its
    /// schema.
    pub self_of: Option<&'a Resource>,
    /// The check whose assertions are evaluated.
    pub check: Option<&'a str>,
    /// A resource that must not refer to itself.
    pub own: Option<&'a Resource>,
    /// A variable's own value, while its validation is checked.
    pub own_variable: Option<(Arc<str>, Value)>,
    /// Where what evaluation finds is kept instead of with the walk.
    pub sights: Option<&'a Sights>,
    /// What evaluation here found changed: no `try` gets over it.
    pub changed: OnceLock<String>,
    /// How often evaluation has asked whether it is to go on.
    pub rounds: AtomicU32,
}

/// After so many rounds, some milliseconds, an evaluation is one that takes its time.
const MANY: u32 = 50_000;

/// Lets others have this thread's part of the runtime: as many evaluations as there are cores would
/// keep the console from hearing a key. The pause is for another thread to take it; where none
/// does, it is tried again after as many rounds.
fn make_way() {
    let here = tokio::runtime::Handle::try_current();
    if here.is_ok_and(|h| h.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread) {
        tokio::task::block_in_place(|| std::thread::sleep(Duration::from_micros(200)));
    }
}

impl<'a> ModuleScope<'a> {
    /// Names of a module instance alone.
    pub fn new(around: &'a Surroundings, module: &'a Module, instance: &'a ModuleInstance) -> Self {
        Self {
            around,
            module,
            instance,
            repetition: Repetition::default(),
            self_value: None,
            self_of: None,
            check: None,
            own: None,
            own_variable: None,
            sights: None,
            changed: OnceLock::new(),
            rounds: AtomicU32::new(0),
        }
    }

    /// With `each` and `count`.
    #[must_use]
    pub fn repeated(mut self, repetition: Repetition) -> Self {
        self.repetition = repetition;
        self
    }

    /// The value of an expression, after its references were checked.
    pub fn evaluate(&self, expr: &lang::syntax::ast::Expr) -> (Value, Diagnostics) {
        let diags = self.check(&expr.traversals());
        if diags.has_errors() {
            return (Value::dynamic(), diags);
        }
        let (value, mut diags) = eval::evaluate(expr, self);
        self.unchanged(&mut diags, Some(expr.span));
        (value, diags)
    }

    /// What was evaluated here must rest on nothing that has changed meanwhile; where no function
    /// could say so, it is said now.
    pub fn unchanged(&self, diags: &mut Diagnostics, span: Option<Span>) {
        if let Some(text) = self.changed.get()
            && !diags.errors().any(|d| d.detail.contains(text.as_str()))
        {
            let mut d = Diagnostic::error(
                "Something has changed meanwhile",
                Said::plain(text.as_str()),
            );
            d.subject = span;
            diags.push(d);
        }
    }

    /// Faults of references that show without evaluating: undeclared resources and modules first;
    /// where there are none, undeclared names.
    pub fn check(&self, traversals: &[&Traversal]) -> Diagnostics {
        let mut things = Diagnostics::new();
        let mut names = Diagnostics::new();
        for t in traversals {
            match refs::parse(t) {
                Err(d) => things.push(d),
                // Which outputs a declared module has is the affair of evaluation, so that `try`
                // may ask for one.
                Ok(Ref::ModuleOutput { call, .. }) if self.module.calls.contains_key(&call) => {}
                Ok(reference) => match self.fault(t, &reference) {
                    Some((d, true)) => things.push(d),
                    Some((d, false)) => names.push(d),
                    None => {}
                },
            }
        }
        if things.has_errors() { things } else { names }
    }

    /// What is wrong with a reference, and whether that shows before anything is evaluated.
    fn fault(&self, t: &Traversal, reference: &Ref) -> Option<(Diagnostic, bool)> {
        let error = |summary: &str, detail: String| Diagnostic::error(summary, detail).at(t.span());
        match reference {
            Ref::Var(name) if !self.module.variables.contains_key(name) => {
                let detail = format!(
                    "An input variable with the name {name:?} has not been declared.{}",
                    suggestion(name, self.module.variables.keys())
                );
                Some((
                    error("Reference to undeclared input variable", detail),
                    false,
                ))
            }
            Ref::Local(name) if !self.module.locals.contains_key(name) => {
                let detail = format!(
                    "A local value with the name {name:?} has not been declared.{}",
                    suggestion(name, self.module.locals.keys())
                );
                Some((error("Reference to undeclared local value", detail), false))
            }
            Ref::Each(_) if self.repetition.each_key.is_none() => {
                let detail = "The \"each\" object can be used only in \"module\" or \"resource\" blocks, and only when the \"for_each\" argument is set.";
                Some((
                    error(
                        "Reference to \"each\" in context without for_each",
                        detail.to_owned(),
                    ),
                    false,
                ))
            }
            Ref::Each(attr) if !matches!(&**attr, "key" | "value") => {
                let detail = format!(
                    "The \"each\" object does not have an attribute named {attr:?}. The supported attributes are each.key and each.value, the current key and value pair of the \"for_each\" attribute set."
                );
                Some((error("Invalid \"each\" attribute", detail), false))
            }
            Ref::Count(attr) if &**attr != "index" => {
                let detail = format!(
                    "The \"count\" object does not have an attribute named {attr:?}. The only supported attribute is count.index, which is the index of each instance of a resource block that has the \"count\" argument set."
                );
                Some((error("Invalid \"count\" attribute", detail), false))
            }
            Ref::Count(_) if self.repetition.count_index.is_none() => {
                let detail = "The \"count\" object can only be used in \"module\", \"resource\", and \"data\" blocks, and only when the \"count\" argument is set.";
                Some((
                    error(
                        "Reference to \"count\" in non-counted context",
                        detail.to_owned(),
                    ),
                    false,
                ))
            }
            Ref::SelfObject if self.self_value.is_none() => {
                let detail = "The \"self\" object is not available in this context. It can be used only in resource provisioner, connection, and postcondition blocks.";
                Some((error("Invalid \"self\" reference", detail.to_owned()), true))
            }
            Ref::SelfObject => self.self_fault(t).map(|d| (d, true)),
            Ref::Path(attr) if !matches!(&**attr, "module" | "root" | "cwd") => {
                let detail =
                    format!("The \"path\" object does not have an attribute named {attr:?}.");
                Some((error("Invalid \"path\" attribute", detail), false))
            }
            Ref::Terraform(attr) if !matches!(&**attr, "workspace" | "applying") => {
                let detail = format!(
                    "The {:?} object does not have an attribute named {attr:?}. The only supported attributes are workspace and applying.",
                    &*t.root
                );
                Some((error("Invalid \"terraform\" attribute", detail), false))
            }
            Ref::Module { call, .. } if !self.module.calls.contains_key(call) => {
                let detail = format!(
                    "No module call named {call:?} is declared in {}.{}",
                    self.whose(),
                    suggestion(call, self.module.calls.keys())
                );
                Some((error("Reference to undeclared module", detail), true))
            }
            Ref::ModuleOutput { call, output, key } => self
                .module_fault(t, call, output, key.is_some())
                .map(|d| (d, true)),
            Ref::Resource {
                resource,
                used,
                key,
            } => self
                .resource_fault(t, resource, *used, key.as_ref())
                .map(|d| (d, true)),
            Ref::Check(_) => Some((
                error(
                    "Invalid reference",
                    "A check cannot be referred to in expressions.".to_owned(),
                ),
                true,
            )),
            _ => None,
        }
    }

    fn whose(&self) -> String {
        if self.module.path.is_root() {
            "the root module".to_owned()
        } else {
            self.module.path.to_string()
        }
    }

    fn module_fault(
        &self,
        t: &Traversal,
        call: &Arc<str>,
        output: &Arc<str>,
        keyed: bool,
    ) -> Option<Diagnostic> {
        let Some(found) = self.module.calls.get(call) else {
            let detail = format!(
                "No module call named {call:?} is declared in {}.{}",
                self.whose(),
                suggestion(call, self.module.calls.keys())
            );
            return Some(Diagnostic::error("Reference to undeclared module", detail).at(t.span()));
        };
        let repeated = found.count.is_some() || found.for_each.is_some();
        if repeated && !keyed {
            // Not an output at all: an attribute of a tuple or object of instances; the evaluator
            // says so.
            return None;
        }
        let child = found.module.as_ref()?;
        if child.outputs.contains_key(output) {
            return None;
        }
        let step = t.steps.get(if keyed { 2 } else { 1 });
        let detail = format!(
            "This object does not have an attribute named {output:?}.{}",
            suggestion(output, child.outputs.keys())
        );
        Some(
            Diagnostic::error("Unsupported attribute", detail)
                .at(step.map_or(t.span(), |s| s.span))
                .within(t.span()),
        )
    }

    fn resource_fault(
        &self,
        t: &Traversal,
        resource: &Resource,
        used: usize,
        key: Option<&InstanceKey>,
    ) -> Option<Diagnostic> {
        let Some(declared) = self.module.resources.get(resource) else {
            let what = if resource.mode == Mode::Data {
                "data resource"
            } else {
                "managed resource"
            };
            let names = self
                .module
                .resources
                .keys()
                .filter(|r| r.mode == resource.mode)
                .map(|r| Arc::from(r.to_string()))
                .collect::<Vec<Arc<str>>>();
            let hint = suggestion(&Arc::from(resource.to_string()), names.iter());
            let detail = format!(
                "A {what} {:?} {:?} has not been declared in {}.{hint}",
                &*resource.kind,
                &*resource.name,
                self.whose()
            );
            return Some(
                Diagnostic::error("Reference to undeclared resource", detail).at(t.span()),
            );
        };
        if declared.check.is_some() && declared.check.as_deref() != self.check {
            let detail = format!(
                "{resource} belongs to a check, and nothing outside of that check may refer to it."
            );
            return Some(Diagnostic::error("Reference to scoped resource", detail).at(t.span()));
        }
        // Of a resource without instances nothing is worked out, and so it is instances that are
        // refused.
        if self.own == Some(resource) && self.around.phase != Phase::Validate {
            let detail = "Configuration for a resource may not refer to itself.";
            return Some(
                Diagnostic::error("Self-referential block", detail)
                    .at(t.span())
                    .about(resource.to_string()),
            );
        }
        let next = t.steps.get(used);
        let repeated = declared.count.is_some() || declared.for_each.is_some();
        if repeated
            && key.is_none()
            && let Some(Step {
                kind: StepKind::Attr(_),
                span,
            }) = next
        {
            let how = if declared.count.is_some() {
                "count"
            } else {
                "for_each"
            };
            let detail = format!(
                "Because {resource} has {how:?} set, its attributes must be accessed on specific instances. For example: {resource}[{}]",
                if how == "count" {
                    "count.index"
                } else {
                    "each.key"
                }
            );
            return Some(
                Diagnostic::error("Missing resource instance key", detail)
                    .at(t.root_span.to(*span)),
            );
        }
        if !repeated && key.is_some() {
            let detail = format!(
                "Because {resource} does not have \"count\" or \"for_each\" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this resource."
            );
            return Some(
                Diagnostic::error("Unexpected resource instance key", detail).at(t.span()),
            );
        }
        let address = provider_addr::for_resource(&self.around.root, self.module, declared).address;
        let schema = self.around.schema(&address, resource)?;
        if let Some(Step {
            kind: StepKind::Attr(name),
            span,
        }) = next
            && &**name == "count"
        {
            let detail = format!(
                "How many instances there are is said by length({resource}), and by no attribute."
            );
            return Some(
                Diagnostic::error("Invalid resource count attribute", detail)
                    .at(t.root_span.to(*span)),
            );
        }
        lang::decode::traversal_fault(&schema.block, &t.steps[used..]).map(|d| d.within(t.span()))
    }

    /// What is wrong with what follows `self`.
    fn self_fault(&self, t: &Traversal) -> Option<Diagnostic> {
        let declared = self.module.resources.get(self.self_of?)?;
        let address = provider_addr::for_resource(&self.around.root, self.module, declared).address;
        let schema = self.around.schema(&address, &declared.name)?;
        lang::decode::traversal_fault(&schema.block, &t.steps).map(|d| d.within(t.span()))
    }

    fn value_of(&self, t: &Traversal, reference: Ref) -> Result<(Value, usize), Diagnostics> {
        let values = &self.around.values;
        let later = Value::dynamic;
        Ok(match reference {
            Ref::Var(name) => match &self.own_variable {
                Some((own, value)) if *own == name => (value.clone(), 1),
                _ => (
                    values.variable(self.instance, &name).unwrap_or_else(later),
                    1,
                ),
            },
            Ref::Local(name) => (values.local(self.instance, &name).unwrap_or_else(later), 1),
            Ref::Each(name) => {
                let value = if &*name == "key" {
                    &self.repetition.each_key
                } else {
                    &self.repetition.each_value
                };
                (value.clone().unwrap_or_else(later), 1)
            }
            Ref::Count(_) => (self.repetition.count_index.clone().unwrap_or_else(later), 1),
            Ref::SelfObject => (self.self_value.clone().unwrap_or_else(later), 0),
            Ref::Path(name) => (self.path(&name), 1),
            Ref::Terraform(name) if &*name == "workspace" => (Value::string("default"), 1),
            Ref::Terraform(_) => {
                let applying = match self.around.phase {
                    Phase::Validate => Value::unknown(Type::Bool),
                    phase => Value::bool(phase == Phase::Apply),
                };
                (applying.mark(cty::Mark::Ephemeral), 1)
            }
            Ref::Resource {
                resource,
                used,
                key,
            } => {
                let abs = AbsResource {
                    module: self.instance.clone(),
                    resource,
                };
                let used = used - usize::from(key.is_some());
                (
                    values
                        .resource(&abs)
                        .unwrap_or_else(|| self.nothing_yet(&abs.resource)),
                    used,
                )
            }
            Ref::ModuleOutput { call, key, output } => self.module_output(t, &call, key, &output),
            Ref::Module { call, .. } => (self.whole_call(&call), 1),
            Ref::Check(_) => (later(), t.steps.len()),
        })
    }

    /// A resource that is not worked out: while planning, one that asks how many it is has no
    /// instances so far.
    fn nothing_yet(&self, resource: &Resource) -> Value {
        if resource.mode == Mode::Ephemeral {
            return Value::dynamic().mark(cty::Mark::Ephemeral);
        }
        let declared = self
            .module
            .resources
            .get(resource)
            .filter(|_| self.around.phase == Phase::Plan);
        match declared {
            Some(r) if r.count.is_some() => Value::empty_tuple(),
            Some(r) if r.for_each.is_some() => Value::empty_object(),
            _ => Value::dynamic(),
        }
    }

    fn path(&self, which: &str) -> Value {
        match which {
            "module" => Value::string(&self.module.dir_text),
            "root" => Value::string(&self.around.root.dir_text),
            _ => Value::string(
                std::path::absolute(&self.around.dir)
                    .unwrap_or_else(|_| self.around.dir.clone())
                    .to_string_lossy(),
            ),
        }
    }

    fn module_output(
        &self,
        t: &Traversal,
        call: &Arc<str>,
        key: Option<InstanceKey>,
        output: &Arc<str>,
    ) -> (Value, usize) {
        if self.around.phase == Phase::Validate {
            return (self.whole_call(call), 1);
        }
        let expansion = self.around.values.call(self.instance, call);
        match (expansion.as_deref(), key) {
            (None, _) => (Value::dynamic(), t.steps.len()),
            (Some(Expansion::Single), None) => {
                let child = self.instance.child(call, InstanceKey::None);
                (
                    self.around
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    2,
                )
            }
            (Some(Expansion::Count(n)), Some(InstanceKey::Int(i))) if i < *n => {
                let child = self.instance.child(call, InstanceKey::Int(i));
                (
                    self.around
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    3,
                )
            }
            (Some(Expansion::Each(items)), Some(InstanceKey::Str(k)))
                if items.iter().any(|(name, _)| *name == k) =>
            {
                let child = self.instance.child(call, InstanceKey::Str(k));
                (
                    self.around
                        .values
                        .output(&child, output)
                        .unwrap_or_else(Value::dynamic),
                    3,
                )
            }
            _ => (self.whole_call(call), 1),
        }
    }

    /// A module call as an object (or tuple, or object of objects) of its outputs.
    fn whole_call(&self, call: &Arc<str>) -> Value {
        if let Some(value) = self.around.values.whole_call(self.instance, call) {
            return value;
        }
        let Some(expansion) = self.around.values.call(self.instance, call) else {
            return Value::dynamic();
        };
        let Some(declared) = self.module.calls.get(call) else {
            return Value::dynamic();
        };
        let Some(module) = declared.module.as_ref() else {
            return Value::dynamic();
        };
        if self.around.phase == Phase::Validate {
            return Value::unknown(outputs_type(declared, module));
        }
        let one = |key: InstanceKey| {
            let child = self.instance.child(call, key);
            Value::object(module.outputs.keys().map(|name| {
                (
                    name.clone(),
                    self.around
                        .values
                        .output(&child, name)
                        .unwrap_or_else(Value::dynamic),
                )
            }))
        };
        let value = match &*expansion {
            Expansion::Single => one(InstanceKey::None),
            Expansion::Disabled => Value::null(Type::Dynamic),
            Expansion::Count(n) => {
                Value::tuple((0..*n).map(|i| one(InstanceKey::Int(i))).collect())
            }
            Expansion::Each(items) => Value::object(
                items
                    .iter()
                    .map(|(k, _)| (k.clone(), one(InstanceKey::Str(k.clone())))),
            ),
            Expansion::Unknown { .. } => Value::dynamic(),
        };
        self.around
            .values
            .put_whole_call(self.instance, call, value.clone());
        value
    }
}

/// The type of a module call as long as nothing is known of it: which outputs there are, and
/// nothing of what they are.
fn outputs_type(call: &ModuleCall, module: &Module) -> Type {
    let one = Type::object(
        module
            .outputs
            .keys()
            .map(|name| (name.clone(), Type::Dynamic)),
    );
    match (&call.count, &call.for_each) {
        (Some(_), _) => Type::list(one),
        (_, Some(_)) => Type::map(one),
        _ => one,
    }
}

/// "Did you mean …?" where a declared name is close.
fn suggestion<'n>(given: &Arc<str>, names: impl Iterator<Item = &'n Arc<str>>) -> String {
    let close = eval::closest(given, names.map(|n| &**n));
    close
        .map(|n| format!(" Did you mean {n:?}?"))
        .unwrap_or_default()
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
        // `provider::NAME::FUNCTION`, or with an alias in between: no configuration is needed, so
        // all aliases are alike.
        let (provider, rest) = name.strip_prefix("provider::")?.split_once("::")?;
        let function = rest
            .rsplit_once("::")
            .map_or(rest, |(_, function)| function);
        self.around
            .functions
            .find(&provider_addr::address_of(self.module, provider), function)
    }

    fn base_dir(&self) -> &Path {
        &self.around.dir
    }

    fn planning(&self) -> bool {
        self.around.phase != Phase::Apply
    }

    fn plan_timestamp(&self) -> Option<String> {
        (self.around.phase != Phase::Validate).then(|| self.around.timestamp.clone())
    }

    fn cut(&self) -> Option<Diagnostic> {
        if room::is_over() {
            let detail = format!(
                "More memory is taken than the {} that may be, and this is what was being worked out. {} sets another limit.",
                room::words(),
                room::VARIABLE
            );
            return Some(Diagnostic::error("Out of memory", Said::plain(detail)));
        }
        if self.rounds.fetch_add(1, Ordering::Relaxed) % MANY == MANY - 1 {
            make_way();
        }
        let asked = self.around.cancel.is_cancelled();
        asked.then(|| {
            Diagnostic::error(
                "Given up",
                "The end was asked for while this was being worked out.",
            )
        })
    }

    fn room(&self) -> u64 {
        room::left()
    }

    fn found(&self, finding: Finding) -> Result<(), String> {
        let found = self.sights.unwrap_or(&self.around.sights).found(finding);
        if let Err(text) = &found {
            self.changed.get_or_init(|| text.clone());
        }
        found
    }

    fn approved(&self, look: &Look) -> Option<String> {
        self.sights.unwrap_or(&self.around.sights).approved(look)
    }

    fn sources(&self) -> SourceMap {
        self.around.sources.clone()
    }
}
