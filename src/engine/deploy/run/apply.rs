//! Creates and updates instances: evaluates the configuration, plans again and applies.

use super::deploying::Deploying;
use super::instances::Subject;
use super::operation::RunningOperation;
use super::operation_error::OperationError;
use super::outcome::StoredOutcome;
use crate::deploy::instance::{self, Applying};
use crate::stage::managed::{self, NoPlan, PlanQuestion, Prior};
use crate::stage::plan::ignore;
use calls::CallContext;
use cty::Value;
use model::*;
use proto::Bytes;
use store::records::StateObject;

impl RunningOperation<'_> {
    /// Creates, updates or reads one instance. All failures end in the record of its operation.
    pub(super) async fn apply(&mut self) -> bool {
        let (deploy, change) = (self.deploy, self.change);
        // A plain replacement imports with its destroy half.
        let adopted = if change.action() == Action::Replace {
            Ok(())
        } else {
            deploy.add_imported_object(change).await
        };
        let done = match (adopted, change.action()) {
            (Err(trouble), _) => Err(trouble),
            (Ok(()), Action::NoOp) => Ok(()),
            (Ok(()), Action::Read) => deploy.read(change).await,
            (Ok(()), _) => self.apply_managed().await,
        };
        match done {
            Ok(()) => {
                let more = change.action() == Action::ReplaceCreateFirst;
                let state = (!more).then_some(OperationState::Done);
                deploy.recorder.step_succeeded(&change.id(), state);
                true
            }
            Err(failure) => {
                self.fail(*failure).await;
                false
            }
        }
    }

    /// Plans again with the values known now and applies the approved change;
    /// [`Deploying::applied`] handles the result.
    async fn apply_managed(&mut self) -> Result<(), Box<OperationError>> {
        let (deploy, change) = (self.deploy, self.change);
        let subject = deploy.subject(change, "resource type")?;
        let (config, diags) = deploy.evaluated_config(&subject)?;
        deploy.add_diagnostics(change, diags);
        let (plain, marks) = config.clone().unmark_deep_with_paths();
        // At this point only a missing dependency leaves values unknown.
        if !plain.is_wholly_known() {
            return Err(OperationError::text(
                "The configuration still contains unknown values, because a dependency was not applied.",
            ));
        }
        let ctx = deploy.context(change, false);
        // Providers may rely on a validated configuration when they plan.
        deploy.validate_if_new(&subject, &plain, &ctx).await?;
        let object = deploy.objects.object(&change.address);
        let prior = deploy.prior(&subject, object.as_ref());
        let planned = deploy
            .plan_again(&subject, config.clone(), prior.as_ref(), &ctx)
            .await?;
        deploy
            .member_evaluated(self.index, subject.schema, config, &planned.after)
            .await;
        // The approval covers the staged plan, so a different one must not be applied.
        deploy.check_approved(&subject, &plain, &planned)?;
        let after = planned.after.clone().unmark_deep().0;
        // Values that were unknown in the stage may turn out equal to the current ones.
        let is_left = planned.action != Action::NoOp
            && !after.raw_equals(&planned.before.clone().unmark_deep().0);
        let create_first = change.action() == Action::ReplaceCreateFirst;
        // In these cases more than an intent is written, which needs a full turn.
        if !is_left || create_first || !self.turn.may_write() {
            self.wait_for_turn().await?;
        }
        if !is_left {
            return deploy
                .record_update_without_changes(&subject, &planned)
                .await;
        }
        if create_first && object.is_some() {
            // Deposing frees the address for the new object before it is created.
            deploy.depose(self.index, change).await?;
        }
        let doing = match change.action() {
            Action::Update => OperationStep::Update,
            _ => OperationStep::Create,
        };
        let known = prior.as_ref().map_or(&planned.after, |p| &p.value);
        self.record_intent("", doing.clone(), known).await?;
        let before = prior.as_ref().map(|prior| &prior.value);
        let work = object_work(&doing);
        deploy
            .walk
            .report_step(&change.address, work, ObjectPhase::Begun, before);
        let request = request(&subject, prior.as_ref(), &planned, plain);
        let ctx = deploy.changing_context(change, false);
        let applied = instance::apply(subject.provider.as_ref(), request, &ctx).await;
        // Provisioners and the second half of a replacement keep the turn. Otherwise the next
        // operation may start while the outcome is written.
        if subject.resource.provisioners.is_empty() && !create_first {
            self.turn.release();
        }
        deploy
            .applied(self.index, &subject, doing, applied, &marks)
            .await
    }
}

impl Deploying {
    /// Records an update without changes, which may still change marks.
    async fn record_update_without_changes(
        &self,
        subject: &Subject<'_>,
        planned: &managed::Planned,
    ) -> Result<(), Box<OperationError>> {
        let change = subject.change;
        let kept = StoredOutcome {
            value: &planned.after,
            private: &planned.private,
            identity: change.before.identity.as_ref(),
            step: Some(OperationStep::Update),
        };
        // A no-op is not reported as an update.
        let told = |phase, value| {
            if planned.action == Action::Update {
                let work = ObjectWork::Apply(Action::Update);
                self.walk
                    .report_step(&change.address, work, phase, Some(value));
            }
        };
        told(ObjectPhase::Begun, &planned.before);
        self.store_unchanged(change, subject.schema, kept).await?;
        told(ObjectPhase::Ended, &planned.after);
        Ok(())
    }

    /// Lets the provider validate the configuration if it differs from the staged one.
    async fn validate_if_new(
        &self,
        subject: &Subject<'_>,
        plain: &Value,
        ctx: &CallContext,
    ) -> Result<(), Box<OperationError>> {
        let change = subject.change;
        let same_as_staged = change
            .config()
            .is_some_and(|c| c.clone().unmark_deep().0.raw_equals(plain));
        if same_as_staged {
            return Ok(());
        }
        let answer = subject
            .provider
            .validate_resource(&change.address.resource.kind, plain.clone(), ctx)
            .await?;
        self.check_provider_diagnostics(&answer.diagnostics, change, subject.resource)
    }

    /// Returns the prior object of an update. A create has none, even if it replaces an object.
    fn prior(&self, subject: &Subject<'_>, object: Option<&StateObject>) -> Option<Prior> {
        let (change, schema) = (subject.change, subject.schema);
        let object = object.filter(|_| change.action() == Action::Update)?;
        Some(Prior {
            value: self
                .objects
                .value(&change.address, schema)
                .unwrap_or_else(|| Value::null(schema.implied_type().clone())),
            private: Bytes::from(object.private.clone()),
            // A tainted object would be replaced, not updated.
            tainted: false,
            identity: change.before.identity.clone(),
        })
    }

    async fn plan_again(
        &self,
        subject: &Subject<'_>,
        config: Value,
        prior: Option<&Prior>,
        ctx: &CallContext,
    ) -> Result<managed::Planned, Box<OperationError>> {
        let Subject {
            change, resource, ..
        } = subject;
        let question = PlanQuestion {
            type_name: &change.address.resource.kind,
            schema: subject.schema,
            config,
            prior,
            ignore: &ignore(&resource.lifecycle.ignore_changes),
            // The approved change already decides on a replacement and its order.
            force: None,
            create_first: false,
        };
        match managed::plan(subject.provider.as_ref(), question, ctx).await {
            Ok(planned) => Ok(planned),
            Err(NoPlan::Call(error)) => Err(error.into()),
            Err(NoPlan::Refused(said)) => {
                self.check_provider_diagnostics(&said, change, resource)?;
                Err(OperationError::text("The provider rejected the plan."))
            }
        }
    }
}

/// Returns the work to report for object steps.
pub(super) fn object_work(doing: &OperationStep) -> ObjectWork {
    ObjectWork::Apply(match doing {
        OperationStep::Update => Action::Update,
        _ => Action::Create,
    })
}

/// Builds the request from the current object and the new plan.
fn request<'s>(
    subject: &Subject<'s>,
    prior: Option<&Prior>,
    planned: &'s managed::Planned,
    config: Value,
) -> Applying<'s> {
    let null = || Value::null(subject.schema.implied_type().clone());
    Applying {
        type_name: &subject.change.address.resource.kind,
        schema: subject.schema,
        action: subject.change.action(),
        prior: prior.map_or_else(null, |p| p.value.clone().unmark_deep().0),
        planned: planned.after.clone().unmark_deep().0,
        marked_plan: &planned.after,
        config,
        private: planned.private.clone(),
        identity: planned.identity.clone(),
    }
}
