//! Attributes that contribute to the changes, found by following references backwards through
//! variables, locals and modules. Does not distinguish the instances of a module.

mod resource;

use crate::stage::change::{Change, OutputChange};
use crate::stage::masks;
use crate::stage::plan::PlanWalk;
use lang::addr::{AbsInstance, InstanceKey, ModuleInstance, Reference, Resource as Name, Subject};
use lang::config::Module;
use lang::syntax::ast::{Expr, Step, StepKind, Traversal};
use model::{Action, StageMode};
use provider::ProviderSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Attribute of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relevant {
    /// Address of the instance.
    pub resource: String,
    /// Steps to the attribute as JSON: names and keys.
    pub attribute: Json,
}

/// Configuration whose references are followed.
pub struct Following<'a> {
    pub root: &'a Module,
    pub schemas: &'a HashMap<Arc<str>, Arc<ProviderSchema>>,
}

/// Reference with its source position: a module, or a resource in it for `count` and `each`.
#[derive(Clone)]
struct Referred {
    module: ModuleInstance,
    within: Option<Name>,
    subject: Subject,
    remaining: Vec<Step>,
}

impl Referred {
    /// Returns a key that is equal for equal references.
    fn key(&self) -> String {
        let steps = self.remaining.iter().map(ToString::to_string);
        let steps = steps.collect::<String>();
        format!(
            "{} {:?} {:?} {steps}",
            self.module, self.within, self.subject
        )
    }

    fn relevant(&self) -> Option<Relevant> {
        let Subject::Resource { resource, key } = &self.subject else {
            return None;
        };
        let address = AbsInstance {
            module: self.module.clone(),
            resource: resource.clone(),
            key: key.clone(),
        };
        let step = |step: &Step| match &step.kind {
            StepKind::Attr(name) => name.as_ref().into(),
            StepKind::Index(key) => masks::known_json(key),
        };
        Some(Relevant {
            resource: address.to_string(),
            attribute: self.remaining.iter().map(step).collect(),
        })
    }
}

/// Returns the attributes that contribute to changes, changed root outputs and outputs of modules.
pub(super) fn of_plan(
    plan: &PlanWalk,
    changes: &[Change],
    outputs: &[OutputChange],
) -> Vec<Relevant> {
    let changed = changes.iter().filter(|c| c.action() != Action::NoOp);
    let root = outputs.iter().filter(|o| o.action != Action::NoOp);
    let mut read: Vec<(ModuleInstance, Arc<str>)> = root
        .map(|o| (ModuleInstance::root(), o.name.clone()))
        .collect();
    let around = &plan.walk.context;
    let values = &around.values;
    let destroying = plan.options.mode == StageMode::Destroy;
    let modules = around.root.all().into_iter();
    for module in modules.filter(|module| !module.path.is_root() && !destroying) {
        for instance in values.instances(&module.path).iter() {
            let answered = |name: &&Arc<str>| {
                let value = values.output(instance, name);
                value.is_some_and(|value| !(value.is_known() && value.is_null()))
            };
            let names = module.outputs.keys().filter(answered);
            read.extend(names.map(|name| (instance.clone(), name.clone())));
        }
    }
    let following = Following {
        root: &around.root,
        schemas: &around.schemas,
    };
    following.relevant(changed.map(|c| &c.address), read)
}

impl Following<'_> {
    /// Returns the attributes that contribute to these objects and module outputs.
    pub fn relevant<'c>(
        &self,
        changed: impl IntoIterator<Item = &'c AbsInstance>,
        outputs: impl IntoIterator<Item = (ModuleInstance, Arc<str>)>,
    ) -> Vec<Relevant> {
        let mut next: Vec<Referred> = Vec::new();
        // All instances of a resource have the same references.
        let mut begun = HashSet::new();
        let changed = changed.into_iter();
        for address in changed.filter(|a| begun.insert((&a.module, &a.resource))) {
            next.extend(self.of_resource(&address.module, &address.resource, &[]));
        }
        for (module, name) in outputs {
            next.extend(self.of_output(&module, &name));
        }
        let mut met: HashSet<String> = HashSet::new();
        let mut all: Vec<Relevant> = Vec::new();
        // Cycles end here: a reference is followed only once.
        while let Some(found) = next.pop() {
            if met.insert(found.key()) {
                all.extend(found.relevant());
                next.extend(self.references_in_target(&found));
            }
        }
        all.sort_by_cached_key(|one| (one.resource.clone(), one.attribute.to_string()));
        all.dedup();
        all
    }

    /// Returns the references in the target of a reference.
    fn references_in_target(&self, found: &Referred) -> Vec<Referred> {
        let at = &found.module;
        let here = || self.root.descendant(&at.path().0);
        let callee = |name: &Arc<str>, key: &InstanceKey| at.child(name, key.clone());
        match &found.subject {
            Subject::Variable(name) => self.of_argument(at, name),
            Subject::Local(name) => here()
                .and_then(|module| module.locals.get(name))
                .map(|local| expression(&local.expr, at))
                .unwrap_or_default(),
            Subject::ModuleOutput { name, key, output } => {
                self.of_output(&callee(name, key), output)
            }
            Subject::Module { name, key } => {
                // A reference to the whole module object uses all its outputs.
                let inside = callee(name, key);
                let Some(module) = self.root.descendant(&inside.path().0) else {
                    return Vec::new();
                };
                let outputs = module.outputs.keys();
                outputs
                    .flat_map(|output| self.of_output(&inside, output))
                    .collect()
            }
            // Only those of resources: references in module calls have no `within`.
            Subject::Count(_) | Subject::Each(_) => here()
                .zip(found.within.as_ref())
                .and_then(|(module, name)| module.resources.get(name))
                .and_then(|resource| resource.for_each.as_ref().or(resource.count.as_ref()))
                .map(|expr| expression(expr, at))
                .unwrap_or_default(),
            Subject::Resource { resource, .. } => self.of_resource(at, resource, &found.remaining),
            Subject::Path(_) | Subject::Terraform(_) | Subject::SelfValue => Vec::new(),
        }
    }

    fn of_output(&self, at: &ModuleInstance, name: &Arc<str>) -> Vec<Referred> {
        let module = self.root.descendant(&at.path().0);
        module
            .and_then(|module| module.outputs.get(name))
            .map(|output| expression(&output.value, at))
            .unwrap_or_default()
    }

    /// Returns the references in the argument that the caller passes.
    fn of_argument(&self, at: &ModuleInstance, name: &Arc<str>) -> Vec<Referred> {
        // The root module has no caller: its variables have no expressions to follow.
        let Some((caller, (call, _))) = at.parent().zip(at.0.last()) else {
            return Vec::new();
        };
        let module = self.root.descendant(&caller.path().0);
        module
            .and_then(|module| module.calls.get(call)?.arguments.get(name))
            .map(|given| expression(&given.expr, &caller))
            .unwrap_or_default()
    }
}

fn expression(expr: &Expr, module: &ModuleInstance) -> Vec<Referred> {
    let all = expr.traversals().into_iter();
    all.filter_map(|t| reference(t, module, None)).collect()
}

fn reference(
    traversal: &Traversal,
    module: &ModuleInstance,
    within: Option<&Name>,
) -> Option<Referred> {
    let Reference {
        subject, remaining, ..
    } = Reference::parse(traversal).ok()?;
    let repeated = matches!(subject, Subject::Count(_) | Subject::Each(_));
    Some(Referred {
        module: module.clone(),
        within: within.filter(|_| repeated).cloned(),
        subject,
        remaining,
    })
}
