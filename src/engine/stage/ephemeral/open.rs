//! Opens the instances of an ephemeral resource and produces the value that references see.

use super::leases::Lease;
use crate::stage::cell::Cell;
use crate::stage::checked::At;
use crate::stage::conditions::{self, Kind, Status};
use crate::stage::expand::{self, Meta};
use crate::stage::managed;
use crate::stage::plan::{assemble, unknown_object, with_address};
use crate::stage::provider_instance::Chosen;
use crate::stage::scope::{ModuleScope, Phase};
use crate::stage::values::{Extent, PublishedValue, Repetition};
use crate::stage::walk::Walk;
use calls::CallContext;
use cty::schema::Schema;
use cty::{Mark, Value};
use futures_util::stream::{self, StreamExt};
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey};
use lang::config::{Condition, Module, Resource};
use lang::diag::Diagnostic;
use model::{ObjectPhase, ObjectWork};
use provider::OpenResponse;
use std::collections::HashMap;
use workspace::provider_addr::{self, Route};

/// Instances of one resource opened at a time.
const MAX_CONCURRENT: usize = 10;

/// Time at which an instance is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenTime {
    Now,
    /// With the deploy, because a dependency has a pending change.
    Later,
    /// Never: outside of the targets.
    Never,
}

/// Input shared by all instances of a resource.
struct Declared<'a> {
    step: Step,
    module: &'a Module,
    resource: &'a Resource,
    route: Route<'a>,
    schema: &'a Schema,
}

/// Returns the unknown value of an ephemeral resource.
pub fn unknown_value(resource: &Resource, schema: Option<&Schema>) -> Value {
    let repeated = resource.count.is_some() || resource.for_each.is_some();
    let value = match schema.filter(|_| !repeated) {
        Some(schema) => managed::mark(schema, unknown_object(&schema.block), &[]),
        None => Value::dynamic(),
    };
    value.mark(Mark::Ephemeral)
}

impl Walk {
    /// Opens all instances that `when` allows now and sets the value of the resource.
    pub async fn open(
        &self,
        step: Step,
        (address, within): (&ConfigResource, &Extent),
        when: &(dyn Fn(&AbsInstance) -> OpenTime + Sync),
    ) -> Cell {
        let mut cell = Cell::default();
        let Some(declared) = self.ephemeral(step, address) else {
            return cell.failed_unless(false);
        };
        let mut good = true;
        for module_instance in self
            .context
            .values
            .instances_in(&address.module, within)
            .iter()
        {
            let abs = AbsResource {
                module: module_instance.clone(),
                resource: address.resource.clone(),
            };
            good &= self.open_all(&declared, abs, when, &mut cell).await.is_ok();
        }
        cell.failed_unless(good)
    }

    /// Sets the unknown value of a resource that is not opened.
    pub fn unopened(&self, address: &ConfigResource, within: &Extent) -> Cell {
        let mut cell = Cell::default();
        let Some(module) = self.module(&address.module) else {
            return cell;
        };
        let Some(resource) = module.resources.get(&address.resource) else {
            return cell;
        };
        let key = provider_addr::for_resource(&self.context.root, module, resource);
        let value = unknown_value(
            resource,
            self.context.schema(&key.address, &address.resource),
        );
        for instance in self
            .context
            .values
            .instances_in(&address.module, within)
            .iter()
        {
            let abs = AbsResource {
                module: instance.clone(),
                resource: address.resource.clone(),
            };
            cell.values
                .push(PublishedValue::Resource(abs, value.clone()));
        }
        cell
    }

    /// Returns `None` if the provider has no such resource type.
    fn ephemeral(&self, step: Step, address: &ConfigResource) -> Option<Declared<'_>> {
        let module = self.module(&address.module)?;
        let resource = module.resources.get(&address.resource)?;
        let route = provider_addr::route_of(&self.context.root, module, resource);
        let schema = self
            .context
            .schema(&route.block.address, &address.resource)?;
        Some(Declared {
            step,
            module,
            resource,
            schema,
            route,
        })
    }

    async fn open_all(
        &self,
        declared: &Declared<'_>,
        abs: AbsResource,
        when: &(dyn Fn(&AbsInstance) -> OpenTime + Sync),
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let resource = declared.resource;
        let scope = ModuleScope::new(&self.context, declared.module, &abs.module);
        let meta = Meta {
            count: resource.count.as_ref(),
            for_each: resource.for_each.as_ref(),
            enabled: resource.lifecycle.enabled.as_ref(),
        };
        let (expansion, diags) = expand::expand(&scope, meta);
        let expansion = expansion.filter(|_| cell.report(diags)).ok_or(())?;
        let one = |(key, repetition): (InstanceKey, Repetition)| {
            let address = abs.instance(key.clone());
            async move {
                let mut part = Cell::default();
                let value = self
                    .open_one(declared, &address, repetition, when(&address), &mut part)
                    .await;
                (key, value, part)
            }
        };
        // `buffered` keeps the order of instances, so that diagnostics do not depend on timing.
        let opened: Vec<_> = stream::iter(expansion.instances())
            .map(one)
            .buffered(MAX_CONCURRENT)
            .collect()
            .await;
        let mut good = true;
        let mut values: HashMap<InstanceKey, Value> = HashMap::new();
        // Leases of opened instances stay registered if another instance fails; the walk closes
        // them.
        for (key, value, part) in opened {
            cell.append(part);
            good &= value.is_ok();
            values.extend(value.ok().map(|value| (key, value)));
        }
        let value = assemble(&expansion, &values, declared.schema);
        cell.values.push(PublishedValue::Resource(abs, value));
        ok(good)
    }

    async fn open_one(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        when: OpenTime,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let Declared {
            module,
            resource,
            schema,
            ..
        } = *declared;
        if when == OpenTime::Never {
            return Ok(unknown_object(&schema.block).mark(Mark::Ephemeral));
        }
        let chosen = self
            .choose(&declared.route, address, &repetition, cell)
            .ok_or(())?;
        let scope = ModuleScope {
            own_resource: Some(&resource.name),
            ..ModuleScope::new(&self.context, module, &address.module)
        };
        let scope = scope.with_repetition(repetition);
        let preconditions = &resource.lifecycle.preconditions;
        self.check_conditions(declared, &scope, preconditions, Kind::Precondition, cell)?;
        let (config, diags) = self.decode_resource(resource, schema, &scope);
        ok(cell.report(with_address(diags, address)))?;
        // Providers get unmarked values; the marks are put back on the result by path.
        let (plain, marks) = config.unmark_deep_with_paths();
        // Calls that open end only with the plugins: a dropped call might leave the resource open.
        let ctx = CallContext {
            cancel: self.leases.kill().clone(),
            ..self
                .context_of(&chosen.0.address, address, cell)
                .ok_or(())?
        };
        self.validated(declared, &chosen, address, &plain, &ctx, cell)
            .await?;
        // A plan proposes a value if the configuration is unknown; a deploy requires it to be
        // known.
        let value = match when {
            OpenTime::Now if plain.is_wholly_known() => {
                self.open_instance(declared, &chosen, address, plain, &ctx, cell)
                    .await?
            }
            _ if self.context.phase == Phase::Plan => {
                cty::plan::proposed_new(&schema.block, &unknown_object(&schema.block), &plain)
            }
            _ => {
                let detail = format!(
                    "{address} cannot be opened: its configuration has unknown values, because objects that it depends on do not exist."
                );
                let diagnostic =
                    Diagnostic::error("Incomplete configuration for ephemeral resource", detail);
                cell.report(
                    diagnostic
                        .at(resource.kind_span)
                        .with_address(address.to_string()),
                );
                return Err(());
            }
        };
        // Every value of an ephemeral resource is ephemeral, so that nothing stores it.
        let value = managed::mark(schema, value, &marks).mark(Mark::Ephemeral);
        let scope = ModuleScope {
            self_value: Some(value.clone()),
            own_resource: None,
            ..scope
        };
        let postconditions = &resource.lifecycle.postconditions;
        self.check_conditions(declared, &scope, postconditions, Kind::Postcondition, cell)?;
        Ok(value)
    }

    async fn validated(
        &self,
        declared: &Declared<'_>,
        (_, provider): &Chosen,
        address: &AbsInstance,
        config: &Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let resource = declared.resource;
        match provider
            .validate_ephemeral(&resource.name.kind, config.clone(), ctx)
            .await
        {
            Err(error) => ok(cell.report_call(&error, address, Some(resource.span))),
            Ok(answer) => {
                let said = &answer.diagnostics;
                ok(cell.report_provider(said, address, Some(&resource.body), Some(resource.span)))
            }
        }
    }

    async fn open_instance(
        &self,
        declared: &Declared<'_>,
        (key, provider): &Chosen,
        address: &AbsInstance,
        config: Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        // After cancellation nothing new is opened. A running open completes, so that the resource
        // can be closed.
        if self.cancel.is_cancelled() {
            return Err(());
        }
        let resource = declared.resource;
        let (text, span) = (address.to_string(), Some(resource.span));
        self.report_step(address, ObjectWork::Open, ObjectPhase::Begun, None);
        let opened = provider
            .open_ephemeral(&resource.name.kind, config, ctx)
            .await;
        self.report_step(address, ObjectWork::Open, ObjectPhase::Ended, None);
        let answer = match opened {
            Err(error) => {
                cell.report_call(&error, &text, span);
                return Err(());
            }
            Ok(answer) => answer,
        };
        if !cell.report_provider(&answer.diagnostics, &text, Some(&resource.body), span) {
            return Err(());
        }
        let OpenResponse {
            result,
            private,
            renew_at,
            ..
        } = answer;
        // Registered before the result is checked, so that an invalid one is closed too.
        let provider = provider.clone();
        self.leases.register(
            declared.step,
            Lease {
                address: address.clone(),
                span: resource.span,
                provider,
                private,
                renew_at,
            },
        );
        if result.is_null() || !result.is_wholly_known() {
            let returned = if result.is_null() {
                "no value"
            } else {
                "unknown values"
            };
            let detail = format!(
                "{key} opened {address} but returned {returned}. This is a bug in the provider; report it to the provider's developers."
            );
            cell.report(
                Diagnostic::error("Provider produced invalid object", detail)
                    .at(resource.span)
                    .with_address(text),
            );
            return Err(());
        }
        Ok(result)
    }

    fn check_conditions(
        &self,
        declared: &Declared<'_>,
        scope: &ModuleScope<'_>,
        all: &[Condition],
        kind: Kind,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let object = declared.resource.name.to_string();
        let mut good = true;
        for condition in all {
            let (status, diags) = conditions::check(scope, condition, kind);
            cell.record_condition(&At::of(scope), &object, status, &diags);
            good &= cell.report(diags) && !matches!(status, Status::Fail | Status::Error);
        }
        ok(good)
    }
}

fn ok(good: bool) -> Result<(), ()> {
    if good { Ok(()) } else { Err(()) }
}
