//! Plans an instance of a managed resource: reads the object, evaluates the configuration, and lets
//! the provider plan the change.

use super::guards::check_destroy_argument;
use super::instance::Declared;
use super::removal::End;
use super::removal_input::{ReadObject, declared_removal};
use super::walk::PlanWalk;
use crate::stage::cell::Cell;
use crate::stage::change::{Act, Change, Configured, Details, Object, Recorded};
use crate::stage::import::{self};
use crate::stage::managed::{self, NoPlan, PlanQuestion, Planned, Prior, Reason};
use crate::stage::needs::Needs;
use crate::stage::objects::{self};
use crate::stage::prior::Objects;
use crate::stage::scope::ModuleScope;
use crate::stage::values::Repetition;
use calls::CallContext;
use cty::Value;
use cty::schema::Schema;
use lang::addr::AbsInstance;
use model::{Action, CommandView, StageMode};

impl PlanWalk {
    pub(super) async fn managed(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        check_destroy_argument(declared.resource, address, cell)?;
        let there = self.prior.objects(address).cloned().unwrap_or_default();
        let ctx = self
            .walk
            .context_of(&declared.key.address, address, cell)
            .ok_or(())?;
        let mut looked = self
            .reader()
            .read_current(&declared_removal(declared), address, &there, &ctx, cell)
            .await?;
        // An import block has no effect once the state has the object.
        if there.current.is_none() {
            self.import(declared, address, &mut looked, &ctx, cell)
                .await?;
        }
        if self.options.mode == StageMode::Destroy && self.options.destroys(address) {
            return self
                .plan_destroy_declared(declared, address, &there, looked, cell)
                .await;
        }
        if self.options.mode != StageMode::Normal {
            return Ok(self.refresh_declared(declared, address, repetition, looked, cell));
        }
        let scope = ModuleScope {
            own_resource: Some(&declared.resource.name),
            ..ModuleScope::new(&self.walk.context, declared.module, &address.module)
        }
        .with_repetition(repetition);
        let (config, ctx) = self
            .checks()
            .configured(declared, address, &scope, &ctx, cell)
            .await?;
        // All instances share one type, which saves memory in large stages.
        let config = config.sharing_type(declared.schema.implied_type());
        let prior = looked.current.as_ref();
        let planned = self
            .request_plan(declared, address, &scope, &config, prior, &ctx, cell)
            .await?;
        let commands = self.commands(declared, address, &scope, &planned, cell)?;
        let after = planned.after.clone();
        let needs = self.needs_computation().of_instance(
            declared.module,
            declared.resource,
            address,
            scope.repetition.clone(),
        );
        // Unchanged objects take over their current dependencies now; all others do so with their
        // operation.
        let now = (planned.action == Action::NoOp).then_some((&*declared.dependencies, &needs));
        self.reader()
            .record_refreshed(declared, address, &looked, now, cell);
        cell.changes.push(planned_change(
            declared, address, &there, looked, planned, config, needs, commands,
        ));
        self.checks()
            .postconditions(declared, scope, after.clone(), cell)?;
        Ok(after)
    }

    /// Records an object that a stage refreshes without planning a change of it; returns its value.
    fn refresh_declared(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        looked: ReadObject,
        cell: &mut Cell,
    ) -> Value {
        // Current dependencies are added, not replaced: the recorded ones stay valid until a
        // deploy.
        let merged = looked.object.as_ref().map(|object| {
            let mut all = (*declared.dependencies).clone();
            all.extend(object.dependencies.iter().cloned());
            (all, object.needs.iter().cloned().collect())
        });
        let merged = merged.as_ref().map(|(all, needs)| (all, needs));
        let reader = self.reader();
        reader.record_refreshed(declared, address, &looked, merged, cell);
        if let (StageMode::RefreshOnly, Some(now)) = (self.options.mode, &looked.current) {
            let (checks, value) = (self.checks(), now.value.clone());
            checks.refreshed(declared, address, repetition, value, cell);
        }
        // A missing object is unknown, because no plan follows.
        let unknown = || Value::unknown(declared.schema.implied_type().clone());
        looked.current.map_or_else(unknown, |now| now.value)
    }

    /// Plans the destroy of a declared instance unless its declaration prevents it.
    async fn plan_destroy_declared(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        there: &Objects,
        looked: ReadObject,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let value = looked.current.as_ref().map(|p| p.value.clone());
        let forget = declared.resource.lifecycle.forgets();
        if looked.current.is_some() {
            self.guards()
                .check(declared.module, declared.resource, address, !forget, cell)?;
        }
        let end = End {
            deposed: None,
            reason: forget.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            forget,
        };
        let removals = self.removals();
        removals
            .destroy(
                &declared_removal(declared),
                address,
                there,
                looked,
                end,
                cell,
            )
            .await?;
        // The declaration orders the destroy too, in case it has new dependencies.
        let own = cell.changes.last_mut();
        if let Some(change) = own.filter(|change| change.address == *address) {
            change.add_destroy_dependencies(&declared.dependencies);
        }
        let ty = declared.schema.implied_type();
        Ok(value.unwrap_or_else(|| Value::unknown(ty.clone())))
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "an instance with all that is known of it, for the question to its provider"
    )]
    async fn request_plan(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        scope: &ModuleScope<'_>,
        config: &Value,
        prior: Option<&Prior>,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Planned, ()> {
        let force = self.forced().reason(declared, scope, address, cell)?;
        let question = PlanQuestion {
            type_name: &declared.resource.name.kind,
            schema: declared.schema,
            config: config.clone(),
            prior,
            ignore: &declared.ignore,
            force,
            create_first: declared.create_first,
        };
        let planned = match managed::plan(declared.provider.as_ref(), question, ctx).await {
            Ok(planned) => planned,
            Err(error) => {
                report_no_plan(declared, address, error, cell);
                return Err(());
            }
        };
        cell.report_provider(
            &planned.warnings,
            address,
            Some(&declared.resource.body),
            Some(declared.resource.span),
        );
        Ok(planned)
    }

    /// Returns the commands that a change runs, after checking that the change is allowed.
    fn commands(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        scope: &ModuleScope<'_>,
        planned: &Planned,
        cell: &mut Cell,
    ) -> Result<Vec<CommandView>, ()> {
        let destroys = planned.action.destroys() && !declared.resource.lifecycle.forgets();
        // Also for changes that destroy nothing, because an invalid value is an error in any case.
        self.guards()
            .check(declared.module, declared.resource, address, destroys, cell)?;
        let mut commands = Vec::new();
        // A tainted object runs no destroy provisioners: its creation never completed.
        if planned.action == Action::Replace
            && !declared.resource.lifecycle.forgets()
            && planned.reason != Some(Reason::ReplaceBecauseTainted)
        {
            commands = self
                .provisioners()
                .on_destroy(address, &planned.before, cell)?;
        }
        commands.extend(
            self.provisioners()
                .on_creation(declared, scope, planned, cell)?,
        );
        Ok(commands)
    }

    /// Fetches the object of an import block, if the state does not have the instance.
    pub(super) async fn import(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        looked: &mut ReadObject,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        // An empty id means that there is nothing to import: the object is created.
        let Some(wanted) = declared.imports.get(address) else {
            return Ok(());
        };
        let Some(by) = wanted.by() else { return Ok(()) };
        match import::fetch(
            &self.walk,
            declared.provider.as_ref(),
            declared.schema,
            address,
            wanted,
            ctx,
        )
        .await
        {
            Err(diags) => {
                cell.report(diags);
                Err(())
            }
            Ok((prior, diags)) => {
                cell.report(diags);
                looked.current = Some(prior);
                looked.imported = Some(by);
                Ok(())
            }
        }
    }
}

pub(super) fn report_no_plan(
    declared: &Declared<'_>,
    address: &AbsInstance,
    error: NoPlan,
    cell: &mut Cell,
) {
    let span = Some(declared.resource.span);
    match error {
        NoPlan::Call(error) => cell.report_call(&error, address, span),
        NoPlan::Refused(said) => {
            cell.report_provider(&said, address, Some(&declared.resource.body), span)
        }
    };
}

pub(super) fn planned_change(
    declared: &Declared<'_>,
    address: &AbsInstance,
    there: &Objects,
    looked: ReadObject,
    planned: Planned,
    config: Value,
    needs: Needs,
    commands: Vec<CommandView>,
) -> Change {
    // From the refreshed object, not from the record.
    let (private, identity) = match &looked.current {
        Some(now) => (now.private.to_vec(), now.identity.clone()),
        None => (Vec::new(), None),
    };
    let details = Details {
        by: Configured {
            config: storable_configuration(declared.schema, config),
            create_first: declared.create_first,
            forgets: declared.resource.lifecycle.forgets(),
        },
        importing: looked.imported,
        replace_paths: planned.replace_paths,
        commands,
    };
    Change {
        address: address.clone(),
        deposed: None,
        previous: there.previous.clone(),
        provider: declared.key.clone(),
        act: Act::of(planned.action, details),
        reason: planned.reason,
        before: Object {
            value: planned.before,
            private,
            identity,
        },
        after: Object {
            value: planned.after,
            private: planned.private.to_vec(),
            identity: planned.identity,
        },
        schema_version: declared.schema.version,
        dependencies: declared.dependencies.clone(),
        needs,
        recorded: there
            .current
            .as_ref()
            .map_or_else(Recorded::unrecorded, objects::recorded),
        drifted: looked.drifted,
    }
}

/// Returns the configured object if the stage may contain it; `None` if it has a write-only value.
/// The deploy then evaluates and validates it again.
pub fn storable_configuration(schema: &Schema, config: Value) -> Option<Value> {
    let plain = config.clone().unmark_deep().0;
    let written = schema
        .block
        .write_only_paths(&plain)
        .iter()
        .any(|p| p.apply(&plain).is_ok_and(|v| !v.is_null()));
    (!written).then_some(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::{Attribute, Block};

    #[test]
    fn configuration_with_a_write_only_value_is_not_retained() {
        let attribute = |write_only| Attribute {
            write_only,
            ..Attribute::optional(cty::Type::String)
        };
        let block = Block {
            attributes: [
                ("name".into(), attribute(false)),
                ("note".into(), attribute(true)),
            ]
            .into(),
            ..Block::default()
        };
        let schema = Schema::new(0, block);
        let config = |note: Value| Value::object([("name", Value::string("a")), ("note", note)]);
        assert!(storable_configuration(&schema, config(Value::string("hush"))).is_none());
        assert!(storable_configuration(&schema, config(Value::null(cty::Type::String))).is_some());
    }
}
