//! Evaluates conditions of unchanged instances during a deploy, and collects the check results that
//! the state stores.

use super::conditions::at;
use super::deploying::Deploying;
use crate::stage::change::Change;
use crate::stage::check_results;
use crate::stage::checked::{At, Checked};
use crate::stage::conditions::{Kind, Status};
use crate::stage::nodes::Node;
use crate::stage::scope::ModuleScope;
use crate::stage::steps;
use crate::stage::values::Extent;
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, ConfigResource, ModuleInstance};
use lang::config::{Lifecycle, Module, Resource};
use lang::diag::Diagnostic;
use model::StageMode;
use store::records::StateEdit;

/// Returns true if a resource has conditions.
fn has_conditions(lifecycle: &Lifecycle) -> bool {
    !(lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty())
}

impl Deploying {
    /// Returns resources with unchanged instances whose conditions the stage could not evaluate.
    pub(super) fn resources_to_check(&self) -> Vec<Step> {
        if self.selection.stage.request.mode != StageMode::Normal {
            return Vec::new();
        }
        let stay = self
            .selection
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
                .selection
                .stage
                .checked
                .status(&at(address), &address.resource.to_string())
                == Some(Status::Unknown)
    }

    /// Evaluates conditions of unchanged instances that the stage could not evaluate, because they
    /// may depend on changed objects. Returns true if they hold.
    pub(super) fn evaluate_unchanged(
        &self,
        step: Step,
        address: &ConfigResource,
        within: &Extent,
    ) -> bool {
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        if !has_conditions(&resource.lifecycle) {
            return true;
        }
        let mut good = true;
        let values = &self.walk.context.values;
        for instance in values.instances_in(&address.module, within).iter() {
            let abs = AbsResource {
                module: instance.clone(),
                resource: address.resource.clone(),
            };
            let Some(expansion) = self.expansions.known(&abs) else {
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
        let change = self.selection.change(&address.to_string());
        if !change.is_some_and(|change| self.has_unknown_conditions(change)) {
            return true;
        }
        let key = workspace::provider_addr::for_resource(&self.walk.context.root, module, resource);
        let schema = self.walk.context.schema(&key.address, &address.resource);
        let Some(value) = schema.and_then(|schema| self.objects.value(address, schema)) else {
            return true;
        };
        let scope = self.scope(module, resource, address);
        let lifecycle = &resource.lifecycle;
        let before = self.conditions.evaluate(
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
            self.conditions.evaluate(
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
        let mut checked = self.selection.stage.checked.clone();
        // A refresh-only deploy keeps the results of its stage.
        if self.selection.stage.request.mode == StageMode::Normal {
            checked.forget_data();
            for change in self
                .selection
                .stage
                .changes
                .iter()
                .filter(|c| steps::has_effect(c))
            {
                self.unknown(&mut checked, change);
            }
            checked.update_known(found);
            checked.update_known(self.conditions.take());
        }
        if self.selection.stage.request.mode == StageMode::Destroy {
            self.root_outputs_unknown(&mut checked);
        }
        let text = check_results::text(&self.selection.stage.statuses, &checked);
        let kept = self.recorder.edit(vec![StateEdit::Checks(text)]).await;
        let error = kept.err()?;
        self.scheduler.lose_store();
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
