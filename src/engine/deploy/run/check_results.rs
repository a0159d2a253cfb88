//! Evaluates conditions during a deploy, and collects the check results that the state stores.

use super::deploying::Deploying;
use crate::graph::Step;
use crate::stage::change::Change;
use crate::stage::check_results;
use crate::stage::checked::{At, Checked, problem};
use crate::stage::conditions::{self, Kind, Status};
use crate::stage::nodes::Node;
use crate::stage::scope::ModuleScope;
use crate::stage::steps;
use lang::addr::{AbsInstance, AbsResource, ConfigResource, ModuleInstance};
use lang::config::{Condition, Lifecycle, Module, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use model::StageMode;
use model::mutex::lock;
use std::sync::atomic::Ordering;
use store::records::StateEdit;

/// Returns true if a resource has conditions.
fn has_conditions(lifecycle: &Lifecycle) -> bool {
    !(lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty())
}

impl Deploying {
    /// Evaluates conditions of a resource instance and records their statuses.
    pub(super) fn conditions(
        &self,
        scope: &ModuleScope<'_>,
        address: &AbsInstance,
        all: &[Condition],
        kind: Kind,
    ) -> Result<(), Diagnostics> {
        let mut failed = Diagnostics::new();
        let at = at(address);
        let rest = address.resource.to_string();
        for condition in all {
            let (status, diags) = conditions::check(scope, condition, kind);
            let why = problem(status, &diags);
            lock(&self.checked).record_condition(&at, &rest, status, why);
            failed.append(diags);
        }
        if failed.has_errors() {
            Err(failed)
        } else {
            Ok(())
        }
    }

    /// Marks postconditions of a changed instance as unknown until they are evaluated.
    pub(super) fn mark_postconditions_unknown(&self, address: &AbsInstance, resource: &Resource) {
        if !resource.lifecycle.postconditions.is_empty() {
            let rest = address.resource.to_string();
            lock(&self.checked).record_condition(&at(address), &rest, Status::Unknown, None);
        }
    }

    /// Marks the conditions of an instance as known, right before they are evaluated.
    pub(super) fn mark_known(&self, address: &AbsInstance) {
        lock(&self.checked).mark_passed(&at(address), &address.resource.to_string());
    }

    /// Returns resources with unchanged instances whose conditions the stage could not evaluate.
    pub(super) fn resources_to_check(&self) -> Vec<Step> {
        if self.stage.request.mode != StageMode::Normal {
            return Vec::new();
        }
        let stay = self
            .stage
            .changes
            .iter()
            .filter(|c| self.has_unknown_conditions(c));
        let steps = stay.filter_map(|c| {
            let node = Node::Resource(c.address.config());
            self.walk.nodes.step(&node)
        });
        steps.collect()
    }

    /// Returns true if the change has no effect and the stage could not evaluate its conditions.
    fn has_unknown_conditions(&self, change: &Change) -> bool {
        let address = &change.address;
        !steps::has_effect(change)
            && change.deposed.is_none()
            && self
                .stage
                .checked
                .status(&at(address), &address.resource.to_string())
                == Some(Status::Unknown)
    }

    /// Evaluates conditions of unchanged instances that the stage could not evaluate, because they
    /// may depend on changed objects. Returns true if they hold.
    pub(super) fn evaluate_unchanged(&self, step: Step, address: &ConfigResource) -> bool {
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        if !has_conditions(&resource.lifecycle) {
            return true;
        }
        let mut good = true;
        for instance in self.walk.context.values.instances(&address.module).iter() {
            let abs = AbsResource {
                module: instance.clone(),
                resource: address.resource.clone(),
            };
            let Some(expansion) = lock(&self.expansions).get(&abs).cloned() else {
                continue;
            };
            for (key, _) in expansion.instances() {
                good &= self.is_unchanged_instance(step, module, resource, &abs.instance(key));
            }
        }
        good
    }

    fn is_unchanged_instance(
        &self,
        step: Step,
        module: &Module,
        resource: &Resource,
        address: &AbsInstance,
    ) -> bool {
        let place = self.change_index.get(&address.to_string());
        let change = place.and_then(|i| self.stage.changes.get(*i));
        if !change.is_some_and(|change| self.has_unknown_conditions(change)) {
            return true;
        }
        let key = crate::workspace::provider_addr::for_resource(
            &self.walk.context.root,
            module,
            resource,
        );
        let schema = self.walk.context.schema(&key.address, &address.resource);
        let Some(value) = schema.and_then(|schema| self.value(address, schema)) else {
            return true;
        };
        let scope = self.scope(module, resource, address);
        let lifecycle = &resource.lifecycle;
        let before = self.conditions(
            &scope,
            address,
            &lifecycle.preconditions,
            Kind::Precondition,
        );
        let scope = ModuleScope {
            self_value: Some(value),
            own_resource: None,
            ..self.scope(module, resource, address)
        };
        let held = before.and_then(|()| {
            self.conditions(
                &scope,
                address,
                &lifecycle.postconditions,
                Kind::Postcondition,
            )
        });
        match held {
            Ok(()) => true,
            Err(mut said) => {
                for d in &mut said.0 {
                    d.address.get_or_insert_with(|| address.to_string());
                }
                // Reported with the resource, because the instance has no operation.
                self.walk.cells.add_diagnostics(step, said);
                false
            }
        }
    }

    /// Stores all check results: those of the deploy, otherwise those of the stage. `found`
    /// contains the results of the walk's nodes.
    pub(super) async fn store_check_results(&self, found: Checked) -> Option<Diagnostic> {
        let mut checked = self.stage.checked.clone();
        // A refresh-only deploy keeps the results of its stage.
        if self.stage.request.mode == StageMode::Normal {
            checked.forget_data();
            for change in self.stage.changes.iter().filter(|c| steps::has_effect(c)) {
                self.unknown(&mut checked, change);
            }
            checked.update_known(found);
            checked.update_known(std::mem::take(&mut *lock(&self.checked)));
        }
        if self.stage.request.mode == StageMode::Destroy {
            self.root_outputs_unknown(&mut checked);
        }
        let text = check_results::text(&self.stage.statuses, &checked);
        let kept = self.recorder.edit(vec![StateEdit::Checks(text)]).await;
        let error = kept.err()?;
        self.store_failed.store(true, Ordering::Relaxed);
        Some(Diagnostic::error(
            "Failed to store check results",
            error.to_string(),
        ))
    }

    /// Marks root outputs as unknown: a destroy evaluates no conditions, and OpenTofu lists only
    /// these.
    fn root_outputs_unknown(&self, checked: &mut Checked) {
        let outputs = self.walk.context.root.outputs.values();
        for output in outputs.filter(|o| !o.preconditions.is_empty()) {
            let rest = format!("output.{}", output.name);
            let at = At::module(&ModuleInstance::root());
            checked.record_condition(&at, &rest, Status::Unknown, None);
        }
    }

    /// Marks the conditions of a change as unknown until it is applied.
    fn unknown(&self, checked: &mut Checked, change: &Change) {
        let declared = self.declared(&change.address.config());
        if declared.is_some_and(|(_, resource)| has_conditions(&resource.lifecycle)) {
            let mut one = Checked::default();
            let rest = change.address.resource.to_string();
            one.record_condition(&at(&change.address), &rest, Status::Unknown, None);
            checked.update_known(one);
        }
    }
}

fn at(address: &AbsInstance) -> At {
    At {
        module: address.module.clone(),
        key: address.key.clone(),
    }
}
