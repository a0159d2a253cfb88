//! Resources during a deploy: expansion, values for references, and scopes for expressions.

use super::deploying::{Deploying, WHOLE_DEPLOY};
use super::operation_error::OperationError;
use crate::deploy::record::RequestRecorder;
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::conditions::Kind;
use crate::stage::keyed::chained_resource;
use crate::stage::link_arguments;
use crate::stage::nodes::Node;
use crate::stage::plan::assemble;
use crate::stage::scope::ModuleScope;
use crate::stage::values::{Expansion, Extent, Repetition};
use calls::{CallContext, Retrying};
use cty::Value;
use cty::schema::Schema;
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, ModuleInstance};
use lang::config::{Module, Resource};
use lang::diag::Diagnostics;
use model::Action;
use provider::Provider;
use std::collections::HashMap;
use std::sync::Arc;
use types::TypeSettings;
use workspace::provider_addr;

/// Subject of an operation: its configuration, provider and schema.
pub(super) struct Subject<'d> {
    pub(super) change: &'d Change,
    pub(super) module: &'d Module,
    pub(super) resource: &'d Resource,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) schema: &'d Schema,
}

impl Deploying {
    /// Returns the subject of a change. `kind` is used in the error for a missing schema.
    pub(super) fn subject<'d>(
        &'d self,
        change: &'d Change,
        kind: &str,
    ) -> Result<Subject<'d>, Box<OperationError>> {
        let Some((module, resource)) = self.declared(&change.address.config()) else {
            return Err(OperationError::text(
                "The configuration does not contain this resource.",
            ));
        };
        let Some(provider) = self.walk.ready(&change.provider) else {
            return Err(OperationError::text("The provider is not configured."));
        };
        let schema = self
            .walk
            .context
            .schema(&change.provider.address, &change.address.resource)
            .ok_or_else(|| OperationError::text(format!("The installed version of the provider does not support the {kind}. Stage again to see the details.")))?;
        Ok(Subject {
            change,
            module,
            resource,
            provider,
            schema,
        })
    }

    /// Evaluates the configuration after checking its preconditions; returns it with warnings.
    pub(super) fn evaluated_config(
        &self,
        subject: &Subject<'_>,
    ) -> Result<(Value, Diagnostics), Box<OperationError>> {
        let Subject {
            module, resource, ..
        } = subject;
        let scope = self.scope(module, resource, &subject.change.address);
        let address = &subject.change.address;
        self.conditions
            .mark_postconditions_unknown(address, resource);
        self.conditions.evaluate(
            &scope,
            address,
            &resource.lifecycle.preconditions,
            Kind::Precondition,
        )?;
        let (config, diags) = link_arguments::decoded(&self.walk, resource, subject.schema, &scope);
        if diags.has_errors() {
            return Err(diags.into());
        }
        Ok((config, diags))
    }

    /// Settings of the resource type of a change.
    pub(super) fn type_settings(&self, change: &Change) -> TypeSettings {
        let kind = &change.address.resource.kind;
        self.walk.context.overlays.effective(kind)
    }

    /// Context of a call that changes an object, with the deadline that its type has.
    pub(super) fn changing_context(&self, change: &Change, destroys: bool) -> CallContext {
        let operation = match change.action() {
            _ if destroys => "delete",
            Action::Update => "update",
            _ => "create",
        };
        CallContext {
            deadline: self.type_settings(change).limit(operation),
            ..self.context(change, destroys)
        }
    }

    /// Checks the postconditions of an object.
    pub(super) fn postconditions(
        &self,
        subject: &Subject<'_>,
        value: Value,
    ) -> Result<(), Box<OperationError>> {
        let Subject {
            module, resource, ..
        } = subject;
        let scope = ModuleScope {
            self_value: Some(value),
            own_resource: None,
            ..self.scope(module, resource, &subject.change.address)
        };
        let all = &resource.lifecycle.postconditions;
        let address = &subject.change.address;
        self.conditions.mark_known(address);
        Ok(self
            .conditions
            .evaluate(&scope, address, all, Kind::Postcondition)?)
    }

    /// Returns the declaration of a resource, with its module.
    pub(super) fn declared(&self, address: &ConfigResource) -> Option<(&Module, &Resource)> {
        let module = self.walk.module(&address.module)?;
        Some((module, module.resources.get(&address.resource)?))
    }

    fn expansion(
        &self,
        module: &Module,
        resource: &Resource,
        abs: &AbsResource,
    ) -> Option<Arc<Expansion>> {
        if let Some(known) = self.expansions.known(abs) {
            return Some(known);
        }
        if let Some((on, declared)) = self.chained_on(module, resource, &abs.module)
            && let Some(expansion) = self.expansion(module, declared, &on)
        {
            // Only the keys are final; see `repetition` for the values.
            self.expansions.add(abs, &expansion);
            return Some(expansion);
        }
        let context = &self.walk.context;
        let (expansion, diags) = self.expansions.evaluate(context, module, resource, abs);
        let node = Node::Resource(abs.config());
        let step = self.walk.nodes.step(&node).unwrap_or(WHOLE_DEPLOY);
        self.walk.cells.add_diagnostics(step, diags);
        expansion
    }

    /// Returns the resource whose keys are those of another one. With rollouts, its objects may
    /// change after the expansion.
    fn chained_on<'m>(
        &self,
        module: &'m Module,
        resource: &Resource,
        within: &ModuleInstance,
    ) -> Option<(AbsResource, &'m Resource)> {
        if self.rollouts.groups.is_empty() {
            return None;
        }
        let name = chained_resource(module, resource.for_each.as_ref()?)?;
        let on = AbsResource {
            module: within.clone(),
            resource: name.clone(),
        };
        Some((on, module.resources.get(name)?))
    }

    /// Returns `count` and `each` of an instance, with the present object of a chained resource.
    fn repetition(
        &self,
        module: &Module,
        resource: &Resource,
        address: &AbsInstance,
    ) -> Repetition {
        let mut repetition = self.expansions.repetition(address);
        if let Some((on, declared)) = self.chained_on(module, resource, &address.module) {
            let key = provider_addr::for_resource(&self.walk.context.root, module, declared);
            let schema = self.walk.context.schema(&key.address, &on.resource);
            let on = on.instance(address.key.clone());
            let object = schema.and_then(|schema| self.objects.value(&on, schema));
            repetition.each_value = Some(object.unwrap_or_else(Value::dynamic));
        }
        repetition
    }

    /// Evaluates the expansion of a resource in some module instances.
    pub(super) fn open(&self, step: Step, within: &Extent) -> bool {
        let Node::Resource(address) = &self.walk.nodes.nodes[step] else {
            return true;
        };
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        self.walk
            .context
            .values
            .instances_in(&address.module, within)
            .iter()
            .all(|instance| {
                let abs = AbsResource {
                    module: instance.clone(),
                    resource: address.resource.clone(),
                };
                self.expansion(module, resource, &abs).is_some()
            })
    }

    /// Assembles the value of a resource from its instances, in some module instances.
    pub(super) fn close(&self, address: &ConfigResource, within: &Extent) -> bool {
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        let key = provider_addr::for_resource(&self.walk.context.root, module, resource);
        let Some(schema) = self.walk.context.schema(&key.address, &address.resource) else {
            return false;
        };
        let mut good = true;
        let values = &self.walk.context.values;
        for instance in values.instances_in(&address.module, within).iter() {
            let abs = AbsResource {
                module: instance.clone(),
                resource: address.resource.clone(),
            };
            let Some(expansion) = self.expansion(module, resource, &abs) else {
                good = false;
                continue;
            };
            values.publish_assembled(abs.clone(), || self.assembled(&abs, &expansion, schema));
        }
        good
    }

    /// Value of a resource from the present objects of its instances.
    fn assembled(&self, abs: &AbsResource, expansion: &Expansion, schema: &Schema) -> Value {
        let values: HashMap<InstanceKey, Value> = expansion
            .instances()
            .into_iter()
            .filter_map(|(key, _)| {
                Some((key.clone(), self.objects.value(&abs.instance(key), schema)?))
            })
            .collect();
        // A missing object has an unknown value of unknown type, as in OpenTofu.
        match *expansion == Expansion::Single && values.is_empty() {
            true => Value::dynamic(),
            false => assemble(expansion, &values, schema),
        }
    }

    pub(super) fn scope<'s>(
        &'s self,
        module: &'s Module,
        resource: &'s Resource,
        address: &'s AbsInstance,
    ) -> ModuleScope<'s> {
        let repetition = self.repetition(module, resource, address);
        ModuleScope {
            own_resource: Some(&resource.name),
            ..ModuleScope::new(&self.walk.context, module, &address.module)
        }
        .with_repetition(repetition)
    }

    pub(super) fn context(&self, change: &Change, destroys: bool) -> CallContext {
        // The plan has already reported its errors.
        let (provider, address) = (&change.provider.address, &change.address);
        let meta = self.walk.meta(provider, address, &mut Cell::default());
        let id = change.id();
        // The second half of a replacement may still retry after new operations were stopped.
        let stops = self.scheduler.stops();
        let until = if self.recorder.is_half_done(&id) {
            &stops.all
        } else {
            &stops.starting
        };
        let retrying = Retrying {
            on_pause: Some(self.recorder.pause_reporter(&id)),
            stop_token: until.clone(),
            stop: stops.all.clone(),
        };
        CallContext {
            meta: meta.flatten(),
            resource_type: Some(address.resource.kind.clone()),
            linked: self.linked(change, destroys),
            retrying,
            side_effects: Some(RequestRecorder::of(
                &self.recorder,
                change,
                self.objects.in_state(),
            )),
            ..CallContext::for_resource(id, &self.walk.cancel)
        }
    }
}
