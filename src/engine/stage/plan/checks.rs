//! Checks of an instance's configuration: conditions, ephemeral values and the provider's
//! validation.

use super::instance::Declared;
use super::links::LinkContexts;
use crate::stage::cell::Cell;
use crate::stage::checked::At;
use crate::stage::conditions::{self, Kind, Status};
use crate::stage::link_arguments;
use crate::stage::scope::{ModuleScope, Phase};
use crate::stage::validate::ephemeral_faults;
use crate::stage::values::Repetition;
use crate::stage::walk::Walk;
use calls::CallContext;
use cty::Value;
use lang::addr::{AbsInstance, Mode};
use lang::diag::Severity;
use model::StageMode;

/// Checks of one instance's configuration.
#[derive(Clone, Copy)]
pub(super) struct InstanceChecks<'a> {
    pub(super) walk: &'a Walk,
    pub(super) mode: StageMode,
    pub(super) links: LinkContexts<'a>,
}

impl InstanceChecks<'_> {
    /// Evaluates the configuration of an instance after its preconditions, and lets the provider
    /// validate it. Returns it with the call context to plan with.
    pub(super) async fn configured(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        scope: &ModuleScope<'_>,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(Value, CallContext), ()> {
        let resource = declared.resource;
        let preconditions = &resource.lifecycle.preconditions;
        // A failed precondition ends here, before the configuration that it guards is evaluated.
        self.conditions(declared, scope, preconditions, Kind::Precondition, cell)?;
        let (config, diags) = link_arguments::decoded(self.walk, resource, declared.schema, scope);
        if !cell.report(with_address(diags, address)) {
            return Err(());
        }
        self.check_not_ephemeral(declared, address, &config, cell)?;
        // The provider of a link needs the objects at its ends.
        let ctx = match resource.link.is_some() {
            true => self.links.plan_context(ctx, &config),
            false => ctx.clone(),
        };
        self.validate(declared, address, &config, &ctx, cell)
            .await?;
        Ok((config, ctx))
    }

    /// Checks the postconditions of an instance against its planned value.
    pub(super) fn postconditions(
        &self,
        declared: &Declared<'_>,
        scope: ModuleScope<'_>,
        value: Value,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let scope = ModuleScope {
            self_value: Some(value),
            own_resource: None,
            ..scope
        };
        let all = &declared.resource.lifecycle.postconditions;
        self.conditions(declared, &scope, all, Kind::Postcondition, cell)
    }

    /// Evaluates the conditions of an instance that was only refreshed. Failures become warnings,
    /// because no action follows.
    pub(super) fn refreshed(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        value: Value,
        cell: &mut Cell,
    ) {
        let scope = ModuleScope {
            own_resource: Some(&declared.resource.name),
            ..ModuleScope::new(&self.walk.context, declared.module, &address.module)
        }
        .with_repetition(repetition);
        let mut part = Cell::default();
        let preconditions = &declared.resource.lifecycle.preconditions;
        let before = self.conditions(
            declared,
            &scope,
            preconditions,
            Kind::Precondition,
            &mut part,
        );
        let after = before.and_then(|()| self.postconditions(declared, scope, value, &mut part));
        if after.is_err() {
            for d in &mut part.diags.0 {
                d.severity = Severity::Warning;
                d.address.get_or_insert_with(|| address.to_string());
            }
        }
        cell.append(part);
    }

    fn check_not_ephemeral(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: &Value,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let faults = ephemeral_faults(&declared.schema.block, config);
        let (body, span) = (Some(&declared.resource.body), Some(declared.resource.span));
        if cell.report_provider(&faults, address, body, span) {
            Ok(())
        } else {
            Err(())
        }
    }

    async fn validate(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: &Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let plain = config.clone().unmark_deep().0;
        let kind = &declared.resource.name.kind;
        let answer = match declared.resource.name.mode {
            Mode::Data => declared.provider.validate_data(kind, plain, ctx).await,
            _ => declared.provider.validate_resource(kind, plain, ctx).await,
        };
        match answer {
            Err(error) => {
                cell.report_call(&error, address, Some(declared.resource.span));
                Err(())
            }
            Ok(answer) => {
                let good = cell.report_provider(
                    &answer.diagnostics,
                    address,
                    Some(&declared.resource.body),
                    Some(declared.resource.span),
                );
                if good { Ok(()) } else { Err(()) }
            }
        }
    }

    fn conditions(
        &self,
        declared: &Declared<'_>,
        scope: &ModuleScope<'_>,
        all: &[lang::config::Condition],
        kind: Kind,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let object = declared.resource.name.to_string();
        let mut good = true;
        // A destroy ignores the conditions.
        for condition in all.iter().filter(|_| self.mode != StageMode::Destroy) {
            let (status, diags) = conditions::check(scope, condition, kind);
            if self.walk.context.phase != Phase::Validate {
                cell.record_condition(&At::of(scope), &object, status, &diags);
            }
            good &= cell.report(diags) && !matches!(status, Status::Fail | Status::Error);
        }
        if good { Ok(()) } else { Err(()) }
    }
}

/// Sets the instance as the address of diagnostics without one.
pub fn with_address(
    mut diags: lang::diag::Diagnostics,
    address: &AbsInstance,
) -> lang::diag::Diagnostics {
    for d in &mut diags.0 {
        d.address.get_or_insert_with(|| address.to_string());
    }
    diags
}
