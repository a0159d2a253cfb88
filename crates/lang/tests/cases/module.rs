//! Scope of a module with planned values of its resources.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Value;
use indexmap::IndexMap;
use lang::body::Attribute;
use lang::diag::{Diagnostic, Diagnostics};
use lang::eval::{Bindings, Scope, evaluate};
use lang::functions::{Function, of_builtin_provider};
use lang::source::SourceMap;
use lang::syntax::{Expr, StepKind, Traversal};
use serde_json::Value as Json;

/// Names of one root module.
pub(super) struct Module {
    pub(super) locals: BTreeMap<Arc<str>, Arc<Expr>>,
    pub(super) variables: BTreeMap<Arc<str>, Value>,
    pub(super) resources: BTreeMap<Arc<str>, IndexMap<Arc<str>, Attribute>>,
    pub(super) known: RefCell<BTreeMap<Arc<str>, Value>>,
    pub(super) faults: RefCell<Diagnostics>,
    pub(super) folder: PathBuf,
    pub(super) sources: SourceMap,
}

impl Scope for Module {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let refuse = |what: &'static str| {
            Err(Diagnostic::error("Invalid reference", what)
                .at(traversal.span())
                .into())
        };
        let Some(StepKind::Attr(name)) = traversal.steps.first().map(|s| &s.kind) else {
            return refuse("no attribute");
        };
        match &*traversal.root {
            "local" => {
                if let Some(value) = self.known.borrow().get(name) {
                    return Ok((value.clone(), 1));
                }
                let Some(expr) = self.locals.get(name).cloned() else {
                    return refuse("no such local");
                };
                self.known
                    .borrow_mut()
                    .insert(name.clone(), Value::dynamic());
                let (value, diags) = evaluate(&expr, self);
                self.faults.borrow_mut().append(diags);
                self.known.borrow_mut().insert(name.clone(), value.clone());
                Ok((value, 1))
            }
            "var" => match self.variables.get(name) {
                Some(value) => Ok((value.clone(), 1)),
                None => refuse("no such variable"),
            },
            "path" => Ok((
                if &**name == "cwd" {
                    self.folder.to_string_lossy().into_owned().into()
                } else {
                    ".".into()
                },
                1,
            )),
            "terraform" | "tofu" => Ok(("default".into(), 1)),
            "terraform_data" => match self.resources.get(name) {
                Some(attributes) => Ok((self.resource(attributes), 1)),
                None => refuse("no such resource"),
            },
            _ => refuse("unknown root"),
        }
    }

    fn function(&self, name: &str) -> Option<Arc<Function>> {
        of_builtin_provider(name.strip_prefix("provider::terraform::")?)
    }

    fn base_dir(&self) -> &Path {
        &self.folder
    }

    fn planning(&self) -> bool {
        true
    }

    fn plan_timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:05Z".into())
    }

    fn sources(&self) -> SourceMap {
        self.sources.clone()
    }
}

impl Module {
    /// Planned value of a resource that is to be created.
    fn resource(&self, attributes: &IndexMap<Arc<str>, Attribute>) -> Value {
        let evaluated = |name: &str, scope: &dyn Scope| {
            attributes.get(name).map(|a| evaluate(&a.expr, scope).0)
        };
        let instance = |key: Option<(&str, Value)>| {
            let names = key
                .into_iter()
                .map(|(name, value)| (Arc::from(name), value))
                .collect();
            let scope = Bindings::extending(self, names);
            let input =
                evaluated("input", &scope).unwrap_or_else(|| Value::null(cty::Type::Dynamic));
            let triggers = evaluated("triggers_replace", &scope)
                .unwrap_or_else(|| Value::null(cty::Type::Dynamic));
            let output = if input.is_null() {
                input.clone()
            } else {
                Value::unknown(input.ty().clone()).with_marks(&input.all_marks())
            };
            let id = Value::unknown(cty::Type::String).refine_not_null();
            Value::object([
                ("id", id),
                ("input", input),
                ("output", output),
                ("triggers_replace", triggers),
            ])
        };
        if let Some(count) = evaluated("count", self) {
            let count = count
                .as_number()
                .and_then(cty::Number::to_usize)
                .unwrap_or(0);
            let index = |at: usize| Some(("count", Value::object([("index", Value::number(at))])));
            return Value::tuple((0..count).map(|at| instance(index(at))).collect());
        }
        if let Some(all) = evaluated("for_each", self) {
            let each = |key: &Value, value: &Value| {
                Value::object([("key", key.clone()), ("value", value.clone())])
            };
            return Value::object(all.elements().map(|(k, v)| {
                (
                    k.as_arc_str().unwrap(),
                    instance(Some(("each", each(&k, v)))),
                )
            }));
        }
        instance(None)
    }
}

/// Planned value in the recorded format: unknown values are omitted from objects and null in lists.
pub(super) fn shown(value: &Value) -> Json {
    match value.ty() {
        _ if !value.is_given() => Json::Null,
        cty::Type::Object(_) | cty::Type::Map(_) => {
            let known = value.as_map().unwrap().iter().filter(|(_, v)| v.is_known());
            Json::Object(known.map(|(k, v)| (k.to_string(), shown(v))).collect())
        }
        _ if value.as_slice().is_some() => Json::Array(value.children().map(shown).collect()),
        _ => cty::json::to_json_value(value).unwrap(),
    }
}

/// Returns true if a step only needs expressions.
pub(super) fn suitable(step: &Json) -> bool {
    let files = step["files"].as_object().unwrap();
    let main = files.get("main.tf").and_then(Json::as_str).unwrap_or("");
    let simple = [
        "resource \"terraform_remote",
        "lifecycle",
        "provisioner",
        "depends_on",
        "data \"",
        "module \"",
        "check \"",
        "backend",
        "provider \"",
        "validation",
        "precondition",
    ]
    .iter()
    .all(|word| !main.contains(word));
    !main.is_empty()
        && simple
        && files
            .keys()
            .all(|name| !name.contains(".tf") || name == "main.tf" || name.contains(".tftpl"))
}
